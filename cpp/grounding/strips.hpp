// The ground task in positive normal form: preconditions and goals contain only positive facts.
#pragma once
#include <cstdint>
#include <vector>

#include "grounding/fact_table.hpp"
#include "runtime/limits.hpp"
#include "runtime/rows.hpp"

namespace hstar {

// A ground literal: 2 * fact, plus one if negated.
inline int positive(int fact) {
    return 2 * fact;
}
inline int negative(int fact) {
    return 2 * fact + 1;
}

struct ConditionalEffects {  // effect e changes fact[e] if every condition[e] holds
    std::vector<int> fact;
    std::vector<char> adds;
    Rows<int> condition;
    int size() const { return static_cast<int>(fact.size()); }
};

// Where an operator came from, to print its name.
struct OperatorOrigin {
    int schema = -1;        // -1: reaches the artificial goal fact, never printed
    uint32_t instance = 0;  // which parameter tuple of the schema
};

// Conditions hold literals until compile_away_negation(), facts afterwards.
struct StripsTask {
    int num_facts = 0;
    std::vector<int> complement_of;  // per fact: the fact it negates, or -1
    Rows<int> pre, add, del;         // unconditional effects; add wins over delete, and the two are disjoint
    Rows<int> conditional;           // per operator: indices into effects
    ConditionalEffects effects;
    std::vector<int64_t> cost;
    std::vector<OperatorOrigin> origin;
    std::vector<char> init;  // per fact
    std::vector<int> goal;
    bool goal_is_false = false;  // the goal is impossible even without deletes

    int num_operators() const { return static_cast<int>(cost.size()); }
};

// A copy without the facts that hold initially and are never deleted: they are true in every condition. If
// `keep_added`, those that some operator adds stay: they need not hold in other initial states.
StripsTask remove_constant_facts(const StripsTask& task, bool keep_added);

// Replaces each negative literal by a new fact that is true when the original one is false.
void compile_away_negation(StripsTask& task);

// Facts that can matter for reaching the goal, and the operators that can help with one of them.
struct Relevance {
    std::vector<char> fact, op;
};
Relevance find_relevant(const StripsTask& task);

}  // namespace hstar
