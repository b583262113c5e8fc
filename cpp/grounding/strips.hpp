// The steps of grounding: what is reachable, and the ground task in positive normal form: preconditions and
// goals contain only positive facts.
#pragma once
#include <cstdint>
#include <vector>

#include "grounding/fact_table.hpp"
#include "runtime/limits.hpp"
#include "runtime/rows.hpp"
#include "task/task.hpp"

namespace hstar {

// Relaxed reachability of a lifted task (reachability.cpp).
struct Reachability {
    FactTable facts;  // initial facts first, then the reached ones
    int num_initial_facts = 0;
    std::vector<char> is_fluent;              // per predicate: some action may change it
    std::vector<std::vector<int>> instances;  // per schema: parameter tuples, one after the other
    std::vector<int> instance_count;          // per schema
};

Reachability explore(const LiftedTask& lifted, const Limits& limits);

// A ground literal: 2 * fact, plus one if negated.
inline int positive(int fact) {
    return 2 * fact;
}
inline int negative(int fact) {
    return 2 * fact + 1;
}

// Adds or deletes a fact where its condition holds, a row of StripsTask::conditions.
struct StripsEffect {
    int fact;
    uint32_t condition : 31;  // 0: it has none
    uint32_t adds : 1;
    bool is_conditional() const { return condition > 0; }
};

// Conditions hold literals until compile_away_negation(), facts afterwards.
struct StripsTask {
    int num_facts = 0;
    std::vector<int> complement_of;  // per fact: the fact it negates, or -1
    Rows<int> pre;
    Rows<StripsEffect> effects;  // conditional ones last; no fact is both added and deleted
    Rows<int> conditions{{0, 0}, {}};
    std::vector<int64_t> cost;
    std::vector<OperatorOrigin> origin;
    std::vector<char> init;  // per fact
    std::vector<int> goal;
    bool goal_is_false = false;  // the goal is impossible even without deletes

    int num_operators() const { return static_cast<int>(cost.size()); }
};

// The ground operators and goal. May add an artificial goal fact to `reached` (a disjunctive goal becomes one
// fact and an operator per disjunct). For `keep_added` see remove_constant_facts().
StripsTask instantiate(const LiftedTask& lifted, Reachability& reached, bool keep_added,
                       const Limits& limits);

// A copy without the facts that hold initially and are never deleted: they are true in every condition. If
// `keep_added`, those that some operator adds stay: they need not hold in other initial states.
StripsTask remove_constant_facts(const StripsTask& task, bool keep_added);

// Replaces each negative literal by a new fact that is true when the original one is false.
void compile_away_negation(StripsTask& task);

// Sets of facts of which at most one is true in any reachable state.
std::vector<std::vector<int>> find_mutex_groups(const StripsTask& task, const FactTable& facts,
                                                const Limits& limits);

// Facts that can matter for reaching the goal, and the operators that can help with one of them.
struct Relevance {
    std::vector<char> fact, op;
};
Relevance find_relevant(const StripsTask& task);

}  // namespace hstar
