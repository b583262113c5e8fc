// Labels of states on plans: from each of several states a search for a plan, whose states get the number of
// steps that remain. That is an upper bound on their distance to the goal.
#pragma once
#include <functional>
#include <vector>

#include "search/search.hpp"

namespace hstar {

struct PlanLabels {
    std::vector<int> states;   // values, one state after the other
    std::vector<int> steps;    // per state: to the end of its plan
    std::vector<char> solved;  // per start; fewer than starts if the time was over before
};

// Searches from each state of `starts`, in turn. A single search ends after `seconds` (0: no limit of its
// own), the whole at the deadline of options.limits, with the labels so far. `is_no_step` names operators
// that only note that a goal is reached: they do not count, and states behind them are left out. Throws
// Stopped for memory and signals.
PlanLabels label_by_search(StateSpace& space, const StateBatch& starts,
                           const std::vector<Evaluator*>& evaluators, const SearchOptions& options,
                           double seconds, const std::function<bool(int)>& is_no_step);

}  // namespace hstar
