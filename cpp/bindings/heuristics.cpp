#include <stdexcept>

#include "bindings/bindings.hpp"
#include "heuristics/relaxation_heuristics.hpp"

namespace hstar::bindings {

CostType to_cost_type(const std::string& name) {
    if (name == "normal") return CostType::Normal;
    if (name == "one") return CostType::One;
    if (name == "plusone") return CostType::PlusOne;
    throw std::invalid_argument("unknown cost type '" + name + "'; choose normal, one or plusone");
}

BoundHeuristic::BoundHeuristic(nb::object task, std::unique_ptr<Evaluator> made)
    : owner(std::move(task)), bound(nb::cast<const BoundTask&>(owner)), evaluator(std::move(made)) {}

StateBatch BoundHeuristic::batch(const States& states) const {
    bound.check_states(states);
    return {states.data(), static_cast<int>(states.shape(0)), static_cast<int>(states.shape(1))};
}

nb::object BoundHeuristic::evaluate(States states) {
    StateBatch b = batch(states);
    std::vector<float> h(b.count);
    {
        nb::gil_scoped_release release;
        std::lock_guard lock(mutex);
        evaluator->evaluate(b, h.data(), nullptr);
    }
    return to_numpy(std::move(h), {states.shape(0)});
}

std::vector<Ints> BoundHeuristic::preferred_operators(States states) {
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

nb::object BoundHeuristic::plan_features(States states) {
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

void BoundHeuristic::set_wide_threshold(int count) {
    if (auto* relaxation = dynamic_cast<RelaxationHeuristic*>(evaluator.get()))
        relaxation->set_wide_threshold(count);
}

int64_t BoundHeuristic::states_side_by_side() const {
    auto* relaxation = dynamic_cast<const RelaxationHeuristic*>(evaluator.get());
    return relaxation ? relaxation->states_side_by_side() : 0;
}

void bind_heuristics(nb::module_& m) {
    nb::class_<BoundHeuristic>(m, "Heuristic")
        .def("__init__",
             [](BoundHeuristic* self, nb::object task, const std::string& name, const std::string& cost) {
                 const Task& grounded = nb::cast<const BoundTask&>(task).task;
                 new (self) BoundHeuristic(task, make_evaluator(name, grounded, to_cost_type(cost)));
             })
        .def_static("learned", &make_learned_heuristic, nb::arg("task"), nb::arg("spec"))
        .def_static("pdb", &make_pdb_heuristic, nb::arg("task"), nb::arg("sums"))
        .def("evaluate", &BoundHeuristic::evaluate)
        .def("preferred_operators", &BoundHeuristic::preferred_operators)
        .def("plan_features", &BoundHeuristic::plan_features)
        .def("set_wide_threshold", &BoundHeuristic::set_wide_threshold)
        .def("states_side_by_side", &BoundHeuristic::states_side_by_side);
    m.def("heuristic_names", &evaluator_names);
}

}  // namespace hstar::bindings
