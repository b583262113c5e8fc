#include "bindings/bindings.hpp"
#include "learned/learned_heuristic.hpp"
#include "networks/nlm/batch.hpp"
#include "networks/nlm/shape.hpp"

namespace hstar::bindings {

namespace {

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Entries = nb::ndarray<const int, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
}

Activation to_activation(const std::string& name) {
    if (name == "sigmoid") return Activation::Sigmoid;
    if (name == "relu") return Activation::Relu;
    throw std::invalid_argument("unknown activation '" + name + "'; choose sigmoid or relu");
}

NlmShape make_shape(int breadth, int depth, int width, int outputs, bool exclude_self, bool dense,
                    const std::string& activation, const Ints& channels) {
    NlmShape shape;
    shape.breadth = breadth;
    shape.depth = depth;
    shape.width = width;
    shape.outputs = outputs;
    shape.exclude_self = exclude_self;
    shape.dense = dense;
    shape.activation = to_activation(activation);
    require(breadth >= 0 && breadth <= kMaxBreadth && channels.size() == static_cast<size_t>(breadth) + 1,
            "an NLM needs the number of input channels of each arity from 0 to its breadth (1 to 3)");
    std::copy(channels.begin(), channels.end(), shape.channels.begin());
    shape.finish();
    return shape;
}

std::span<const NlmEntry> to_entries(const Entries& entries) {
    require(entries.shape(1) == 2, "entries must have two columns: arity and index");
    return {reinterpret_cast<const NlmEntry*>(entries.data()), entries.shape(0)};
}

void check_theta(const NlmShape& shape, const Floats& theta) {
    require(theta.size() == shape.num_parameters, "theta must have " + std::to_string(shape.num_parameters) +
                                                      " numbers, not " + std::to_string(theta.size()));
}

NlmBatch to_batch(const Flat& sizes, const Longs& starts, const Entries& entries, const Floats& values) {
    require(starts.size() == sizes.size() + 1, "starts must have one number more than sizes");
    require(values.size() == entries.shape(0), "there must be one value per entry");
    auto items = to_entries(entries);
    return {static_cast<int64_t>(sizes.size()), sizes.data(), starts.data(),
            static_cast<int64_t>(items.size()), items.data(), values.data()};
}

nb::object forward(const NlmShape& shape, Floats theta, Flat sizes, Longs starts, Entries entries,
                   Floats values, int threads) {
    check_theta(shape, theta);
    NlmBatch batch = to_batch(sizes, starts, entries, values);
    std::vector<float> result(sizes.size() * shape.outputs);
    {
        nb::gil_scoped_release release;
        nlm_forward(shape, theta.data(), batch, threads, result.data());
    }
    return to_numpy(std::move(result), {sizes.size(), static_cast<size_t>(shape.outputs)});
}

nb::object backward(const NlmShape& shape, Floats theta, Flat sizes, Longs starts, Entries entries,
                    Floats values, Matrix gradient, int threads) {
    check_theta(shape, theta);
    NlmBatch batch = to_batch(sizes, starts, entries, values);
    require(gradient.shape(0) == sizes.size() && gradient.shape(1) == static_cast<size_t>(shape.outputs),
            "the gradient must have one row per state and one column per output");
    std::vector<float> result(shape.num_parameters);
    {
        nb::gil_scoped_release release;
        nlm_backward(shape, theta.data(), batch, gradient.data(), threads, result.data());
    }
    return to_numpy(std::move(result), {shape.num_parameters});
}

template <class T>
T get(const nb::dict& spec, const char* key) {
    if (!spec.contains(key)) throw std::invalid_argument(std::string("the model lacks '") + key + "'");
    try {
        return nb::cast<T>(spec[key]);
    } catch (const nb::cast_error&) {
        throw std::invalid_argument(std::string("the model's '") + key + "' has a wrong type or shape");
    }
}

template <class T, class Array>
std::vector<T> copied(const Array& array) {
    return {array.data(), array.data() + array.size()};
}

Decode to_decode(const std::string& name) {
    if (name == "value" || name == "mean") return Decode::Mean;
    if (name == "clip") return Decode::Clip;
    if (name == "truncated-mean") return Decode::TruncatedMean;
    throw std::invalid_argument("unknown decode '" + name + "'; choose value, mean, clip or truncated-mean");
}

std::vector<NlmEntry> copied_entries(const Entries& entries) {
    auto items = to_entries(entries);
    return {items.begin(), items.end()};
}

std::unique_ptr<Evaluator> make_model(const Task& task, const nb::dict& spec) {
    Decoding decoding;
    decoding.decode = to_decode(get<std::string>(spec, "decode"));
    decoding.cost = to_cost_type(get<std::string>(spec, "cost"));
    decoding.base = get<std::string>(spec, "base");
    decoding.lower = get<std::string>(spec, "lower");
    decoding.epsilon = get<double>(spec, "epsilon");
    decoding.sigma = get<double>(spec, "sigma");
    decoding.cap = get<double>(spec, "cap");
    const auto theta = get<Floats>(spec, "theta");
    const auto kind = get<std::string>(spec, "model");
    if (kind == "linear") {
        LinearModel model{get<int>(spec, "outputs"), copied<float>(theta)};
        return make_learned(task, std::move(model), decoding);
    }
    require(kind == "nlm", "unknown model '" + kind + "'; choose nlm or linear");
    NlmModel model;
    model.shape = get<NlmShape>(spec, "shape");
    model.theta = copied<float>(theta);
    model.num_objects = get<int>(spec, "num_objects");
    model.base_entries = copied_entries(get<Entries>(spec, "base_entries"));
    model.base_values = copied<float>(get<Floats>(spec, "base_values"));
    model.fact_entries = copied_entries(get<Entries>(spec, "fact_entries"));
    return make_learned(task, std::move(model), decoding);
}

}  // namespace

std::unique_ptr<BoundHeuristic> make_learned_heuristic(nb::object task, const nb::dict& spec) {
    auto evaluator = make_model(nb::cast<const BoundTask&>(task).task, spec);
    return std::make_unique<BoundHeuristic>(std::move(task), std::move(evaluator));
}

void bind_learned(nb::module_& m) {
    nb::class_<NlmShape>(m, "NlmShape")
        .def(
            "__init__",
            [](NlmShape* self, int breadth, int depth, int width, int outputs, bool exclude_self, bool dense,
               const std::string& activation, const Ints& channels) {
                new (self) NlmShape(
                    make_shape(breadth, depth, width, outputs, exclude_self, dense, activation, channels));
            },
            nb::arg("breadth"), nb::arg("depth"), nb::arg("width"), nb::arg("outputs"),
            nb::arg("exclude_self"), nb::arg("dense"), nb::arg("activation"), nb::arg("channels"))
        .def_ro("num_parameters", &NlmShape::num_parameters)
        .def_prop_ro("weight_shapes", [](const NlmShape& shape) {
            std::vector<std::tuple<int, int, int, int>> shapes;
            for (const auto& linear : shape.linears)
                shapes.emplace_back(linear.layer, linear.arity, linear.out,
                                    linear.permutations() * linear.columns);
            return shapes;
        });
    m.def("nlm_forward", &forward, nb::arg("shape"), nb::arg("theta"), nb::arg("sizes"), nb::arg("starts"),
          nb::arg("entries"), nb::arg("values"), nb::arg("threads"));
    m.def("nlm_backward", &backward, nb::arg("shape"), nb::arg("theta"), nb::arg("sizes"), nb::arg("starts"),
          nb::arg("entries"), nb::arg("values"), nb::arg("grad"), nb::arg("threads"));
}

}  // namespace hstar::bindings
