#include "bindings/bindings.hpp"
#include "teaching/labels.hpp"

namespace hstar::bindings {

namespace {

// Calls work(space of the task, heuristic).
template <class Work>
auto with_heuristic(const Limits& limits, const BoundTask& bound, BoundHeuristic& heuristic, Work work) {
    require(heuristic.space.is_same(bound), "the heuristic was made for another task or puzzle");
    return guarded([&] {
        const auto space = bound.make_space(bound.task.initial_state, limits);
        const auto lock = heuristic.use.lock();
        return work(*space, *heuristic.evaluator);
    });
}

auto label(const Limits& limits, const BoundTask& bound, const States& starts, BoundHeuristic& heuristic,
           SearchOptions options, double seconds) {
    require(!options.deepen, "labels come from searches that remember states");
    const StateRows rows = bound.checked(starts);
    options.limits = limits;
    PlanLabels labels = with_heuristic(limits, bound, heuristic, [&](StateSpace& space, Evaluator& h) {
        return label_by_search(space, rows.batch(), {&h}, options, seconds,
                               [&](int op) { return bound.is_artificial(op); });
    });
    const size_t count = labels.steps.size();  // before it is moved: arguments have no order
    return std::tuple(to_numpy(std::move(labels.states), {count, rows.columns}),
                      to_numpy(std::move(labels.steps)), to_numpy(std::move(labels.solved)));
}

auto bellman(const Limits& limits, const BoundTask& bound, const States& states, BoundHeuristic& heuristic) {
    const StateRows rows = bound.checked(states);
    return to_numpy(with_heuristic(limits, bound, heuristic, [&](StateSpace& space, Evaluator& h) {
        return bellman_values(
            space, rows.batch(), h, [&](int op) { return bound.is_artificial(op); }, limits);
    }));
}

auto distances(const Limits& limits, const BoundTask& bound, const States& states, BoundHeuristic& heuristic,
               SearchOptions options, uint64_t max_evaluations) {
    const StateRows rows = bound.checked(states);
    options.limits = limits;
    Distances found = with_heuristic(limits, bound, heuristic, [&](StateSpace& space, Evaluator& h) {
        return distances_by_search(space, rows.batch(), {&h}, options, max_evaluations);
    });
    return std::pair(to_numpy(std::move(found.h)), found.evaluations);
}

}  // namespace

void bind_teaching(nb::module_& m) {
    m.def("label_by_search", limited(&label));
    m.def("distances", limited(&distances));
    m.def("bellman_values", limited(&bellman));
}

}  // namespace hstar::bindings
