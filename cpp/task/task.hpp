// The planning task that search runs on: finite-domain variables, operators as flat arrays.
//
// A fact is a pair (variable, value), numbered consecutively: fact = first_fact[variable] + value.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/rows.hpp"
#include "task/lifted.hpp"

namespace hstar {

struct Assignment {
    int variable, value;
    auto operator<=>(const Assignment&) const = default;
};

struct ConditionalEffect {
    uint32_t condition_begin, condition_end;  // into Task::effect_conditions
    Assignment effect;
};

// Where an operator comes from, to print its name.
struct OperatorOrigin {
    int schema = -1;        // -1: an artificial operator that is not part of a plan
    uint32_t instance = 0;  // which parameter tuple of the schema
};

struct Task {
    std::vector<int> domain_size;         // per variable
    std::vector<int> first_fact;          // per variable, and one past the end
    std::vector<int> variable_of;         // per fact
    Rows<Assignment> pre;                 // per operator, sorted by variable
    Rows<Assignment> effects;             // unconditional
    Rows<ConditionalEffect> conditional;  // tested on the old state, then applied in order: adds come last
    std::vector<Assignment> effect_conditions;
    std::vector<int> cost;
    std::vector<int> initial_state;
    std::vector<Assignment> goal;
    bool goal_is_false = false;

    // Names. An atom is a predicate and its arguments; complements are negated atoms; a fact without an atom
    // is the value "none of the others".
    struct AtomName {
        int predicate = -1;
        bool negated = false;
        std::vector<int> args;
    };
    std::vector<AtomName> atoms;  // per fact
    std::shared_ptr<const LiftedTask> lifted;
    std::vector<std::vector<int>> parameter_tuples;  // per schema
    std::vector<OperatorOrigin> origin;              // per operator
    std::vector<std::vector<int>> mutex_groups;      // facts

    int num_variables() const { return static_cast<int>(domain_size.size()); }
    int num_facts() const { return static_cast<int>(variable_of.size()); }
    int num_operators() const { return static_cast<int>(cost.size()); }
    int fact(Assignment a) const { return first_fact[a.variable] + a.value; }
    bool is_artificial(int op) const { return origin[op].schema < 0; }

    std::span<const Assignment> condition(const ConditionalEffect& e) const {
        return {effect_conditions.data() + e.condition_begin, effect_conditions.data() + e.condition_end};
    }
    template <class ValueOf>  // ValueOf(variable) -> value
    static bool all_hold(std::span<const Assignment> assignments, ValueOf value_of) {
        for (auto [variable, value] : assignments)
            if (value_of(variable) != value) return false;
        return true;
    }
    bool is_goal(const int* values) const {
        return !goal_is_false && all_hold(goal, [&](int variable) { return values[variable]; });
    }
    void apply(int op, const int* values, int* result) const {
        std::copy(values, values + num_variables(), result);
        for (auto [variable, value] : effects[op]) result[variable] = value;
        for (const ConditionalEffect& e : conditional[op])
            if (all_hold(condition(e), [&](int variable) { return values[variable]; }))
                result[e.effect.variable] = e.effect.value;
    }

    // Of an operator that is not artificial: its action, and the arguments that its name has.
    int action(int op) const { return lifted->schemas[origin[op].schema].action; }
    std::span<const int> arguments(int op) const {
        const auto [schema, instance] = origin[op];
        const size_t width = lifted->schemas[schema].parameter_types.size();
        return {parameter_tuples[schema].data() + instance * width,
                static_cast<size_t>(lifted->action_arity[action(op)])};
    }
    std::string operator_name(int op) const;  // "(stack a b)"
    std::string atom_name(int fact) const;    // "on(a, b)"
};

}  // namespace hstar
