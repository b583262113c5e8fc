// Lifted tasks arrive as nested tuples of numbers.
#include "bindings/bindings.hpp"

namespace hstar::bindings {

namespace {

template <class Item>
std::vector<Item> all(nb::handle sequence, Item (*convert)(nb::handle)) {
    std::vector<Item> items;
    for (nb::handle item : nb::cast<nb::sequence>(sequence)) items.push_back(convert(item));
    return items;
}

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
        formula.parts = all(tuple[1], to_formula);
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
    return {all(tuple[0], to_literal), all(tuple[1], to_formula)};
}

// (variable types, condition, atom)
EffectSchema to_effect(nb::handle object) {
    nb::tuple effect = nb::cast<nb::tuple>(object);
    return {nb::cast<Ints>(effect[0]), to_condition(effect[1]), to_literal(effect[2])};
}

// (variable types, condition)
GoalSchema to_goal(nb::handle object) {
    nb::tuple goal = nb::cast<nb::tuple>(object);
    return {nb::cast<Ints>(goal[0]), to_condition(goal[1])};
}

// (action, parameter types, precondition, effects, cost, cost terms)
ActionSchema to_schema(nb::handle object) {
    nb::tuple tuple = nb::cast<nb::tuple>(object);
    ActionSchema schema{nb::cast<int>(tuple[0]),  nb::cast<Ints>(tuple[1]),    to_condition(tuple[2]),
                        all(tuple[3], to_effect), nb::cast<int64_t>(tuple[4]), {}};
    for (auto& [function, args] : nb::cast<std::vector<std::pair<int, Ints>>>(tuple[5]))
        schema.cost_terms.push_back({function, args});
    return schema;
}

}  // namespace

std::shared_ptr<const LiftedTask> to_lifted(const nb::dict& spec) {
    auto lifted = std::make_shared<LiftedTask>();
    auto read = [&]<class T>(const char* key, T& value) { value = nb::cast<T>(spec[key]); };
    read("objects", lifted->objects);
    read("predicates", lifted->predicates);
    read("predicate_arity", lifted->predicate_arity);
    read("actions", lifted->actions);
    read("action_arity", lifted->action_arity);
    read("type_sets", lifted->type_sets);
    lifted->schemas = all(spec["schemas"], to_schema);
    lifted->goals = all(spec["goals"], to_goal);
    lifted->init = copied(nb::cast<Flat>(spec["init"]));
    read("functions", lifted->functions);
    read("function_arity", lifted->function_arity);
    read("function_values", lifted->function_values);
    read("numbers", lifted->numbers);
    return lifted;
}

}  // namespace hstar::bindings
