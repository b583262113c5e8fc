// From sets of facts to whole states, and from whole states to upper bounds on their distance to the goal.
//
// A completed state is a set of facts again. It need not be reachable, and may leave a variable open. A
// negated atom is in it if and only if the atom itself is not.
#pragma once
#include <cstdint>
#include <vector>

#include "regression/mutexes.hpp"
#include "regression/regression.hpp"

namespace hstar {

enum class Completion {
    Atoms,      // each open fact with chance 1/2, then of each mutex group one is kept (the published way)
    Exclusive,  // the same, but no two facts that exclude each other, by h^2 too, are kept
    Variables   // each open variable gets a random value that nothing excludes
};

// One state per entry of `chosen`: a completion of that pre-image, or of the empty set for -1.
Rows<int> complete(const SetTask& task, const Mutexes& mutexes, const PreImages& images,
                   const std::vector<int>& chosen, Completion way, uint64_t seed, const Limits& limits);

// Per state the smallest depth of a pre-image that it contains, or -1.
std::vector<int> smallest_depths(const SetTask& task, const PreImages& images, const Rows<int>& states,
                                 const Limits& limits);

}  // namespace hstar
