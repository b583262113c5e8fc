#pragma once
#include <memory>

#include "bindings/bindings.hpp"
#include "task/lifted.hpp"

namespace hstar::bindings {

// From the dictionary that hstar.spaces.normalize makes.
std::shared_ptr<const LiftedTask> to_lifted(nb::dict spec);

}  // namespace hstar::bindings
