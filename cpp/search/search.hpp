// Forward search. An algorithm is a set of options; the names and their options are in
// src/hstar/planning/algorithms.py. One best-first loop (best_first.cpp) serves all of them but the
// depth-first ones (ida_star.hpp).
#pragma once
#include <cstdint>
#include <new>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "runtime/limits.hpp"
#include "spaces/state_space.hpp"

namespace hstar {

// A part of OPEN, ordered by the values of one evaluator.
struct Queue {
    static constexpr int kEverything = -1;
    int evaluator = 0;
    int preferred_by = kEverything;  // or an evaluator: the queue holds only what its preferred operators
                                     // lead to
    bool only_preferred() const { return preferred_by != kEverything; }
};

struct SearchOptions {
    // Nodes with small f = g_weight g + h_weight h come first. Ties are broken by h if `tie_by_h`, then FIFO.
    double g_weight = 0, h_weight = 1;
    bool tie_by_h = false;
    bool use_h = true;            // false: nothing is evaluated, h is 0
    bool early_goal_test = true;  // test for goals when a state is generated, not when it is expanded
    bool reopen = false;          // open a state again when a cheaper path to it is found
    bool lazy = false;        // evaluate a state when it is expanded; it is ordered by its parent's values
    bool partial = false;     // expand a state only until a successor is better than it
    bool deepen = false;      // depth-first searches with growing bounds on f; remembers no states
    bool look_ahead = false;  // lazy: take the steps of relaxed plans as far as they go
    bool ranked = false;      // lazy, partial: try the operators of a state in the order of an evaluator
    int local_steps = 0;      // after an expansion follow the best successors for this many steps
    std::vector<Queue> queues{{}};  // take turns
    int advisers = 0;   // so many evaluators, the last ones, are asked for preferred operators only
    int batch = 1;      // how many nodes are expanded at once
    int width = 0;      // not 0: beam search, which expands so many nodes before it chooses again
    uint64_t seed = 0;  // not 0: operators are tried in a random order, which the seed determines
    uint64_t max_evaluations = 0;  // 0: no limit
    uint64_t max_expansions = 0;
    Limits limits;

    bool is_spent(uint64_t evaluations, uint64_t expanded) const {
        return (max_evaluations && evaluations >= max_evaluations) ||
               (max_expansions && expanded >= max_expansions);
    }
};

// What search counts. These definitions hold for every algorithm and every table.
struct SearchCounters {
    uint64_t evaluated = 0;    // distinct states whose heuristic was computed
    uint64_t evaluations = 0;  // heuristic values asked for, duplicates included
    uint64_t expanded = 0;     // states whose successors were generated
    uint64_t generated = 0;    // successors generated, duplicates included
    uint64_t reopened = 0;     // closed states opened again through a cheaper path
    uint64_t deadends = 0;     // evaluated states with infinite heuristic
};

enum class SearchStatus { Solved, Unsolvable, GaveUp, OutOfTime, OutOfMemory, Interrupted, Terminated };
inline SearchStatus status_of(StopReason reason) {
    using enum SearchStatus;
    constexpr SearchStatus kStatus[] = {OutOfTime, OutOfMemory, Interrupted, Terminated};
    return kStatus[static_cast<int>(reason)];
}

struct SearchResult {
    SearchStatus status = SearchStatus::GaveUp;
    std::vector<int> plan;  // operators
    SearchCounters counters;
    float initial_h = 0;
    uint64_t num_states = 0;  // registered states
    double seconds = 0;

    // Fills in the time that search() takes, and the status if it has to stop.
    template <class Search>
    void run(Search search) {
        const double start = monotonic_seconds();
        try {
            search();
        } catch (const Stopped& stopped) {
            status = status_of(stopped.reason);
        } catch (const std::bad_alloc&) {
            status = SearchStatus::OutOfMemory;
        }
        seconds = monotonic_seconds() - start;
    }
};

// Every state is evaluated by all evaluators but the advisers; each queue is ordered by one of them. The
// advisers are asked about states that are expanded, and their values are in no counter.
SearchResult run_search(const StateSpace& space, const std::vector<Evaluator*>& evaluators,
                        const SearchOptions& options);

}  // namespace hstar
