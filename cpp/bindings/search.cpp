#include "search/search.hpp"

#include <nanobind/stl/optional.h>

#include <set>

#include "bindings/bindings.hpp"
#include "runtime/require.hpp"
#include "search/exhaustive.hpp"
#include "spaces/task_space.hpp"

namespace hstar::bindings {

namespace {

// A Python callable: states int32 [B, V] -> B numbers.
class CallableEvaluator : public Evaluator {
  public:
    explicit CallableEvaluator(nb::object callable) : callable_(std::move(callable)) {}
    bool is_safe() const override { return false; }
    void evaluate(const StateBatch& batch, float* h, Rows<int>*) override {
        nb::gil_scoped_acquire acquire;
        size_t count = batch.count, variables = batch.num_variables;
        nb::object states =
            to_numpy(Ints(batch.values, batch.values + count * variables), {count, variables});
        read(callable_(states), count, "states", h);
    }

  protected:
    static void read(const nb::object& answered, size_t count, const char* of_what, float* h) {
        nb::object numpy = nb::module_::import_("numpy");
        nb::object answer = numpy.attr("ascontiguousarray")(answered, "float32");
        auto values = nb::cast<nb::ndarray<const float, nb::c_contig, nb::device::cpu>>(answer);
        if (values.ndim() != 1 || values.size() != count)
            refuse("the heuristic was given ", count, " ", of_what,
                   " and must return as many numbers, in one dimension");
        for (size_t i = 0; i < count; ++i) {
            h[i] = values.data()[i];
            if (h[i] != h[i]) refuse("the heuristic returned NaN; use inf for dead ends");
        }
    }

