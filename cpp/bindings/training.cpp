#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "bindings/bindings.hpp"
#include "networks/linear/linear.hpp"
#include "networks/mlp/trainer.hpp"

namespace hstar::bindings {

namespace {

using Part = MlpTrainer::Part;

// A trainer, and what keeps threads from using it at once.
struct BoundTrainer {
    MlpTrainer trainer;
    Exclusive use;

    template <class Work>
    auto run(Work work) {
        return guarded([&] {
            const auto lock = use.lock();
            return work(trainer);
        });
    }
};

// Its weights float32[outputs, inputs], bias, activation, and whether the layer before is added.
using PythonLayer = std::tuple<Numpy<float, 2>, Numpy<float>, const char*, bool>;

std::vector<PythonLayer> from_layers(std::vector<MlpLayer> layers) {
    std::vector<PythonLayer> result;
    for (MlpLayer& layer : layers) {
        const size_t outputs = layer.bias.size(), inputs = layer.weights.size() / outputs;
        result.emplace_back(to_numpy(std::move(layer.weights), {outputs, inputs}),
                            to_numpy(std::move(layer.bias)), layer.is_relu ? "relu" : "none", layer.has_skip);
    }
    return result;
}

void make_rows(TrainingRows* self, int num_atoms, Longs starts, Flat atoms, Floats h, Floats lower,
               Floats upper) {
    require(num_atoms >= 1, "there must be at least one atom");
    GivenRows given(starts, atoms, static_cast<size_t>(num_atoms), "atom");
    TrainingRows rows{num_atoms, std::move(given.starts), std::move(given.items),
                      copied(h), copied(lower),           copied(upper)};
    rows.check_labels();
    new (self) TrainingRows(std::move(rows));
}

void make_trainer(BoundTrainer* self, std::shared_ptr<TrainingRows> rows, const Layers& layers,
                  const std::string& objective, double scale, double epsilon, const std::string& kernel) {
    new (self) BoundTrainer{
        {std::move(rows), to_mlp_layers(layers), TrainingObjective{objective, scale, epsilon}, kernel}, {}};
}

double epoch(const Limits& limits, BoundTrainer& self, Flat order, int batch, double learning_rate) {
    const Ints rows = copied(order);
    return self.run([&](MlpTrainer& t) { return t.epoch(rows, batch, learning_rate, limits); });
}

double loss(const Limits& limits, BoundTrainer& self, Flat rows) {
    const Ints chosen = copied(rows);
    return self.run([&](MlpTrainer& t) { return t.loss(chosen, limits); });
}

Numpy<float> outputs(const Limits& limits, BoundTrainer& self, Flat rows) {
    const Ints chosen = copied(rows);
    std::vector<float> result(chosen.size());
    self.run([&](MlpTrainer& t) { t.outputs(chosen, result.data(), limits); });
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
    self.trainer.load(Part::Weights, to_mlp_layers(layers));
    if (!state) return;
    const Dict& held = *state;
    self.trainer.load(Part::Mean, to_mlp_layers(nb::cast<Layers>(held["mean"])));
    self.trainer.load(Part::Square, to_mlp_layers(nb::cast<Layers>(held["square"])));
    self.trainer.set_steps(nb::cast<int64_t>(held["step"]));
}

// Rows with values from Python, checked.
struct GivenMatrix : GivenRows {
    std::vector<float> values;
    size_t width;

    GivenMatrix(const Longs& starts, const Flat& columns, const Floats& given_values, size_t width)
        : GivenRows(starts, columns, width, "column"), values(copied(given_values)), width(width) {
        require(items.size() == values.size(), "there must be one value for each column");
        for (size_t i = 0; i + 1 < this->starts.size(); ++i) {
            const auto row = std::span(items).subspan(this->starts[i], this->starts[i + 1] - this->starts[i]);
            require(std::ranges::adjacent_find(row, std::greater_equal<>()) == row.end(),
                    "the columns of row ", i, " must rise");
        }
        require(std::ranges::all_of(values, [](float v) { return std::isfinite(v); }),
                "values must be finite");
    }
    SparseRows rows() const { return {starts, items, values, width}; }
};

void check_training(double penalty, double tolerance, int most) {
    if (!(penalty > 0) || !(tolerance > 0) || !std::isnormal(penalty) || !std::isfinite(tolerance))
        refuse("penalty and tolerance must be positive and finite");
    if (most < 1) refuse("there must be at least one pass or step");
}

// Weights float64[width], the number of passes or steps, and whether they converged.
template <class Fit>
auto fitted(Fit fit) {
    LinearFit found = guarded(fit);
    return std::tuple(to_numpy(std::move(found.weights)), found.rounds, found.converged);
}

auto bound_rank_svm(const Limits& limits, Longs starts, Flat columns, Floats values, size_t width,
                    double penalty, double tolerance, int max_passes, uint64_t seed) {
    const GivenMatrix given(starts, columns, values, width);
    check_training(penalty, tolerance, max_passes);
    return fitted(
        [&] { return train_rank_svm(given.rows(), {penalty, tolerance, max_passes, seed}, limits); });
}

auto bound_newton(const Limits& limits, Longs starts, Flat columns, Floats values, size_t width,
                  const std::string& loss, Array<double, 1> targets, double penalty, double tolerance,
                  int max_steps) {
    const GivenMatrix given(starts, columns, values, width);
    check_training(penalty, tolerance, max_steps);
    const auto smooth = chosen<SmoothLoss>(
        "loss", loss, {{"logistic", SmoothLoss::Logistic}, {"squared", SmoothLoss::Squared}});
    const auto wanted = copied(targets);
    require(std::ranges::all_of(wanted, [](double y) { return std::isfinite(y); }), "targets must be finite");
    return fitted(
        [&] { return fit_by_newton(given.rows(), wanted, {smooth, penalty, tolerance, max_steps}, limits); });
}

}  // namespace

void bind_training(nb::module_& m) {
    const auto deadline = "deadline"_a = 0.0;
    const auto memory = "memory_bytes"_a = 0;
    nb::class_<TrainingRows>(m, "TrainingRows")
        .def("__init__", &make_rows)
        .def("__len__", &TrainingRows::size);
    nb::class_<BoundTrainer>(m, "MlpTrainer")
        .def("__init__", &make_trainer, "rows"_a, "layers"_a, "objective"_a = "squared", "scale"_a = 1.0,
             "epsilon"_a = 0.1, "kernel"_a = "")
        .def("epoch", limited(&epoch), "order"_a, "batch"_a, "learning_rate"_a, deadline, memory)
        .def("loss", limited(&loss), "rows"_a, deadline, memory)
        .def("outputs", limited(&outputs), "rows"_a, deadline, memory)
        .def("weights",
             [](BoundTrainer& self) {
                 const auto lock = self.use.lock();
                 return from_layers(self.trainer.layers(Part::Weights));
             })
        .def("state", &state)
        .def("load", &load, "layers"_a, "state"_a = nb::none());
    m.def("rank_svm", limited(&bound_rank_svm), "starts"_a, "columns"_a, "values"_a, "width"_a,
          "penalty"_a = 1.0, "tolerance"_a = 0.01, "max_passes"_a = 1000, "seed"_a = 0, deadline, memory);
    m.def("newton_fit", limited(&bound_newton), "starts"_a, "columns"_a, "values"_a, "width"_a, "loss"_a,
          "targets"_a, "penalty"_a = 1.0, "tolerance"_a = 1e-6, "max_steps"_a = 100, deadline, memory);
    m.def("mlp_kernel_names", [] { return names_of(mlp_kernels()); });
}

}  // namespace hstar::bindings
