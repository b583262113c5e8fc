// Relaxed reachability of a lifted task by semi-naive joins.
//
// Every action schema is a Datalog rule: its positive preconditions are the body, its add effects the heads;
// each conditional effect is one more rule whose body also holds the effect's condition. Facts are taken from
// a queue one at a time. A new fact is matched with each body atom of its predicate, and the rest of the body
// is completed by index look-ups in an order fixed beforehand (smallest expected number of matches first).
// Every combination is found exactly once: body atoms before the matched one must use older facts. Parameter
// products are never enumerated, except for parameters that no positive precondition mentions.
#pragma once
#include <vector>

#include "grounding/fact_table.hpp"
#include "runtime/limits.hpp"
#include "task/lifted.hpp"

namespace hstar {

struct Reachability {
    FactTable facts;  // initial facts first, then the reached ones
    int num_initial_facts = 0;
    std::vector<char> is_fluent;              // per predicate: some action may change it
    std::vector<std::vector<int>> instances;  // per schema: parameter tuples, one after the other
    std::vector<int> instance_count;          // per schema
};

Reachability explore(const LiftedTask& lifted, const Limits& limits);

}  // namespace hstar
