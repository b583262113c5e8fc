#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "bindings/bindings.hpp"
#include "networks/linear/newton.hpp"
#include "networks/linear/rank_svm.hpp"
#include "networks/mlp/trainer.hpp"

namespace hstar::bindings {

namespace {

using Part = MlpTrainer::Part;

// Rows are shared by the trainers that were made from them.
struct BoundRows {
    std::shared_ptr<const TrainingRows> rows;
};

// A trainer, and what keeps threads from using it at once.
struct BoundTrainer {
    MlpTrainer trainer;
    Exclusive use;

    template <class Work>
    auto run(double deadline, uint64_t memory_bytes, Work work) {
        return guarded([&] {
            const auto lock = use.lock();
            return work(Limits{deadline, memory_bytes});
        });
    }
};

using Layers = nb::typed<nb::list, nb::any>;  // as to_mlp_layer takes them
// Its weights float32[outputs, inputs], bias, activation, and whether the layer before is added.
using PythonLayer = std::tuple<Numpy<float, 2>, Numpy<float>, const char*, bool>;

std::vector<MlpLayer> to_layers(const Layers& items) {
    std::vector<MlpLayer> layers;
    for (nb::handle item : items) {
        int inputs = 0;
        layers.push_back(to_mlp_layer(item, inputs));
    }
    return layers;
}

std::vector<PythonLayer> from_layers(std::vector<MlpLayer> layers) {
    std::vector<PythonLayer> result;
    for (MlpLayer& layer : layers) {
        const size_t outputs = layer.bias.size(), inputs = layer.weights.size() / outputs;
        result.emplace_back(to_numpy(std::move(layer.weights), {outputs, inputs}),
                            to_numpy(std::move(layer.bias)), layer.is_relu ? "relu" : "none", layer.has_skip);
    }
    return result;
}

BoundRows make_rows(int num_atoms, Longs starts, Flat atoms, Floats h, Floats lower, Floats upper,
                    Floats weights) {
    return {std::make_shared<const TrainingRows>(num_atoms, copied(starts), copied(atoms), copied(h),
                                                 copied(lower), copied(upper), copied(weights))};
}

Numpy<float> outputs(BoundTrainer& self, Flat rows, double deadline, uint64_t memory_bytes) {
    const Ints chosen = copied(rows);
    std::vector<float> result(chosen.size());
    self.run(deadline, memory_bytes,
             [&](const Limits& limits) { self.trainer.outputs(chosen, result.data(), limits); });
    return to_numpy(std::move(result));
}

Dict state(BoundTrainer& self) {
    const auto lock = self.use.lock();
    Dict result;
    result["step"] = self.trainer.steps();
    result["mean"] = from_layers(self.trainer.layers(Part::Mean));
    result["square"] = from_layers(self.trainer.layers(Part::Square));
    return result;
}

void load(BoundTrainer& self, const Layers& layers, std::optional<Dict> state) {
    const auto lock = self.use.lock();
    self.trainer.load(Part::Weights, to_layers(layers));
    if (!state) return;
    const Dict& held = *state;
    self.trainer.load(Part::Mean, to_layers(nb::cast<Layers>(held["mean"])));
    self.trainer.load(Part::Square, to_layers(nb::cast<Layers>(held["square"])));
    self.trainer.set_steps(nb::cast<int64_t>(held["step"]));
}

// Rows from Python, checked.
struct GivenRows {
    std::vector<int64_t> starts;
    Ints columns;
    std::vector<float> values;
    size_t width;

