// From reached parameter tuples to ground operators. Static and unreachable atoms are evaluated, quantifiers
// are expanded, disjunctions are split into several operators or effects.
#pragma once
#include "grounding/dnf.hpp"
#include "grounding/reachability.hpp"
#include "grounding/strips.hpp"
#include "task/lifted.hpp"

namespace hstar {

// May add an artificial goal fact to `reached` (a disjunctive goal becomes one fact and an operator per
// disjunct). For `keep_added` see remove_constant_facts().
StripsTask instantiate(const LiftedTask& lifted, Reachability& reached, bool keep_added,
                       const Limits& limits);

}  // namespace hstar
