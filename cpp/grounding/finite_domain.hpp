// From the lifted task to finite-domain variables: the whole grounding pipeline.
#pragma once
#include "runtime/limits.hpp"
#include "task/lifted.hpp"
#include "task/task.hpp"

namespace hstar {

struct GroundingOptions {
    bool keep_irrelevant = false;  // keep facts and operators that cannot help to reach the goal
    bool keep_constant = false;  // keep facts that hold in every state here, but not in other initial states
};

Task ground(std::shared_ptr<const LiftedTask> lifted, const GroundingOptions& options, const Limits& limits);

}  // namespace hstar