    GivenRows(const Longs& given_starts, const Flat& given_columns, const Floats& given_values, size_t width)
        : starts(copied(given_starts)),
          columns(copied(given_columns)),
          values(copied(given_values)),
          width(width) {
        if (columns.size() != values.size()) refuse("there must be one value for each column");
        if (starts.empty() || starts.front() != 0 || starts.back() != static_cast<int64_t>(columns.size()) ||
            !std::is_sorted(starts.begin(), starts.end()))
            refuse("starts must rise from 0 to the number of values");
        for (int c : columns)
            if (c < 0 || static_cast<size_t>(c) >= width) refuse("there is no column ", c);
        for (size_t i = 0; i + 1 < starts.size(); ++i)
            if (std::adjacent_find(columns.begin() + starts[i], columns.begin() + starts[i + 1],
                                   std::greater_equal<>()) != columns.begin() + starts[i + 1])
                refuse("the columns of row ", i, " must rise");
        if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
            refuse("values must be finite");
    }
    SparseRows rows() const { return {starts, columns, values, width}; }
};

void check_training(double penalty, double tolerance, int most) {
    if (!(penalty > 0) || !(tolerance > 0) || !std::isnormal(penalty) || !std::isfinite(tolerance))
        refuse("penalty and tolerance must be positive and finite");
    if (most < 1) refuse("there must be at least one pass or step");
}

// Weights float64[width], the number of passes, and whether they converged.
auto bound_rank_svm(Longs starts, Flat columns, Floats values, size_t width, double penalty, double tolerance,
                    int max_passes, uint64_t seed, double deadline, uint64_t memory_bytes) {
    const GivenRows given(starts, columns, values, width);
    check_training(penalty, tolerance, max_passes);
    RankSvm found = guarded([&] {
        return train_rank_svm(given.rows(), {penalty, tolerance, max_passes, seed},
                              Limits{deadline, memory_bytes});
    });
    return std::tuple(to_numpy(std::move(found.weights)), found.passes, found.converged);
}

// Weights float64[width], the number of steps, and whether they converged.
auto bound_newton(Longs starts, Flat columns, Floats values, size_t width, const std::string& loss,
                  Array<double, 1> targets, double penalty, double tolerance, int max_steps, double deadline,
                  uint64_t memory_bytes) {
    const GivenRows given(starts, columns, values, width);
    check_training(penalty, tolerance, max_steps);
    if (loss != "logistic" && loss != "squared")
        refuse("unknown loss '", loss, "'; choose logistic or squared");
    const auto wanted = copied(targets);
    if (!std::all_of(wanted.begin(), wanted.end(), [](double y) { return std::isfinite(y); }))
        refuse("targets must be finite");
    const SmoothLoss smooth = loss == "squared" ? SmoothLoss::Squared : SmoothLoss::Logistic;
    NewtonFit found = guarded([&] {
        return fit_by_newton(given.rows(), wanted, {smooth, penalty, tolerance, max_steps},
                             Limits{deadline, memory_bytes});
    });
    return std::tuple(to_numpy(std::move(found.weights)), found.steps, found.converged);
}

}  // namespace

void bind_training(nb::module_& m) {
    const auto deadline = nb::arg("deadline") = 0.0;
    const auto memory = nb::arg("memory_bytes") = 0;
    nb::class_<BoundRows>(m, "TrainingRows")
        .def(
            "__init__",
            [](BoundRows* self, int num_atoms, Longs starts, Flat atoms, Floats h, Floats lower, Floats upper,
               Floats weights) {
                new (self) BoundRows(make_rows(num_atoms, starts, atoms, h, lower, upper, weights));
            },
            nb::arg("num_atoms"), nb::arg("starts"), nb::arg("atoms"), nb::arg("h"), nb::arg("lower"),
            nb::arg("upper"), nb::arg("weights"))
        .def("__len__", [](const BoundRows& self) { return self.rows->size(); });
    nb::class_<BoundTrainer>(m, "MlpTrainer")
        .def(
            "__init__",
            [](BoundTrainer* self, const BoundRows& rows, const Layers& layers, const std::string& objective,
               double scale, double epsilon, const std::string& kernel) {
                new (self) BoundTrainer{
                    {rows.rows, to_layers(layers), TrainingObjective{objective, scale, epsilon}, kernel}, {}};
            },
            nb::arg("rows"), nb::arg("layers"), nb::arg("objective") = "squared", nb::arg("scale") = 1.0,
            nb::arg("epsilon") = 0.1, nb::arg("kernel") = "")
        .def(
            "epoch",
            [](BoundTrainer& self, Flat order, int batch, double learning_rate, double deadline,
               uint64_t memory_bytes) {
                const Ints rows = copied(order);
                return self.run(deadline, memory_bytes, [&](const Limits& limits) {
                    return self.trainer.epoch(rows, batch, learning_rate, limits);
                });
            },
            nb::arg("order"), nb::arg("batch"), nb::arg("learning_rate"), deadline, memory)
        .def(
            "loss",
            [](BoundTrainer& self, Flat rows, double deadline, uint64_t memory_bytes) {
                const Ints chosen = copied(rows);
                return self.run(deadline, memory_bytes,
                                [&](const Limits& limits) { return self.trainer.loss(chosen, limits); });
            },
            nb::arg("rows"), deadline, memory)
        .def("outputs", &outputs, nb::arg("rows"), deadline, memory)
        .def("weights",
             [](BoundTrainer& self) {
                 const auto lock = self.use.lock();
                 return from_layers(self.trainer.layers(Part::Weights));
             })
        .def("state", &state)
        .def("load", &load, nb::arg("layers"), nb::arg("state") = nb::none())
        .def_prop_ro("kernel", [](const BoundTrainer& self) { return self.trainer.kernel(); });
    m.def("rank_svm", &bound_rank_svm, nb::arg("starts"), nb::arg("columns"), nb::arg("values"),
          nb::arg("width"), nb::arg("penalty") = 1.0, nb::arg("tolerance") = 0.01,
          nb::arg("max_passes") = 1000, nb::arg("seed") = 0, deadline, memory);
    m.def("newton_fit", &bound_newton, nb::arg("starts"), nb::arg("columns"), nb::arg("values"),
          nb::arg("width"), nb::arg("loss"), nb::arg("targets"), nb::arg("penalty") = 1.0,
          nb::arg("tolerance") = 1e-6, nb::arg("max_steps") = 100, deadline, memory);
    m.def("mlp_training_kernels", [] {
        std::vector<std::string> names;
        for (const auto& kernel : mlp_training_kernels()) names.push_back(kernel.name);
        return names;
    });
}

}  // namespace hstar::bindings
