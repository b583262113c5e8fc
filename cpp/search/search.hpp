// Forward search. One best-first loop serves every algorithm; an algorithm is a set of options:
//
//     algorithm   f             goal test     reopen  other
//     gbfs        h             generation    no
//     lazy        h of parent   expansion     no      preferred operators, boosted on progress
//     astar       g + h         expansion     yes
//     wastar      g + w h       expansion     yes
//     gbfls       h             generation    no      greedy look-ahead after each expansion
//     bfs         depth         generation    no      no heuristic
//     idastar     g + h         expansion     -       depth first, remembers no states (ida_star.hpp)
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "runtime/limits.hpp"
#include "spaces/state_space.hpp"
#include "task/successors.hpp"
#include "task/task.hpp"

namespace hstar {

struct SearchOptions {
    std::string algorithm = "gbfs";
    double weight = 1;             // wastar
    int batch = 1;                 // how many nodes are expanded at once
    bool use_preferred = true;     // lazy: a second open list for preferred operators
    int boost = 1000;              // lazy: how much an improvement favours the preferred list
    int lookahead_depth = 50;      // gbfls
    uint64_t max_evaluations = 0;  // 0: no limit
    uint64_t max_expansions = 0;
    Limits limits;
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

struct SearchResult {
    SearchStatus status = SearchStatus::GaveUp;
    std::vector<int> plan;  // operators
    SearchCounters counters;
    float initial_h = 0;
    uint64_t num_states = 0;  // registered states
    int state_bytes = 0;      // packed size of a state
    double seconds = 0;
};
SearchStatus status_of(StopReason reason);

SearchResult run_search(const StateSpace& space, Evaluator& evaluator, const SearchOptions& options);
SearchResult run_search(const Task& task, const SuccessorGenerator& generator, Evaluator& evaluator,
                        const SearchOptions& options);

}  // namespace hstar
