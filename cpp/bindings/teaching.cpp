#include "bindings/bindings.hpp"
#include "teaching/bellman.hpp"
#include "teaching/distances.hpp"
#include "teaching/plan_labels.hpp"

namespace hstar::bindings {

namespace {

void require_same(const BoundHeuristic& heuristic, const BoundTask& task) {
    require(heuristic.space.is_same(task), "the heuristic was made for another task or puzzle");
}

auto label(const BoundTask& bound, const States& starts, BoundHeuristic& heuristic, SearchOptions options,
           double seconds, double deadline, uint64_t memory_bytes) {
    require_same(heuristic, bound);
    require(!options.deepen, "labels come from searches that remember states");
    const StateRows rows = bound.checked(starts);
    options.limits = Limits{deadline, memory_bytes};
    PlanLabels labels = guarded([&] {
        const auto space = bound.make_space(bound.task.initial_state, options.limits);
        const auto lock = heuristic.use.lock();
        return label_by_search(*space, rows.batch(), {heuristic.evaluator.get()}, options, seconds,
                               [&](int op) { return bound.is_artificial(op); });
    });
    const size_t count = labels.steps.size();  // before it is moved: arguments have no order
    return std::tuple(to_numpy(std::move(labels.states), {count, rows.columns}),
                      to_numpy(std::move(labels.steps)),
                      to_numpy(std::vector<uint8_t>(labels.solved.begin(), labels.solved.end())));
}

Numpy<float> bellman(const BoundTask& bound, const States& states, BoundHeuristic& heuristic, double deadline,
                     uint64_t memory_bytes) {
    require_same(heuristic, bound);
    const StateRows rows = bound.checked(states);
    const Limits limits{deadline, memory_bytes};
    std::vector<float> values = guarded([&] {
        const auto space = bound.make_space(bound.task.initial_state, limits);
        const auto lock = heuristic.use.lock();
        return bellman_values(
            *space, rows.batch(), *heuristic.evaluator, [&](int op) { return bound.is_artificial(op); },
            limits);
    });
    return to_numpy(std::move(values));
}

auto distances(const BoundTask& bound, const States& states, BoundHeuristic& heuristic, SearchOptions options,
               uint64_t max_evaluations, double deadline, uint64_t memory_bytes) {
    require_same(heuristic, bound);
    const StateRows rows = bound.checked(states);
    options.limits = Limits{deadline, memory_bytes};
    Distances found = guarded([&] {
        const auto space = bound.make_space(bound.task.initial_state, options.limits);
        const auto lock = heuristic.use.lock();
        return distances_by_search(*space, rows.batch(), {heuristic.evaluator.get()}, options,
                                   max_evaluations);
    });
    return std::pair(to_numpy(std::move(found.h)), found.evaluations);
}

}  // namespace

void bind_teaching(nb::module_& m) {
    m.def("label_by_search", &label, nb::arg("task"), nb::arg("starts"), nb::arg("heuristic"),
          nb::arg("options"), nb::arg("seconds"), nb::arg("deadline"), nb::arg("memory_bytes"));
    m.def("distances", &distances, nb::arg("task"), nb::arg("states"), nb::arg("heuristic"),
          nb::arg("options"), nb::arg("max_evaluations"), nb::arg("deadline"), nb::arg("memory_bytes"));
    m.def("bellman_values", &bellman, nb::arg("task"), nb::arg("states"), nb::arg("heuristic"),
          nb::arg("deadline"), nb::arg("memory_bytes"));
}

}  // namespace hstar::bindings
