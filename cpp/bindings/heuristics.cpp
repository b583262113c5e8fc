
#include "bindings/bindings.hpp"
#include "heuristics/relaxation_heuristics.hpp"

namespace hstar::bindings {

CostType to_cost_type(const std::string& name) {
    return chosen<CostType>(
        "cost type", name,
        {{"normal", CostType::Normal}, {"one", CostType::One}, {"plusone", CostType::PlusOne}});
}

const PieceDeepening* BoundHeuristic::deepening(const Limits& limits) {
    auto* databases = as<const PdbEvaluator>();
    if (databases && space.as_puzzle() && !is_prepared_)
        deepening_ = PieceDeepening::make(*space.as_puzzle(), *databases, limits);
    is_prepared_ = true;
    return deepening_.get();
}

namespace {

void make_heuristic(const Limits& limits, BoundHeuristic* self, const BoundSpace& space,
                    const std::string& name, const std::string& cost) {
    const CostType type = to_cost_type(cost);
    auto made = guarded([&] { return space.make_evaluator(name, type, limits); });
    new (self) BoundHeuristic(space, std::move(made));
}

// The values, and the preferred operators if they are asked for.
std::vector<float> evaluated(BoundHeuristic& self, const States& states, Rows<int>* preferred) {
    const StateRows rows = self.space.checked(states);
    std::vector<float> h(rows.count);
    without_gil([&] {
        const auto lock = self.use.lock();
        self.evaluator->evaluate(rows.batch(), h.data(), preferred);
    });
    return h;
}

std::vector<Ints> preferred_operators(BoundHeuristic& self, States states) {
    const bool has_any = self.evaluator->has_preferred_operators();
    Rows<int> preferred;
    std::vector<Ints> result(evaluated(self, states, has_any ? &preferred : nullptr).size());
    for (int i = 0; i < preferred.size(); ++i) result[i].assign(preferred[i].begin(), preferred[i].end());
    return result;
}

Numpy<float, 2> plan_features(BoundHeuristic& self, States states) {
    auto* relaxation = self.as<RelaxationHeuristic>();
    require(relaxation && relaxation->has_preferred_operators(),
            "only the heuristic 'ff' has relaxed-plan features");
    const StateRows rows = self.space.checked(states);
    size_t columns = RelaxationHeuristic::kNumFeatures;
    std::vector<float> features(rows.count * columns);
    without_gil([&] {
        const auto lock = self.use.lock();
        relaxation->plan_features(rows.batch(), features.data());
    });
    return to_numpy(std::move(features), {rows.count, columns});
}

}  // namespace

void bind_heuristics(nb::module_& m) {
    nb::class_<BoundHeuristic>(m, "Heuristic")
        .def("__init__", limited(&make_heuristic), KeepFirst(), "space"_a, "name"_a, "cost"_a,
             "deadline"_a = 0.0, "memory_bytes"_a = 0)
        .def_static("learned", &make_learned_heuristic, KeepSource())
        .def_static("pdb", &make_pdb_heuristic, KeepSource())
        .def_prop_ro("network_states",
                     [](const BoundHeuristic& self) {
                         auto* databases = self.as<const PdbEvaluator>();
                         return databases ? databases->network_states() : 0;
                     })
        .def("evaluate", [](BoundHeuristic& self, States s) { return to_numpy(evaluated(self, s, nullptr)); })
        .def("preferred_operators", &preferred_operators)
        .def("plan_features", &plan_features)
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
