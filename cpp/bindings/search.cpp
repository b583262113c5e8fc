#include "search/search.hpp"

#include <stdexcept>

#include "bindings/bindings.hpp"
#include "search/exhaustive.hpp"
#include "spaces/task_space.hpp"

namespace hstar::bindings {

namespace {

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
    std::unique_ptr<Evaluator> made;
    BoundHeuristic* given = nullptr;
    std::string name;
    if (nb::isinstance<nb::str>(heuristic)) {
        name = nb::cast<std::string>(heuristic);
    } else if (nb::isinstance<BoundHeuristic>(heuristic)) {
        given = nb::cast<BoundHeuristic*>(heuristic);
        if (&given->bound != &bound) throw std::invalid_argument("the heuristic was made for another task");
    } else {
        made = make_callable(heuristic);
    }
    const CostType type = to_cost_type(cost);
    const SearchResult result = guarded([&] {
        if (!given && !made) made = make_evaluator(name, bound.task, type, options.limits);
        const SuccessorGenerator& generator = bound.generator(options.limits);
        std::unique_lock<std::mutex> lock;
        if (given) lock = std::unique_lock(given->mutex);
        return run_search(bound.task, generator, given ? *given->evaluator : *made, options);
    });
    nb::dict d = to_dict(result);
    nb::list plan;
    int64_t plan_cost = 0;
    for (int op : result.plan) {
        if (bound.task.is_artificial(op)) continue;
        plan.append(bound.task.operator_name(op));
        plan_cost += bound.task.cost[op];
    }
    d["plan"] = plan;
    d["plan_cost"] = plan_cost;
    return d;
}

nb::object explore(const BoundTask& bound, size_t max_states, double deadline, uint64_t memory_bytes) {
    const Limits limits = make_limits(deadline, memory_bytes);
    std::optional<StateGraph> graph = guarded([&] {
        return explore_exhaustively(TaskSpace(bound.task, bound.generator(limits)), max_states, limits);
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

std::unique_ptr<Evaluator> make_callable(nb::object callable) {
    return std::make_unique<CallableEvaluator>(std::move(callable));
}

nb::dict to_dict(const SearchResult& result) {
    nb::dict d;
    d["status"] = status_name(result.status);
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

void bind_search(nb::class_<BoundTask>& task) {
    task.def("search", &search_task, nb::arg("heuristic"), nb::arg("cost"), nb::arg("algorithm"),
             nb::arg("weight"), nb::arg("batch"), nb::arg("use_preferred"), nb::arg("lookahead_depth"),
             nb::arg("max_evaluations"), nb::arg("max_expansions"), nb::arg("deadline"),
             nb::arg("memory_bytes"));
    task.def("explore", &explore, nb::arg("max_states"), nb::arg("deadline"), nb::arg("memory_bytes"));
}

}  // namespace hstar::bindings
