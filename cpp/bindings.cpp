// The only file that knows Python. Few, fat functions: a lifted task in, a grounded task out; batches of
// states in, arrays out. The GIL is released while the core works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "grounding/finite_domain.hpp"
#include "grounding/instantiation.hpp"
#include "heuristics/relaxation_heuristics.hpp"
#include "limits.hpp"
#include "search/search.hpp"
#include "task/packing.hpp"
#include "task/successors.hpp"

namespace nb = nanobind;
using namespace hstar;

namespace {

struct StoppedError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const char* reason_name(StopReason reason) {
    switch (reason) {
        case StopReason::Time:
            return "time";
        case StopReason::Memory:
            return "memory";
        case StopReason::Interrupt:
            return "interrupt";
        case StopReason::Terminate:
            return "terminate";
    }
    return "";
}

Limits make_limits(double deadline, uint64_t memory_bytes) {
    Limits limits;
    limits.deadline = deadline;
    limits.memory_bytes = memory_bytes;
    return limits;
}

using Ints = std::vector<int>;
using Flat = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using States = nb::ndarray<const int, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// ---- the lifted task: nested tuples of numbers ----

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

std::shared_ptr<LiftedTask> to_lifted(nb::dict spec) {
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

// ---- the grounded task ----

// A task with what Python asks of it often.
struct BoundTask {
    explicit BoundTask(Task grounded) : task(std::move(grounded)) {}
    Task task;

    // Built on first use: describing a task does not need it.
    const SuccessorGenerator& generator() const {
        if (!generator_) generator_ = std::make_unique<SuccessorGenerator>(task);
        return *generator_;
    }

    void check_states(const States& states) const {
        if (static_cast<int>(states.shape(1)) != task.num_variables())
            throw std::invalid_argument("states must have one column per variable (" +
                                        std::to_string(task.num_variables()) + ")");
        for (size_t i = 0; i < states.shape(0); ++i)
            for (int v = 0; v < task.num_variables(); ++v) {
                int value = states.data()[i * states.shape(1) + v];
                if (value < 0 || value >= task.domain_size[v])
                    throw std::invalid_argument("state " + std::to_string(i) + " has no value " +
                                                std::to_string(value) + " for variable " + std::to_string(v));
            }
    }

  private:
    mutable std::unique_ptr<SuccessorGenerator> generator_;
};

template <class T>
nb::object to_numpy(std::vector<T> data, std::vector<size_t> shape) {
    auto* owner = new std::vector<T>(std::move(data));
    nb::capsule deleter(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owner->data(), shape.size(), shape.data(), deleter));
}

std::unique_ptr<BoundTask> ground_task(nb::dict spec, bool keep_irrelevant, double deadline,
                                       uint64_t memory_bytes) {
    auto lifted = to_lifted(spec);
    nb::gil_scoped_release release;
    SignalScope signals;
    try {
        return std::make_unique<BoundTask>(
            ground(lifted, GroundingOptions{keep_irrelevant}, make_limits(deadline, memory_bytes)));
    } catch (const Stopped& stopped) {
        throw StoppedError(reason_name(stopped.reason));
    }
}

nb::object successors(const BoundTask& bound, States state) {
    bound.check_states(state);
    if (state.shape(0) != 1) throw std::invalid_argument("expected one state");
    const Task& task = bound.task;
    Ints ops;
    bound.generator().applicable([&](int variable) { return state.data()[variable]; }, ops);
    std::sort(ops.begin(), ops.end());
    size_t variables = task.num_variables();
    Ints values(ops.size() * variables);
    for (size_t i = 0; i < ops.size(); ++i) task.apply(ops[i], state.data(), values.data() + i * variables);
    size_t count = ops.size();
    return nb::make_tuple(to_numpy(std::move(ops), {count}), to_numpy(std::move(values), {count, variables}));
}

nb::list assignments(std::span<const Assignment> items) {
    nb::list result;
    for (auto [variable, value] : items) result.append(nb::make_tuple(variable, value));
    return result;
}

nb::tuple operator_parts(const BoundTask& bound, int op) {
    const Task& task = bound.task;
    if (op < 0 || op >= task.num_operators()) throw nb::index_error("no such operator");
    nb::list effects;
    for (auto [variable, value] : task.effects[op])
        effects.append(nb::make_tuple(nb::list(), variable, value));
    for (const auto& e : task.conditional[op])
        effects.append(
            nb::make_tuple(assignments(std::span(task.effect_conditions)
                                           .subspan(e.condition_begin, e.condition_end - e.condition_begin)),
                           e.effect.variable, e.effect.value));
    return nb::make_tuple(task.operator_name(op), task.cost[op], assignments(task.pre[op]), effects);
}

// ---- heuristics ----

CostType to_cost_type(const std::string& name) {
    if (name == "normal") return CostType::Normal;
    if (name == "one") return CostType::One;
    if (name == "plusone") return CostType::PlusOne;
    throw std::invalid_argument("unknown cost type '" + name + "'; choose normal, one or plusone");
}

struct BoundHeuristic {
    BoundHeuristic(nb::object owner, const BoundTask& bound, const std::string& name, const std::string& cost)
        : owner(std::move(owner)),
          bound(bound),
          evaluator(make_evaluator(name, bound.task, to_cost_type(cost))) {}
    nb::object owner;  // keeps the task alive
    const BoundTask& bound;
    std::unique_ptr<Evaluator> evaluator;
    std::mutex mutex;  // evaluators have work space of their own, and threads may share one

