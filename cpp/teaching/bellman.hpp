// One step of value iteration: h(s) = 0 in goals, else the minimum over operators of 1 + h(successor).
#pragma once
#include <functional>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "spaces/state_space.hpp"

namespace hstar {

// Per state the new value, kDeadEnd where there is no successor. A negative value of the evaluator counts as
// 0, and goals have the value 0 whatever it says. An operator that `is_no_step` names costs nothing. Throws
// Stopped.
std::vector<float> bellman_values(const StateSpace& space, const StateBatch& states, Evaluator& evaluator,
                                  const std::function<bool(int)>& is_no_step, const Limits& limits);

}  // namespace hstar
