#include <map>

#include "bindings/bindings.hpp"
#include "learned/learned_heuristic.hpp"
#include "networks/nlm/batch.hpp"
#include "networks/nlm/shape.hpp"
#include "runtime/require.hpp"

namespace hstar::bindings {

namespace {

using Entries = Array<int, 2>;

Activation to_activation(const std::string& name) {
    if (name == "sigmoid") return Activation::Sigmoid;
    if (name == "relu") return Activation::Relu;
    refuse("unknown activation '", name, "'; choose sigmoid or relu");
}

void make_shape(NlmShape* self, int breadth, int depth, int width, int outputs, bool exclude_self, bool dense,
                const std::string& activation, const Ints& channels, bool sums) {
    NlmShape shape{breadth, depth, width, outputs, exclude_self, dense, to_activation(activation), sums};
    require(breadth >= 0 && breadth <= kMaxBreadth && channels.size() == static_cast<size_t>(breadth) + 1,
            "an NLM needs the number of input channels of each arity from 0 to its breadth (1 to 3)");
    std::copy(channels.begin(), channels.end(), shape.channels.begin());
    shape.finish();
    new (self) NlmShape(std::move(shape));
}

std::span<const NlmEntry> to_entries(const Entries& entries) {
    require(entries.shape(1) == 2, "entries must have two columns: arity and index");
    return {reinterpret_cast<const NlmEntry*>(entries.data()), entries.shape(0)};
}

void check_theta(const NlmShape& shape, const Floats& theta) {
    require(theta.size() == shape.num_parameters, "theta must have ", shape.num_parameters, " numbers, not ",
            theta.size());
}

NlmBatch to_batch(const Flat& sizes, const Longs& starts, const Entries& entries, const Floats& values) {
    require(starts.size() == sizes.size() + 1, "starts must have one number more than sizes");
    require(values.size() == entries.shape(0), "there must be one value per entry");
    auto items = to_entries(entries);
    return {static_cast<int64_t>(sizes.size()), sizes.data(), starts.data(),
            static_cast<int64_t>(items.size()), items.data(), values.data()};
}

Numpy<float, 2> forward(const NlmShape& shape, Floats theta, Flat sizes, Longs starts, Entries entries,
                        Floats values, int threads) {
    check_theta(shape, theta);
    NlmBatch batch = to_batch(sizes, starts, entries, values);
    std::vector<float> result(sizes.size() * shape.outputs);
    without_gil([&] { nlm_forward(shape, theta.data(), batch, threads, result.data()); });
    return to_numpy(std::move(result), {sizes.size(), static_cast<size_t>(shape.outputs)});
}

Numpy<float> backward(const NlmShape& shape, Floats theta, Flat sizes, Longs starts, Entries entries,
                      Floats values, Matrix gradient, int threads) {
    check_theta(shape, theta);
    NlmBatch batch = to_batch(sizes, starts, entries, values);
    require(gradient.shape(0) == sizes.size() && gradient.shape(1) == static_cast<size_t>(shape.outputs),
            "the gradient must have one row per state and one column per output");
    std::vector<float> result(shape.num_parameters);
    without_gil([&] { nlm_backward(shape, theta.data(), batch, gradient.data(), threads, result.data()); });
    return to_numpy(std::move(result));
}

template <class T>
T get(const nb::dict& spec, const char* key) {
    if (!spec.contains(key)) refuse("the model lacks '", key, "'");
    try {
        return nb::cast<T>(spec[key]);
    } catch (const nb::cast_error&) {
        refuse("the model's '", key, "' has a wrong type or shape");
    }
}

std::vector<NlmEntry> copied_entries(const Entries& entries) {
    auto items = to_entries(entries);
    return {items.begin(), items.end()};
}

// {"name": ..., "values": [...], and numbers}
DecodeSpec to_decode(const nb::dict& spec) {
    DecodeSpec decode;
    decode.name = get<std::string>(spec, "name");
    if (spec.contains("values")) decode.values = get<std::vector<double>>(spec, "values");
    for (auto [key, item] : spec) {
        const auto name = nb::cast<std::string>(key);
        if (name != "name" && name != "values") decode.constants[name] = get<double>(spec, name.c_str());
    }
    return decode;
}

std::unique_ptr<OutputModel> make_nlm(const Task& task, const nb::dict& spec, CostType) {
    return make_output_model(task, NlmModel{get<NlmShape>(spec, "shape"), copied(get<Floats>(spec, "theta")),
                                            to_nlm_encoding(spec)});
}

std::unique_ptr<OutputModel> make_mlp(const Task& task, const nb::dict& spec, CostType cost) {
    MlpModel model;
    for (nb::handle item : get<nb::list>(spec, "layers")) {
        int inputs = 0;
        model.layers.push_back(to_mlp_layer(item, inputs));
        if (model.layers.size() == 1) model.inputs = inputs;
    }
    const auto input = get<std::string>(spec, "input");
    require(input == "digits" || input == "relaxed-plan" || input == "facts" || input == "wl",
            "unknown input '", input, "'; choose digits, relaxed-plan, facts or wl");
    if (input == "wl") {
        auto [options, colours] = to_wl_colouring(spec);
        WlModel made{std::move(options), std::move(colours), std::move(model.layers)};
        if (spec.contains("operators")) {
            const auto given = get<nb::dict>(spec, "operators");
            made.operators = {get<Ints>(given, "actions"), copied(get<Array<uint64_t, 1>>(given, "colours")),
                              copied(get<Floats>(given, "weights"))};
        }
        return make_output_model(task, std::move(made));
    }
    if (input == "facts")
        return make_output_model(
            task, FactModel{copied(get<Flat>(spec, "rows")), copied(get<Flat>(spec, "constant")),
                            model.inputs, std::move(model.layers),
                            spec.contains("precision") ? get<std::string>(spec, "precision") : "float32"});
    if (input == "digits") {
        for (auto [variable, first_row] : get<std::vector<std::pair<int, int>>>(spec, "digits"))
            model.digits.push_back({variable, first_row});
        require(!model.digits.empty(), "a network on digits needs at least one");
    }
    return make_output_model(task, std::move(model), cost);
}

using ModelMaker = std::unique_ptr<OutputModel> (*)(const Task&, const nb::dict&, CostType);
const std::map<std::string, ModelMaker> kModels{{"nlm", make_nlm}, {"mlp", make_mlp}};

std::unique_ptr<Evaluator> make_model(const Task& task, const nb::dict& spec) {
    const Correction correction{to_cost_type(get<std::string>(spec, "cost")), get<std::string>(spec, "base"),
                                get<std::string>(spec, "lower"), get<double>(spec, "cap")};
    const DecodeSpec decode = to_decode(get<nb::dict>(spec, "decode"));
    const auto kind = get<std::string>(spec, "model");
    const auto found = kModels.find(kind);
    require(found != kModels.end(), "unknown model '", kind, "'; choose nlm or mlp");
    return make_learned(task, found->second(task, spec, correction.cost), correction, decode);
}

}  // namespace

NlmEncoding to_nlm_encoding(const nb::dict& spec) {
    return {get<int>(spec, "num_objects"), copied_entries(get<Entries>(spec, "base_entries")),
            copied(get<Floats>(spec, "base_values")), copied_entries(get<Entries>(spec, "fact_entries"))};
}

std::pair<WlOptions, std::vector<WlColour>> to_wl_colouring(const nb::dict& spec) {
    const auto hash = get<std::string>(spec, "hash");
    require(hash == "set" || hash == "multiset", "unknown hash '", hash, "'; choose set or multiset");
    WlOptions options{get<int>(spec, "rounds"),     hash == "set",
                      get<bool>(spec, "statics"),   get<Ints>(spec, "predicates"),
                      get<Ints>(spec, "constants"), get<bool>(spec, "orders")};
    return {std::move(options), copied(get<Array<uint64_t, 1>>(spec, "colours"))};
}

MlpLayer to_mlp_layer(nb::handle item, int& inputs) {
    std::tuple<Matrix, Floats, std::string, bool> layer;
    require(nb::try_cast(item, layer),
            "a layer must be (weight float32[outputs, inputs], bias "
            "float32[outputs], 'relu' or 'none', skip)");
    const auto& [weights, bias, activation, has_skip] = layer;
    require(weights.shape(0) == bias.size(), "a layer needs a row of weights and a bias per output");
    require(activation == "relu" || activation == "none", "unknown activation '", activation,
            "'; choose relu or none");
    inputs = static_cast<int>(weights.shape(1));
    return {copied(weights), copied(bias), activation == "relu", has_skip};
}

std::unique_ptr<BoundHeuristic> make_learned_heuristic(Object<BoundTask> task, const Dict& spec) {
    auto evaluator = make_model(nb::cast<const BoundTask&>(task).task, spec);
    return std::make_unique<BoundHeuristic>(std::move(task), std::move(evaluator));
}

void bind_learned(nb::module_& m) {
    nb::class_<NlmShape>(m, "NlmShape")
        .def("__init__", &make_shape, nb::arg("breadth"), nb::arg("depth"), nb::arg("width"),
             nb::arg("outputs"), nb::arg("exclude_self"), nb::arg("dense"), nb::arg("activation"),
             nb::arg("channels"), nb::arg("sums") = false)
        .def_ro("num_parameters", &NlmShape::num_parameters)
        .def_prop_ro("weight_shapes", [](const NlmShape& shape) {
            std::vector<std::tuple<int, int, int, int>> shapes;
            for (const auto& linear : shape.linears)
                shapes.emplace_back(linear.layer, linear.arity, linear.out,
                                    linear.permutations() * linear.columns);
            return shapes;
        });
    m.def("nlm_forward", &forward);
    m.def("nlm_backward", &backward);
}

}  // namespace hstar::bindings
