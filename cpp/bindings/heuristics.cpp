
#include "bindings/bindings.hpp"
#include "heuristics/relaxation_heuristics.hpp"
#include "runtime/require.hpp"

namespace hstar::bindings {

CostType to_cost_type(const std::string& name) {
    if (name == "normal") return CostType::Normal;
    if (name == "one") return CostType::One;
    if (name == "plusone") return CostType::PlusOne;
    refuse("unknown cost type '", name, "'; choose normal, one or plusone");
}

BoundHeuristic::BoundHeuristic(nb::object owner, std::unique_ptr<Evaluator> made)
    : owner(std::move(owner)), space(nb::cast<const BoundSpace&>(this->owner)), evaluator(std::move(made)) {}

const PieceDeepening* BoundHeuristic::deepening(const Limits& limits) {
    auto* databases = as<const PdbEvaluator>();
    if (databases && space.as_puzzle() && !is_prepared_)
        deepening_ = PieceDeepening::make(*space.as_puzzle(), *databases, limits);
    is_prepared_ = true;
    return deepening_.get();
}

Numpy<float> BoundHeuristic::evaluate(States states) {
    const StateRows rows = space.checked(states);
    std::vector<float> h(rows.count);
    without_gil([&] {
        const auto lock = use.lock();
        evaluator->evaluate(rows.batch(), h.data(), nullptr);
    });
    return to_numpy(std::move(h));
}

std::vector<Ints> BoundHeuristic::preferred_operators(States states) {
    const StateRows rows = space.checked(states);
    std::vector<Ints> result(rows.count);
    if (!evaluator->has_preferred_operators()) return result;
    std::vector<float> h(rows.count);
    Rows<int> preferred;
    without_gil([&] {
        const auto lock = use.lock();
        evaluator->evaluate(rows.batch(), h.data(), &preferred);
    });
    for (int i = 0; i < preferred.size(); ++i) result[i].assign(preferred[i].begin(), preferred[i].end());
    return result;
}

Numpy<float, 2> BoundHeuristic::plan_features(States states) {
    auto* relaxation = as<RelaxationHeuristic>();
    require(relaxation && relaxation->has_preferred_operators(),
            "only the heuristic 'ff' has relaxed-plan features");
    const StateRows rows = space.checked(states);
    size_t columns = RelaxationHeuristic::kNumFeatures;
    std::vector<float> features(rows.count * columns);
    without_gil([&] {
        const auto lock = use.lock();
        relaxation->plan_features(rows.batch(), features.data());
    });
    return to_numpy(std::move(features), {rows.count, columns});
}

void bind_heuristics(nb::module_& m) {
    nb::class_<BoundHeuristic>(m, "Heuristic")
        .def(
            "__init__",
            [](BoundHeuristic* self, Object<BoundSpace> space, const std::string& name,
               const std::string& cost, double deadline, uint64_t memory_bytes) {
                const auto& bound = nb::cast<const BoundSpace&>(space);
                const CostType type = to_cost_type(cost);
                const Limits limits{deadline, memory_bytes};
                auto made = guarded([&] { return bound.make_evaluator(name, type, limits); });
                new (self) BoundHeuristic(space, std::move(made));
            },
            nb::arg("space"), nb::arg("name"), nb::arg("cost"), nb::arg("deadline") = 0.0,
            nb::arg("memory_bytes") = 0)
        .def_static("learned", &make_learned_heuristic, nb::arg("task"), nb::arg("spec"))
        .def_static("pdb", &make_pdb_heuristic, nb::arg("space"), nb::arg("sums"))
        .def_prop_ro("network_states",
                     [](const BoundHeuristic& self) {
                         auto* databases = self.as<const PdbEvaluator>();
                         return databases ? databases->network_states() : 0;
                     })
        .def("evaluate", &BoundHeuristic::evaluate)
        .def("preferred_operators", &BoundHeuristic::preferred_operators)
        .def("plan_features", &BoundHeuristic::plan_features)
        .def_prop_ro("seconds_spent", [](const BoundHeuristic& h) { return h.evaluator->seconds_spent(); })
        .def("set_wide_threshold",
             [](BoundHeuristic& self, int count) {
                 if (auto* relaxation = self.as<RelaxationHeuristic>()) relaxation->set_wide_threshold(count);
             })
        .def("states_side_by_side", [](const BoundHeuristic& self) {
            auto* relaxation = self.as<const RelaxationHeuristic>();
            return relaxation ? relaxation->states_side_by_side() : 0;
        });
}

}  // namespace hstar::bindings