    StateBatch batch(const States& states) const {
        bound.check_states(states);
        return {states.data(), static_cast<int>(states.shape(0)), static_cast<int>(states.shape(1))};
    }

    nb::object evaluate(States states) {
        StateBatch b = batch(states);
        std::vector<float> h(b.count);
        {
            nb::gil_scoped_release release;
            std::lock_guard lock(mutex);
            evaluator->evaluate(b, h.data(), nullptr);
        }
        return to_numpy(std::move(h), {states.shape(0)});
    }

    std::vector<Ints> preferred_operators(States states) {
        StateBatch b = batch(states);
        std::vector<float> h(b.count);
        Rows<int> preferred;
        {
            nb::gil_scoped_release release;
            std::lock_guard lock(mutex);
            evaluator->evaluate(b, h.data(), &preferred);
        }
        std::vector<Ints> result;
        for (int i = 0; i < b.count; ++i) result.emplace_back(preferred[i].begin(), preferred[i].end());
        return result;
    }

    nb::object plan_features(States states) {
        auto* relaxation = dynamic_cast<RelaxationHeuristic*>(evaluator.get());
        if (!relaxation || !relaxation->has_preferred_operators())
            throw std::invalid_argument("only the heuristic 'ff' has relaxed-plan features");
        StateBatch b = batch(states);
        size_t columns = RelaxationHeuristic::kNumFeatures;
        std::vector<float> features(b.count * columns);
        {
            nb::gil_scoped_release release;
            std::lock_guard lock(mutex);
            relaxation->plan_features(b, features.data());
        }
        return to_numpy(std::move(features), {states.shape(0), columns});
    }

    void set_wide_threshold(int count) {
        if (auto* relaxation = dynamic_cast<RelaxationHeuristic*>(evaluator.get()))
            relaxation->set_wide_threshold(count);
    }
};

// A Python callable: states int32 [B, V] -> B numbers.
class CallableEvaluator : public Evaluator {
  public:
    explicit CallableEvaluator(nb::object callable) : callable_(std::move(callable)) {}
    bool is_safe() const override { return false; }
    void evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) override {
        nb::gil_scoped_acquire acquire;
        size_t count = batch.count, variables = batch.num_variables;
        nb::object states =
            to_numpy(Ints(batch.values, batch.values + count * variables), {count, variables});
        nb::object numpy = nb::module_::import_("numpy");
        nb::object answer = numpy.attr("ascontiguousarray")(callable_(states), "float32");
        auto values = nb::cast<nb::ndarray<const float, nb::c_contig, nb::device::cpu>>(answer);
        if (values.ndim() != 1 || values.size() != count)
            throw std::invalid_argument("the heuristic was given " + std::to_string(count) +
                                        " states and must return as many numbers, in one dimension");
        for (size_t i = 0; i < count; ++i) {
            h[i] = values.data()[i];
            if (h[i] != h[i])
                throw std::invalid_argument("the heuristic returned NaN; use inf for dead ends");
            if (preferred) preferred->close_row();
        }
    }

  private:
    nb::object callable_;
};

// ---- search ----

const char* status_name(SearchStatus status) {
    switch (status) {
        case SearchStatus::Solved:
            return "solved";
        case SearchStatus::Unsolvable:
            return "unsolvable";
        case SearchStatus::GaveUp:
            return "gave up";
        case SearchStatus::OutOfTime:
            return "out of time";
        case SearchStatus::OutOfMemory:
            return "out of memory";
        case SearchStatus::Interrupted:
            return "interrupted";
        case SearchStatus::Terminated:
            return "terminated";
    }
    return "";
}

