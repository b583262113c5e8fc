// Mutex groups: sets of facts of which at most one is true in any reachable state.
//
// Candidates are lifted: a set of predicates, each with at most one counted argument, the other arguments
// being shared parameters, for example { holding(b), on(b, *), ontable(b) } with parameter b (the candidates
// of Helmert, "Concise finite-domain representations for PDDL planning tasks", AIJ 2009). They are proved on
// the ground operators, instance by instance: a group is inductive if every operator adds no more of its
// facts than it both requires and deletes (fact-alternating mutex groups; Fiser, "Lifted fact-alternating
// mutex groups", AAAI 2020). An operator that breaks a candidate suggests the predicate to add to it. Proving
// on ground operators is linear in their number, sees static preconditions, and lets single instances survive
// where others fail.
#pragma once
#include <vector>

#include "grounding/fact_table.hpp"
#include "grounding/strips.hpp"

namespace hstar {

std::vector<std::vector<int>> find_mutex_groups(const StripsTask& task, const FactTable& facts,
                                                int num_predicates, const Limits& limits);

}  // namespace hstar
