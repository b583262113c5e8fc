#include <algorithm>
#include <limits>

#include "bindings/bindings.hpp"
#include "grounding/finite_domain.hpp"
#include "spaces/task_space.hpp"
#include "task/packing.hpp"

namespace hstar::bindings {

StateRows::StateRows(const States& states) : count(states.shape(0)), columns(states.shape(1)) {
    if (std::max(count, columns) > std::numeric_limits<int>::max())
        refuse("too many states at once: ", count, "; split them into batches of less than 2^31");
    values = copied(states);
}

GivenRows::GivenRows(const Longs& given_starts, const Flat& given_items, size_t limit, const char* what)
    : starts(copied(given_starts)), items(copied(given_items)) {
    require(!starts.empty() && starts.front() == 0 && starts.back() == static_cast<int64_t>(items.size()) &&
                std::ranges::is_sorted(starts),
            "starts must rise from 0 to the number of values");
    for (int item : items)
        if (item < 0 || static_cast<size_t>(item) >= limit) refuse("there is no ", what, " ", item);
}

const SuccessorGenerator& BoundTask::generator(const Limits& limits) const {
    std::lock_guard lock(mutex_);
    if (!generator_) generator_ = std::make_unique<SuccessorGenerator>(task, limits);
    return *generator_;
}

void BoundSpace::check_value(const StateRows& states, size_t i, int variable) const {
    const int value = states.row(i)[variable];
    if (value < 0 || value >= domain_sizes()[variable])
        refuse("state ", i, " has no value ", value, " for variable ", variable);
}

void BoundSpace::check_columns(const StateRows& states) const {
    require(states.columns == domain_sizes().size(), "states must have one column per variable (",
            domain_sizes().size(), ")");
}

StateRows BoundSpace::checked(const States& given) const {
    StateRows states(given);
    check_columns(states);
    for (size_t i = 0; i < states.count; ++i) {
        for (size_t v = 0; v < states.columns; ++v) check_value(states, i, static_cast<int>(v));
        check_state(states.row(i));
    }
    return states;
}

std::unique_ptr<Evaluator> BoundTask::make_evaluator(const std::string& name, CostType cost,
                                                     const Limits& limits) const {
    return hstar::make_evaluator(name, task, cost, limits);
}

std::unique_ptr<StateSpace> BoundTask::make_space(Ints initial_state, const Limits& limits) const {
    return std::make_unique<TaskSpace>(task, generator(limits), std::move(initial_state));
}

namespace {

// Lifted tasks arrive as nested tuples of numbers.
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

// ("literal", literal) | ("all" or "any", variables, type sets, parts)
Formula to_formula(nb::handle object) {
    nb::tuple tuple = nb::cast<nb::tuple>(object);
    auto kind = nb::cast<std::string>(tuple[0]);
    Formula formula;
    if (kind == "literal") {
        formula.kind = Formula::Kind::Literal;
        formula.literal = to_literal(tuple[1]);
    } else {
        formula.kind = kind == "all" ? Formula::Kind::All : Formula::Kind::Any;
        formula.variables = nb::cast<Ints>(tuple[1]);
        formula.variable_types = nb::cast<Ints>(tuple[2]);
        formula.parts = all(tuple[3], to_formula);
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

// From the dictionary that hstar.planning.normalize makes.
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

std::unique_ptr<BoundTask> ground_task(const Limits& limits, const Dict& spec, bool keep_irrelevant,
                                       bool keep_constant) {
    const auto lifted = to_lifted(spec);
    const GroundingOptions options{keep_irrelevant, keep_constant};
    return guarded([&] { return std::make_unique<BoundTask>(ground(lifted, options, limits)); });
}

int checked_op(const BoundTask& bound, int op) {
    return checked_number(op, bound.task.num_operators(), "no such operator");
}

// Of each successor of states: the row it comes from, the operator, and its values.
auto expand(const BoundSpace& bound, States given) {
    const StateRows states = bound.checked(given);
    Ints parents, ops, children, applicable, reached;
    guarded([&] {
        const auto space = bound.make_space(Ints(states.columns), {});
        for (size_t i = 0; i < states.count; ++i) {
            space->successors(states.row(i), -1, applicable, reached);
            parents.insert(parents.end(), applicable.size(), static_cast<int>(i));
            ops.insert(ops.end(), applicable.begin(), applicable.end());
            children.insert(children.end(), reached.begin(), reached.end());
        }
    });
    const size_t count = ops.size();
    return std::tuple(to_numpy(std::move(parents)), to_numpy(std::move(ops)),
                      to_numpy(std::move(children), {count, states.columns}));
}

// Per fact the name of its atom; empty for negated atoms, "none of the others" and the artificial goal.
std::vector<std::string> positive_atoms(const BoundTask& bound) {
    const Task& task = bound.task;
    std::vector<std::string> names(task.num_facts());
    for (int fact = 0; fact < task.num_facts(); ++fact) {
        const Task::AtomName& atom = task.atoms[fact];
        if (atom.predicate >= 0 && !atom.negated && atom.predicate != artificial_goal_predicate(*task.lifted))
            names[fact] = task.atom_name(fact);
    }
    return names;
}

using Facts = std::vector<std::pair<int, int>>;  // variables and values

Facts assignments(std::span<const Assignment> items) {
    Facts result;
    for (auto [variable, value] : items) result.emplace_back(variable, value);
    return result;
}

std::tuple<std::string, int64_t, Facts, std::vector<std::tuple<Facts, int, int>>> operator_parts(
    const BoundTask& bound, int op) {
    const Task& task = bound.task;
    checked_op(bound, op);
    std::vector<std::tuple<Facts, int, int>> effects;
    for (auto [variable, value] : task.effects[op]) effects.emplace_back(Facts(), variable, value);
    for (const auto& e : task.conditional[op])
        effects.emplace_back(assignments(task.condition(e)), e.effect.variable, e.effect.value);
    return {task.operator_name(op), task.cost[op], assignments(task.pre[op]), effects};
}

}  // namespace

void bind_task(nb::module_& m) {
    nb::class_<BoundSpace>(m, "Space")
        .def_prop_ro("domain_sizes", &BoundSpace::domain_sizes)
        .def("expand", &expand);
    nb::class_<BoundTask, BoundSpace>(m, "Task")
        .def_prop_ro("num_facts", [](const BoundTask& b) { return b.task.num_facts(); })
        .def_prop_ro("num_operators", [](const BoundTask& b) { return b.task.num_operators(); })
        .def_prop_ro("goal", [](const BoundTask& b) { return assignments(b.task.goal); })
        .def_prop_ro("goal_is_false", [](const BoundTask& b) { return b.task.goal_is_false; })
        .def_prop_ro("initial_values", [](const BoundTask& b) { return b.task.initial_state; })
        .def_prop_ro("mutex_groups", [](const BoundTask& b) { return b.task.mutex_groups; })
        .def_prop_ro("state_bytes",
                     [](const BoundTask& b) { return Packing(b.task.domain_size).num_bytes(); })
        .def("atom_name",
             [](const BoundTask& b, int fact) {
                 return b.task.atom_name(checked_number(fact, b.task.num_facts(), "no such fact"));
             })
        .def("positive_atoms", &positive_atoms)
        .def("operator_name",
             [](const BoundTask& b, int op) { return b.task.operator_name(checked_op(b, op)); })
        .def("is_artificial",
             [](const BoundTask& b, int op) { return b.task.is_artificial(checked_op(b, op)); })
        .def("operator_parts", &operator_parts);
    m.def("ground", limited(&ground_task));
}

}  // namespace hstar::bindings