nb::dict search_task(const BoundTask& bound, nb::object heuristic, const std::string& cost,
                     const std::string& algorithm, double weight, int batch, bool use_preferred,
                     int lookahead_depth, uint64_t max_evaluations, uint64_t max_expansions, double deadline,
                     uint64_t memory_bytes) {
    SearchOptions options;
    options.algorithm = algorithm;
    options.weight = weight;
    options.batch = batch;
    options.use_preferred = use_preferred;
    options.lookahead_depth = lookahead_depth;
    options.max_evaluations = max_evaluations;
    options.max_expansions = max_expansions;
    options.limits = make_limits(deadline, memory_bytes);
    std::unique_ptr<Evaluator> evaluator;
    if (nb::isinstance<nb::str>(heuristic))
        evaluator = make_evaluator(nb::cast<std::string>(heuristic), bound.task, to_cost_type(cost));
    else
        evaluator = std::make_unique<CallableEvaluator>(heuristic);
    SearchResult result;
    const SuccessorGenerator& generator = bound.generator();  // made while no other thread can
    {
        nb::gil_scoped_release release;
        SignalScope signals;
        result = run_search(bound.task, generator, *evaluator, options);
    }
    nb::dict d;
    d["status"] = status_name(result.status);
    nb::list plan;
    int64_t plan_cost = 0;
    for (int op : result.plan) {
        if (bound.task.is_artificial(op)) continue;
        plan.append(bound.task.operator_name(op));
        plan_cost += bound.task.cost[op];
    }
    d["plan"] = plan;
    d["plan_cost"] = plan_cost;
    d["evaluated"] = result.counters.evaluated;
    d["evaluations"] = result.counters.evaluations;
    d["expanded"] = result.counters.expanded;
    d["generated"] = result.counters.generated;
    d["reopened"] = result.counters.reopened;
    d["deadends"] = result.counters.deadends;
    d["initial_h"] = result.initial_h;
    d["states"] = result.num_states;
    d["state_bytes"] = result.state_bytes;
    d["search_time"] = result.seconds;
    return d;
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The native core of hstar: grounding, heuristics, search.";
    nb::exception<StoppedError>(m, "Stopped");
    nb::exception<Unsupported>(m, "Unsupported");

    nb::class_<BoundTask>(m, "Task")
        .def_prop_ro("domain_sizes", [](const BoundTask& b) { return b.task.domain_size; })
        .def_prop_ro("num_facts", [](const BoundTask& b) { return b.task.num_facts(); })
        .def_prop_ro("num_operators", [](const BoundTask& b) { return b.task.num_operators(); })
        .def_prop_ro("has_conditional_effects",
                     [](const BoundTask& b) { return b.task.has_conditional_effects(); })
        .def_prop_ro("goal", [](const BoundTask& b) { return assignments(b.task.goal); })
        .def_prop_ro("goal_is_false", [](const BoundTask& b) { return b.task.goal_is_false; })
        .def_prop_ro("initial_values", [](const BoundTask& b) { return b.task.initial_state; })
        .def_prop_ro("mutex_groups", [](const BoundTask& b) { return b.task.mutex_groups; })
        .def_prop_ro("state_bytes", [](const BoundTask& b) { return Packing(b.task).num_bytes(); })
        .def("atom_name",
             [](const BoundTask& b, int fact) {
                 if (fact < 0 || fact >= b.task.num_facts()) throw nb::index_error("no such fact");
                 return b.task.atom_name(fact);
             })
        .def("operator_name",
             [](const BoundTask& b, int op) {
                 if (op < 0 || op >= b.task.num_operators()) throw nb::index_error("no such operator");
                 return b.task.operator_name(op);
             })
        .def("operator_parts", &operator_parts)
        .def("initial_value",
             [](const BoundTask& b, const std::string& name, const std::string& cost) {
                 float h = 0;
                 make_evaluator(name, b.task, to_cost_type(cost))
                     ->evaluate({b.task.initial_state.data(), 1, b.task.num_variables()}, &h, nullptr);
                 return h;
             })
        .def("successors", &successors)
        .def("search", &search_task, nb::arg("heuristic"), nb::arg("cost"), nb::arg("algorithm"),
             nb::arg("weight"), nb::arg("batch"), nb::arg("use_preferred"), nb::arg("lookahead_depth"),
             nb::arg("max_evaluations"), nb::arg("max_expansions"), nb::arg("deadline"),
             nb::arg("memory_bytes"));

    nb::class_<BoundHeuristic>(m, "Heuristic")
        .def("__init__",
             [](BoundHeuristic* self, nb::object task, const std::string& name, const std::string& cost) {
                 new (self) BoundHeuristic(task, nb::cast<const BoundTask&>(task), name, cost);
             })
        .def("evaluate", &BoundHeuristic::evaluate)
        .def("preferred_operators", &BoundHeuristic::preferred_operators)
        .def("plan_features", &BoundHeuristic::plan_features)
        .def("set_wide_threshold", &BoundHeuristic::set_wide_threshold);

    m.def("ground", &ground_task, nb::arg("spec"), nb::arg("keep_irrelevant"), nb::arg("deadline"),
          nb::arg("memory_bytes"));
    m.def("heuristic_names", &evaluator_names);
    m.def("monotonic_seconds", &monotonic_seconds);
    m.def("peak_resident_bytes", &peak_resident_bytes);
}
