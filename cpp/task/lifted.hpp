// The lifted planning task as the grounder takes it: names are numbers, conditions are normalised.
//
// The front end has already removed implications, pushed negations to the atoms, split disjunctions that
// stand at the top of a condition into separate schemas, and turned existential quantifiers there into
// parameters. Universal quantifiers and disjunctions below them are kept as a formula and decided for each
// instance.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hstar {

// A term is a variable index (>= 0) or an object (~term).
using Term = int;
inline bool is_variable(Term term) {
    return term >= 0;
}

constexpr int kEquality = -1;  // the predicate of (= a b)

struct Literal {
    int predicate = 0;
    bool negated = false;
    std::vector<Term> args;
};

struct Formula {
    enum class Kind { Literal, All, Any };
    Kind kind = Kind::All;
    Literal literal;
    std::vector<Formula> parts;       // All, Any: of these for all values of the bound variables
    std::vector<int> variables;       // indices of the bound variables ...
    std::vector<int> variable_types;  // ... and their type sets
};

struct Condition {
    std::vector<Literal> literals;
    std::vector<Formula> formulas;
};

struct EffectSchema {
    std::vector<int> variable_types;  // quantified variables, numbered after the schema's parameters
    Condition condition;
    Literal atom;  // negated: a delete effect
};

struct CostTerm {
    int function = 0;
    std::vector<Term> args;
};

struct ActionSchema {
    int action = 0;                    // several schemas may stem from one action
    std::vector<int> parameter_types;  // type set of each parameter, hidden (existential) ones last
    Condition precondition;
    std::vector<EffectSchema> effects;
    int64_t cost = 0;
    std::vector<CostTerm> cost_terms;
};

struct GoalSchema {                   // one disjunct of the goal
    std::vector<int> variable_types;  // existential variables
    Condition condition;
};

struct LiftedTask {
    std::vector<std::string> objects;
    std::vector<std::string> predicates;
    std::vector<int> predicate_arity;
    std::vector<std::string> actions;
    std::vector<int> action_arity;            // how many parameters are printed
    std::vector<std::vector<int>> type_sets;  // objects of each type combination in use, ascending
    std::vector<ActionSchema> schemas;
    std::vector<GoalSchema> goals;
    std::vector<int> init;  // flat: predicate, args...
    std::vector<std::string> functions;
    std::vector<int> function_arity;
    std::vector<int> function_values;  // flat: function, args..., index into numbers
    std::vector<int64_t> numbers;
};

// A disjunctive goal is replaced by one fact of this predicate, which no action of the user mentions.
inline int artificial_goal_predicate(const LiftedTask& lifted) {
    return static_cast<int>(lifted.predicates.size());
}
// Per predicate, the artificial one included.
inline std::vector<int> arities_of_atoms(const LiftedTask& lifted) {
    std::vector<int> arities = lifted.predicate_arity;
    arities.push_back(0);
    return arities;
}

}  // namespace hstar
