#include <algorithm>

#include "bindings/bindings.hpp"
#include "learned/learned_heuristic.hpp"

namespace hstar::bindings {

namespace {

using Entries = Array<int, 2>;

void make_shape(NlmShape* self, int breadth, int depth, int width, int outputs, bool exclude_self, bool dense,
                const std::string& activation, const Ints& channels, bool sums) {
    const auto kind = chosen<Activation>("activation", activation,
                                         {{"sigmoid", Activation::Sigmoid}, {"relu", Activation::Relu}});
    NlmShape shape{breadth, depth, width, outputs, exclude_self, dense, kind, sums};
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

NlmBatch to_batch(const NlmShape& shape, const Floats& theta, const Flat& sizes, const Longs& starts,
                  const Entries& entries, const Floats& values) {
    require(theta.size() == shape.num_parameters, "theta must have ", shape.num_parameters, " numbers, not ",
            theta.size());
    const NlmBatch batch{{sizes.data(), sizes.size()},
                         {starts.data(), starts.size()},
                         to_entries(entries),
                         {values.data(), values.size()}};
    batch.check(shape);
    return batch;
}

Numpy<float, 2> forward(const NlmShape& shape, Floats theta, Flat sizes, Longs starts, Entries entries,
                        Floats values, int threads) {
    const NlmBatch batch = to_batch(shape, theta, sizes, starts, entries, values);
    std::vector<float> result(sizes.size() * shape.outputs);
    without_gil([&] {
        NlmRunner(shape).forward(NlmWeights(shape, theta.data(), false), batch, threads, result.data());
    });
    return to_numpy(std::move(result), {sizes.size(), static_cast<size_t>(shape.outputs)});
}

Numpy<float> backward(const NlmShape& shape, Floats theta, Flat sizes, Longs starts, Entries entries,
                      Floats values, Matrix gradient, int threads) {
    const NlmBatch batch = to_batch(shape, theta, sizes, starts, entries, values);
    require(gradient.shape(0) == sizes.size() && gradient.shape(1) == static_cast<size_t>(shape.outputs),
            "the gradient must have one row per state and one column per output");
    std::vector<float> result(shape.num_parameters);
    const auto given = [&](int64_t state, const float*, float* of_state) {
        std::copy_n(gradient.data() + state * shape.outputs, shape.outputs, of_state);
    };
    without_gil([&] {
        const NlmWeights weights(shape, theta.data(), true);
        NlmRunner(shape).backward(weights, batch, given, threads, result.data());
    });
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

IncrementalWl to_wl(const Task& task, const nb::dict& spec) {
    auto [options, colours] = to_wl_colouring(spec);
    return IncrementalWl(WlGraph(task, std::move(options)), ColourTable(colours));
}

std::unique_ptr<OutputModel> make_nlm_model(const Task& task, const nb::dict& spec, CostType) {
    return make_nlm(task, get<NlmShape>(spec, "shape"), copied(get<Floats>(spec, "theta")),
                    to_nlm_encoding(spec));
}

std::unique_ptr<OutputModel> make_mlp_model(const Task& task, const nb::dict& spec, CostType cost) {
    auto layers = to_mlp_layers(get<Layers>(spec, "layers"));
    enum class Input { Plan, Facts, Wl };
    const auto input =
        chosen<Input>("input", get<std::string>(spec, "input"),
                      {{"relaxed-plan", Input::Plan}, {"facts", Input::Facts}, {"wl", Input::Wl}});
    if (input == Input::Plan) return make_plan_network(task, layers, cost);
    if (input == Input::Facts) {
        const auto precision =
            chosen<MlpPrecision>("precision", get<std::string>(spec, "precision"),
                                 {{"float32", MlpPrecision::Float32}, {"int16", MlpPrecision::Int16}});
        return make_fact_network(task, copied(get<Flat>(spec, "rows")), copied(get<Flat>(spec, "constant")),
                                 std::move(layers), precision);
    }
    std::optional<WlRanking> ranking;
    if (spec.contains("operators")) {
        const auto given = get<nb::dict>(spec, "operators");
        ranking.emplace(WlOperators(task, get<Ints>(given, "actions")),
                        copied(get<Array<uint64_t, 1>>(given, "colours")),
                        copied(get<Floats>(given, "weights")));
    }
    return make_wl_network(to_wl(task, spec), layers, std::move(ranking));
}

// Weisfeiler-Leman features of the states of a task.
class BoundWlFeatures {
  public:
    BoundWlFeatures(const BoundTask& bound, const Dict& spec)
        : bound_(bound), wl_(to_wl(bound_.task, spec)) {}

    // All colours of each state with how many vertices have them, over all rounds: where each state's begin,
    // the colours in ascending order, and the counts.
    auto collect(States given) {
        const StateRows states = bound_.checked(given);
        std::vector<int64_t> starts{0};
        std::vector<WlColour> colours;
        Ints counts;
        for_each(states, [&](size_t s) {
            wl_.move_to(states.row(s));
            auto found = wl_.colours();
            std::sort(found.begin(), found.end());
            for (size_t i = 0; i < found.size(); ++i) {
                if (i == 0 || found[i] != found[i - 1]) {
                    colours.push_back(found[i]);
                    counts.push_back(0);
                }
                ++counts.back();
            }
            starts.push_back(static_cast<int64_t>(colours.size()));
        });
        return std::tuple(to_numpy(std::move(starts)), to_numpy(std::move(colours)),
                          to_numpy(std::move(counts)));
    }

    // int32[states, features]
    Numpy<int, 2> counts(States given) {
        const StateRows states = bound_.checked(given);
        const size_t features = static_cast<size_t>(wl_.num_features());
        Ints counts;
        counts.reserve(states.count * features);
        for_each(states, [&](size_t s) {
            wl_.move_to(states.row(s));
            counts.insert(counts.end(), wl_.counts().begin(), wl_.counts().end());
        });
        return to_numpy(std::move(counts), {states.count, features});
    }

    // uint64[n, rounds + 2]: the colours of operator ops[i] in state i.
    Numpy<WlColour, 2> operator_colours(States given, Flat ops, const Ints& actions) {
        const StateRows states = bound_.checked(given);
        const Ints chosen = copied(ops);
        require(chosen.size() == states.count, "there must be one operator for each state");
        for (int op : chosen)
            require(op >= 0 && op < bound_.task.num_operators() && !bound_.task.is_artificial(op),
                    "there is no operator ", op, " that has a name");
        const WlOperators operators(bound_.task, actions);
        std::vector<WlColour> found, all;
        for_each(states, [&](size_t s) {
            wl_.move_to(states.row(s));
            operators.colours(wl_, chosen[s], found);
            all.insert(all.end(), found.begin(), found.end());
        });
        return to_numpy(std::move(all), {states.count, static_cast<size_t>(wl_.graph().rounds()) + 2});
    }

  private:
    // Calls work(number of the state) for one after the other. Signals end it.
    template <class Work>
    void for_each(const StateRows& states, Work work) {
        guarded([&] {
            const auto lock = use_.lock();
            const Limits none;
            LimitClock clock(none);
            for (size_t s = 0; s < states.count; ++s) {
                clock.check();
                work(s);
            }
        });
    }
    const BoundTask& bound_;
    Exclusive use_;  // threads may share the features
    IncrementalWl wl_;
};

}  // namespace

NlmEncoding to_nlm_encoding(const nb::dict& spec) {
    return {get<int>(spec, "num_objects"), copied_entries(get<Entries>(spec, "base_entries")),
            copied(get<Floats>(spec, "base_values")), copied_entries(get<Entries>(spec, "fact_entries"))};
}

std::pair<WlOptions, std::vector<WlColour>> to_wl_colouring(const nb::dict& spec) {
    const auto hash = get<std::string>(spec, "hash");
    WlOptions options{
        get<int>(spec, "rounds"),     chosen<bool>("hash", hash, {{"set", true}, {"multiset", false}}),
        get<bool>(spec, "statics"),   get<Ints>(spec, "predicates"),
        get<Ints>(spec, "constants"), get<bool>(spec, "orders")};
    return {std::move(options), copied(get<Array<uint64_t, 1>>(spec, "colours"))};
}

std::vector<MlpLayer> to_mlp_layers(const Layers& items) {
    std::vector<MlpLayer> layers;
    for (nb::handle item : items) {
        std::tuple<Matrix, Floats, std::string, bool> layer;
        require(nb::try_cast(item, layer),
                "a layer must be (weight float32[outputs, inputs], bias "
                "float32[outputs], 'relu' or 'none', skip)");
        const auto& [weights, bias, activation, has_skip] = layer;
        require(weights.shape(0) == bias.size(), "a layer needs a row of weights and a bias per output");
        layers.push_back({copied(weights), copied(bias),
                          chosen<bool>("activation", activation, {{"relu", true}, {"none", false}}),
                          has_skip});
    }
    return layers;
}

std::unique_ptr<BoundHeuristic> make_learned_heuristic(const BoundTask& bound, const Dict& spec) {
    const Correction correction{to_cost_type(get<std::string>(spec, "cost")), get<std::string>(spec, "base"),
                                get<std::string>(spec, "lower"), get<double>(spec, "cap")};
    const DecodeSpec decode = to_decode(get<nb::dict>(spec, "decode"));
    using Maker = std::unique_ptr<OutputModel> (*)(const Task&, const nb::dict&, CostType);
    const auto make = chosen<Maker>("model", get<std::string>(spec, "model"),
                                    {{"nlm", make_nlm_model}, {"mlp", make_mlp_model}});
    return std::make_unique<BoundHeuristic>(
        bound, make_learned(bound.task, make(bound.task, spec, correction.cost), correction, decode));
}

void bind_learned(nb::module_& m) {
    nb::class_<NlmShape>(m, "NlmShape")
        .def("__init__", &make_shape, "breadth"_a, "depth"_a, "width"_a, "outputs"_a, "exclude_self"_a,
             "dense"_a, "activation"_a, "channels"_a, "sums"_a = false)
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
    nb::class_<BoundWlFeatures>(m, "WlFeatures")
        .def(nb::init<const BoundTask&, const Dict&>(), KeepFirst())
        .def("collect", &BoundWlFeatures::collect)
        .def("counts", &BoundWlFeatures::counts)
        .def("operator_colours", &BoundWlFeatures::operator_colours);
}

}  // namespace hstar::bindings
