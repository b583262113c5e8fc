// Value iteration and real-time dynamic programming (RTDP) on tables: Algorithm 1 of Gehring et al. (ICAPS
// 2022) on spaces that can be enumerated. With phi the potential, r' the shaped reward of the step from s by
// operator a to s', Q(s, a) = r' + gamma V(s') and pi = softmax(Q(s, .) / tau):
//
//     value iteration:  until V no longer changes
//                           for every state s:  V(s) <- max_a Q(s, a)
//
//     RTDP:             for every episode
//                           s <- a start, t <- 0
//                           while t < D and s is not terminal
//                               V(s) <- max_a Q(s, a)    or  sum_a pi(a) Q(s, a)
//                               a <- argmax_a Q(s, a)    or  drawn from pi
//                               s <- s', t <- t + 1
//
// Terminal states keep their value. It is 0 in goals. Dead ends have the unshaped value of endless steps, so
// that V = dead_end_value() - phi. Every step counts the same, whatever its operator costs.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "reinforcement/shaping.hpp"
#include "search/exhaustive.hpp"

namespace hstar {

struct StateTable {
    std::vector<int> states;                       // [N, V]; the initial state comes first
    std::vector<uint8_t> is_goal;                  // [N]
    std::vector<uint8_t> goal_is_reachable;        // [N]
    std::vector<std::vector<StateId>> successors;  // [N]; by operator, ascending

    size_t size() const { return successors.size(); }
};

// Nothing if there are more than `max_states` states. An operator that `is_no_step` names only notes that one
// of several goals holds: a state where it is applicable is a goal itself, and the operator is no action.
// Throws Stopped.
std::optional<StateTable> tabulate(const StateSpace& space, const std::function<bool(int)>& is_no_step,
                                   size_t max_states, const Limits& limits);

// The shaped value V per state [N]. `h` per state [N] is the heuristic behind the potential; it may be empty
// if there is no potential. Where it is infinite is a dead end. Ends when a sweep changes no value by more
// than `tolerance`. Throws Stopped.
std::vector<double> value_iteration(const StateTable& table, const Shaping& shaping,
                                    std::span<const double> h, double tolerance, const Limits& limits);

struct TabularOptions {
    uint64_t steps = 0;          // of all episodes together
    uint64_t depth = 40;         // D, the most steps of an episode
    double temperature = 1;      // tau; 0: pi is uniform over the best operators
    bool sample = false;         // draw operators from pi, instead of the first of the best
    bool expectation = false;    // back up the expectation under pi, instead of the maximum
    bool random_starts = false;  // episodes start anywhere, not in the initial state
    uint64_t seed = 0;
};

struct TabularResult {
    std::vector<double> values;        // 0 where no episode came, terminal states excepted
    uint64_t episodes = 0, goals = 0;  // how many there were, and how many of them reached a goal
};

// Dead ends are the states that have no operator or an infinite `h`. Other states from which there is no way
// to the goal are not known as such. Throws Stopped.
TabularResult tabular_rtdp(const StateTable& table, const Shaping& shaping, std::span<const double> h,
                           const TabularOptions& options, const Limits& limits);

}  // namespace hstar
