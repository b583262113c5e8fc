// Lifted tasks arrive as nested tuples of numbers.
#include "bindings/lifted.hpp"

namespace hstar::bindings {

namespace {

// (predicate, negated, args)
Literal to_literal(nb::handle object) {
    auto [predicate, negated, args] = nb::cast<std::tuple<int, bool, Ints>>(object);
    return {predicate, negated, args};
}

// ("literal", literal) | ("and", parts) | ("or", parts) | ("forall" or "exists", variables, type sets, body)
Formula to_formula(nb::handle object) {
    nb::tuple tuple = nb::cast<nb::tuple>(object);
    auto kind = nb::cast<std::string>(tuple[0]);
    Formula formula;
    if (kind == "literal") {
        formula.kind = Formula::Kind::Literal;
        formula.literal = to_literal(tuple[1]);
    } else if (kind == "and" || kind == "or") {
        formula.kind = kind == "and" ? Formula::Kind::And : Formula::Kind::Or;
        for (nb::handle part : nb::cast<nb::sequence>(tuple[1])) formula.parts.push_back(to_formula(part));
    } else {
        formula.kind = kind == "forall" ? Formula::Kind::Forall : Formula::Kind::Exists;
        formula.variables = nb::cast<Ints>(tuple[1]);
        formula.variable_types = nb::cast<Ints>(tuple[2]);
        formula.parts.push_back(to_formula(tuple[3]));
    }
    return formula;
}

// (literals, formulas)
Condition to_condition(nb::handle object) {
    nb::tuple tuple = nb::cast<nb::tuple>(object);
    Condition condition;
    for (nb::handle literal : nb::cast<nb::sequence>(tuple[0]))
        condition.literals.push_back(to_literal(literal));
    for (nb::handle formula : nb::cast<nb::sequence>(tuple[1]))
        condition.formulas.push_back(to_formula(formula));
    return condition;
}

// (action, parameter types, precondition, effects, cost, cost terms)
ActionSchema to_schema(nb::handle object) {
    nb::tuple tuple = nb::cast<nb::tuple>(object);
    ActionSchema schema;
    schema.action = nb::cast<int>(tuple[0]);
    schema.parameter_types = nb::cast<Ints>(tuple[1]);
    schema.precondition = to_condition(tuple[2]);
    for (nb::handle item : nb::cast<nb::sequence>(tuple[3])) {
        nb::tuple effect = nb::cast<nb::tuple>(item);
        schema.effects.push_back({nb::cast<Ints>(effect[0]), to_condition(effect[1]), to_literal(effect[2])});
    }
    schema.cost = nb::cast<int64_t>(tuple[4]);
    for (auto& [function, args] : nb::cast<std::vector<std::pair<int, Ints>>>(tuple[5]))
        schema.cost_terms.push_back({function, args});
    return schema;
}

}  // namespace

std::shared_ptr<const LiftedTask> to_lifted(nb::dict spec) {
    auto lifted = std::make_shared<LiftedTask>();
    lifted->objects = nb::cast<std::vector<std::string>>(spec["objects"]);
    lifted->predicates = nb::cast<std::vector<std::string>>(spec["predicates"]);
    lifted->predicate_arity = nb::cast<Ints>(spec["predicate_arity"]);
    lifted->actions = nb::cast<std::vector<std::string>>(spec["actions"]);
    lifted->action_arity = nb::cast<Ints>(spec["action_arity"]);
    lifted->type_sets = nb::cast<std::vector<Ints>>(spec["type_sets"]);
    for (nb::handle schema : nb::cast<nb::sequence>(spec["schemas"]))
        lifted->schemas.push_back(to_schema(schema));
    for (nb::handle item : nb::cast<nb::sequence>(spec["goals"])) {
        nb::tuple goal = nb::cast<nb::tuple>(item);
        lifted->goals.push_back({nb::cast<Ints>(goal[0]), to_condition(goal[1])});
    }
    auto init = nb::cast<Flat>(spec["init"]);
    lifted->init.assign(init.data(), init.data() + init.size());
    lifted->functions = nb::cast<std::vector<std::string>>(spec["functions"]);
    lifted->function_arity = nb::cast<Ints>(spec["function_arity"]);
    lifted->function_values = nb::cast<Ints>(spec["function_values"]);
    lifted->numbers = nb::cast<std::vector<int64_t>>(spec["numbers"]);
    return lifted;
}

}  // namespace hstar::bindings