    nb::object callable_;
};

// A Python object that is such a callable, for states without a parent, and has a method
// evaluate_edges(parents int32 [E, V], counts int32 [E], ops int32 [B], children int32 [B, V]) -> B numbers.
// The first counts[0] children are successors of the first parent, and so on.
class EdgeEvaluator : public CallableEvaluator {
  public:
    using CallableEvaluator::CallableEvaluator;
    bool is_of_edges() const override { return true; }
    void evaluate_expansions(const ExpansionBatch& batch, float* h, Rows<int>* preferred) override {
        if (!batch.expansions[0].parent) return evaluate(batch.children, h, preferred);
        nb::gil_scoped_acquire acquire;
        const size_t count = batch.children.count, variables = batch.children.num_variables;
        const size_t num_parents = batch.expansions.size();
        Ints parents(num_parents * variables), counts;
        for (size_t i = 0; i < num_parents; ++i) {
            batch.packing.unpack(batch.expansions[i].parent, parents.data() + i * variables);
            counts.push_back(batch.expansions[i].count);
        }
        const int* children = batch.children.values;
        read(callable_.attr("evaluate_edges")(
                 to_numpy(std::move(parents), {num_parents, variables}),
                 to_numpy(std::move(counts), {num_parents}),
                 to_numpy(Ints(batch.ops.begin(), batch.ops.end()), {count}),
                 to_numpy(Ints(children, children + count * variables), {count, variables})),
             count, "edges", h);
    }
};

nb::dict to_dict(const SearchResult& result) {
    constexpr const char* kStatus[] = {"solved",        "unsolvable",  "gave up",   "out of time",
                                       "out of memory", "interrupted", "terminated"};
    nb::dict d;
    d["status"] = kStatus[static_cast<int>(result.status)];
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

SearchResult search_with(BoundHeuristic* heuristic, const StateSpace& space,
                         const std::vector<Evaluator*>& evaluators, const SearchOptions& options) {
    if (!options.deepen || !heuristic) return run_search(space, evaluators, options);
    double start = monotonic_seconds();
    SearchResult result;
    try {
        const PieceDeepening* deepening = heuristic->deepening(options.limits);
        if (!deepening) return run_search(space, evaluators, options);
        result = deepening->search(space.initial_state, options);
    } catch (const Stopped& stopped) {
        result.status = status_of(stopped.reason);
    }
    result.state_bytes = space.packing().num_bytes();
    result.seconds = monotonic_seconds() - start;
    return result;
}

// `heuristics` are of class Heuristic, or Python callables; those with a method evaluate_edges value edges.
nb::dict search(const BoundSpace& bound, std::optional<States> state, const nb::list& heuristics,
                SearchOptions options, double deadline, uint64_t memory_bytes) {
    Ints initial;
    if (state) {
        initial = bound.checked_one(*state).values;
    } else if (bound.initial_state()) {
        initial = *bound.initial_state();
    } else {
        refuse("a search of a puzzle needs a state to start from");
    }
    options.limits = Limits{deadline, memory_bytes};
    std::vector<std::unique_ptr<Evaluator>> made;
    std::vector<Evaluator*> evaluators;
    std::set<std::mutex*> mutexes;  // locked in this order by every search, so that none waits in a circle
    BoundHeuristic* first = nullptr;
    for (nb::handle heuristic : heuristics) {
        if (nb::isinstance<BoundHeuristic>(heuristic)) {
            auto* given = nb::cast<BoundHeuristic*>(heuristic);
            if (!given->space.is_same(bound)) refuse("the heuristic was made for another task or puzzle");
            if (evaluators.empty()) first = given;
            evaluators.push_back(given->evaluator.get());
            mutexes.insert(&given->mutex);
        } else {
            if (nb::hasattr(heuristic, "evaluate_edges"))
                made.push_back(std::make_unique<EdgeEvaluator>(nb::borrow(heuristic)));
            else
                made.push_back(std::make_unique<CallableEvaluator>(nb::borrow(heuristic)));
            evaluators.push_back(made.back().get());
        }
    }
    std::unique_ptr<StateSpace> space;
    const SearchResult result = guarded([&] {
        space = bound.make_space(std::move(initial), options.limits);
        std::vector<std::unique_lock<std::mutex>> locks;
        for (std::mutex* mutex : mutexes) locks.emplace_back(*mutex);
        return search_with(first, *space, evaluators, options);
    });
    nb::dict d = to_dict(result);
    nb::list plan;
    int64_t plan_cost = 0;
    for (int op : result.plan) {
        if (bound.is_artificial(op)) continue;
        plan.append(bound.operator_name(op));
        plan_cost += space->cost(op);
    }
    d["plan"] = plan;
    d["plan_cost"] = plan_cost;
    return d;
}

nb::object explore(const BoundTask& bound, size_t max_states, double deadline, uint64_t memory_bytes) {
    const Limits limits{deadline, memory_bytes};
    std::optional<StateGraph> graph = guarded([&] {
        return explore_exhaustively(TaskSpace(bound.task, bound.generator(limits), bound.task.initial_state),
                                    max_states, limits);
    });
    if (!graph) return nb::none();
    nb::list plan;
    for (int op : graph->plan)
        if (!bound.task.is_artificial(op)) plan.append(bound.task.operator_name(op));
    size_t count = graph->h.size(), variables = static_cast<size_t>(bound.task.num_variables());
    return nb::make_tuple(to_numpy(std::move(graph->states), {count, variables}),
                          to_numpy(std::move(graph->h), {count}), plan);
}

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<SearchOptions>(m, "SearchOptions")
        .def(nb::init<>())
        .def_rw("g_weight", &SearchOptions::g_weight)
        .def_rw("h_weight", &SearchOptions::h_weight)
        .def_rw("tie_by_h", &SearchOptions::tie_by_h)
        .def_rw("use_h", &SearchOptions::use_h)
        .def_rw("early_goal_test", &SearchOptions::early_goal_test)
        .def_rw("reopen", &SearchOptions::reopen)
        .def_rw("lazy", &SearchOptions::lazy)
        .def_rw("partial", &SearchOptions::partial)
        .def_rw("deepen", &SearchOptions::deepen)
        .def_rw("lookahead", &SearchOptions::lookahead)
        .def_rw("boost", &SearchOptions::boost)
        .def_rw("advisers", &SearchOptions::advisers)
        .def_rw("batch", &SearchOptions::batch)
        .def_rw("width", &SearchOptions::width)
        .def_rw("seed", &SearchOptions::seed)
        .def_rw("max_evaluations", &SearchOptions::max_evaluations)
        .def_rw("max_expansions", &SearchOptions::max_expansions)
        .def_prop_rw(
            "queues",  // pairs: the number of the evaluator that orders it, and of the one that prefers or -1
            [](const SearchOptions& options) {
                std::vector<std::pair<int, int>> queues;
                for (const Queue& queue : options.queues)
                    queues.emplace_back(queue.evaluator, queue.preferred_by);
                return queues;
            },
            [](SearchOptions& options, const std::vector<std::pair<int, int>>& queues) {
                options.queues.clear();
                for (auto [evaluator, preferred_by] : queues)
                    options.queues.push_back({evaluator, preferred_by});
            });
    m.def("search", &search, nb::arg("space"), nb::arg("initial_state").none(), nb::arg("heuristics"),
          nb::arg("options"), nb::arg("deadline"), nb::arg("memory_bytes"));
    m.def("explore", &explore, nb::arg("task"), nb::arg("max_states"), nb::arg("deadline"),
          nb::arg("memory_bytes"));
}

}  // namespace hstar::bindings
