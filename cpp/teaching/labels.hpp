// Labels of given states: by a search from each of them in turn, or by one step of value iteration.
#pragma once
#include <cstdint>
#include <vector>

#include "search/search.hpp"

namespace hstar {

// The states of the plans that are found: an upper bound on their distance to the goal.
struct PlanLabels {
    std::vector<int> states;      // values, one state after the other
    std::vector<int> steps;       // per state: to the end of its plan
    std::vector<uint8_t> solved;  // per start; fewer than starts if the time was over before
};

// A single search ends after `seconds` (0: no limit of its own), the whole at the deadline of options.limits,
// with the labels so far. Artificial operators do not count, and states behind them are left out. Throws
// Stopped for memory and signals.
PlanLabels label_by_search(StateSpace& space, const StateBatch& starts, Evaluator& evaluator,
                           const SearchOptions& options, double seconds);

// Per state: the cost of a cheapest plan, infinity in a dead end, NaN where the limits were too tight.
// `options` must name a search that finds cheapest plans; its limits of evaluations and expansions hold for
// each search, its deadline and `max_evaluations` (0: no limit) for all of them together. Throws Stopped for
// signals.
std::vector<double> distances_by_search(StateSpace& space, const StateBatch& starts, Evaluator& evaluator,
                                        const SearchOptions& options, uint64_t max_evaluations);

// One step of value iteration: h(s) = 0 in goals, else the minimum over operators of 1 + h(successor).
// Per state the new value, kDeadEnd where there is no successor. A negative value of the evaluator counts as
// 0, and goals have the value 0 whatever it says. An artificial operator costs nothing. Throws Stopped.
std::vector<float> bellman_values(const StateSpace& space, const StateBatch& states, Evaluator& evaluator,
                                  const Limits& limits);

}  // namespace hstar
