// Random walks forward from the initial state of a space.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/limits.hpp"
#include "spaces/state_space.hpp"

namespace hstar {

// The last states of `count` walks, one after the other. Each step takes an applicable operator at random,
// but none that `is_no_step` names; a walk ends early where there is none. Walk i is the same whatever the
// count.
std::vector<int> random_walks(const StateSpace& space, const std::function<bool(int)>& is_no_step, int count,
                              int steps, uint64_t seed, const Limits& limits);

}  // namespace hstar
