#include "bindings/bindings.hpp"
#include "reinforcement/tabular.hpp"

namespace hstar::bindings {

namespace {

nb::object make_table(const BoundTask& bound, size_t max_states, double deadline, uint64_t memory_bytes) {
    const Limits limits{deadline, memory_bytes};
    std::optional<StateTable> table = guarded([&] {
        const auto space = bound.make_space(bound.task.initial_state, limits);
        return tabulate(*space, [&](int op) { return bound.is_artificial(op); }, max_states, limits);
    });
    return table ? nb::cast(std::move(*table)) : nb::none();
}

using Numbers = Array<double, 1>;

nb::object run_value_iteration(const StateTable& table, const Shaping& shaping, const Numbers& h,
                               double tolerance, double deadline, uint64_t memory_bytes) {
    const std::vector<double> heuristic = copied(h);
    std::vector<double> values = guarded([&] {
        return value_iteration(table, shaping, heuristic, tolerance, Limits{deadline, memory_bytes});
    });
    return to_numpy(std::move(values), {table.size()});
}

nb::tuple run_rtdp(const StateTable& table, const Shaping& shaping, const Numbers& h,
                   const TabularOptions& options, double deadline, uint64_t memory_bytes) {
    const std::vector<double> heuristic = copied(h);
    TabularResult result = guarded(
        [&] { return tabular_rtdp(table, shaping, heuristic, options, Limits{deadline, memory_bytes}); });
    return nb::make_tuple(to_numpy(std::move(result.values), {table.size()}), result.episodes, result.goals);
}

}  // namespace

void bind_reinforcement_tabular(nb::module_& m) {
    nb::class_<Shaping>(m, "Shaping")
        .def(
            "__init__",
            [](Shaping* self, double gamma, const std::string& reward, const std::string& potential) {
                require(gamma > 0 && gamma < 1, "gamma must be above 0 and below 1, not ", gamma);
                new (self) Shaping{gamma, to_reward(reward), to_potential(potential)};
            },
            nb::arg("gamma"), nb::arg("reward"), nb::arg("potential"));
    nb::class_<TabularOptions>(m, "TabularOptions")
        .def(nb::init<>())
        .def_rw("steps", &TabularOptions::steps)
        .def_rw("depth", &TabularOptions::depth)
        .def_rw("temperature", &TabularOptions::temperature)
        .def_rw("sample", &TabularOptions::sample)
        .def_rw("expectation", &TabularOptions::expectation)
        .def_rw("random_starts", &TabularOptions::random_starts)
        .def_rw("seed", &TabularOptions::seed);
    nb::class_<StateTable>(m, "StateTable")
        .def_prop_ro("states",
                     [](const StateTable& table) {
                         const size_t count = table.size();
                         return to_numpy(table.states, {count, table.states.size() / count});
                     })
        .def_prop_ro("is_goal",
                     [](const StateTable& table) { return to_numpy(table.is_goal, {table.size()}); })
        .def("value_iteration", &run_value_iteration, nb::arg("shaping"), nb::arg("h"), nb::arg("tolerance"),
             nb::arg("deadline"), nb::arg("memory_bytes"))
        .def("rtdp", &run_rtdp, nb::arg("shaping"), nb::arg("h"), nb::arg("options"), nb::arg("deadline"),
             nb::arg("memory_bytes"));
    m.def("tabulate", &make_table, nb::arg("task"), nb::arg("max_states"), nb::arg("deadline"),
          nb::arg("memory_bytes"));
}

}  // namespace hstar::bindings
