// Networks that replace pattern databases, their sweeps, and their parts for tests.
#include "learned/learned_pdb.hpp"

#include "bindings/puzzles.hpp"
#include "learned/learned_sweep.hpp"
#include "networks/integer/weight_code.hpp"

namespace hstar::bindings {

namespace {

using Weights = Array<int8_t, 2>;
using Longs = std::vector<uint64_t>;

// (weights, bias, multiplier, shift, skip)
using PythonLayer = std::tuple<Weights, std::vector<int32_t>, std::vector<int32_t>, int, int32_t>;

void make_network(IntegerNetwork* self, Ints domain_sizes, const std::vector<PythonLayer>& layers,
                  const std::string& kernel) {
    std::vector<IntegerLayerSpec> specs;
    for (const auto& [weights, bias, multiplier, shift, skip] : layers)
        specs.push_back({copied(weights), bias, multiplier, shift, skip});
    new (self) IntegerNetwork(std::move(domain_sizes), std::move(specs), kernel);
}

Numpy<int, 2> forward(const IntegerNetwork& self, States given) {
    const StateRows digits(given);
    const auto& sizes = self.domain_sizes();
    if (digits.columns != sizes.size()) refuse("the network reads another number of digits");
    for (size_t i = 0; i < digits.values.size(); ++i)
        if (digits.values[i] < 0 || digits.values[i] >= sizes[i % digits.columns])
            refuse("a digit is out of its range");
    size_t classes = static_cast<size_t>(self.num_classes());
    std::vector<int32_t> logits(digits.count * classes);
    without_gil([&] {
        IntegerNetwork::Workspace work;
        self.forward(digits.values.data(), static_cast<int>(digits.count), logits.data(), work);
    });
    return to_numpy(std::move(logits), {digits.count, classes});
}

Numpy<int> decode(States given, uint32_t ratio, const Longs& thresholds) {
    LevelDecoder decoder(ratio, thresholds);
    const StateRows logits(given);
    if (logits.columns != static_cast<size_t>(decoder.num_classes()))
        refuse("there is a threshold for each class but the first");
    Ints classes(logits.count);
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = decoder.decode(logits.row(i));
    return to_numpy(std::move(classes));
}

nb::bytes to_bytes(const std::vector<uint8_t>& bytes) {
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::pair<int, nb::bytes> encode_set(const Longs& members) {
    RiceSet::Code code = RiceSet::encode(members);
    return {code.parameter, to_bytes(code.bytes)};
}

nb::bytes encode_layer(Weights weights, int bits) {
    const std::vector<int8_t> copy = copied(weights);
    return to_bytes(
        without_gil([&] { return encode_weights(copy.data(), weights.shape(0), weights.shape(1), bits); }));
}

Numpy<int8_t, 2> decode_layer(Bytes code, size_t rows, size_t columns, int bits) {
    const std::vector<uint8_t> copy = copied(code);
    auto weights = without_gil([&] { return decode_weights(copy.data(), copy.size(), rows, columns, bits); });
    return to_numpy(std::move(weights), {rows, columns});
}

RiceSet to_set(uint64_t universe, uint64_t count, int parameter, Bytes bytes) {
    return {universe, count, parameter, copied(bytes)};
}

// `exceptions` are (count, parameter, bytes); `thresholds` None for argmax.
void make_learned(BoundLearnedPdb* self, const BoundIndex& index, const IntegerNetwork& network,
                  uint32_t ratio, std::optional<Longs> thresholds, std::vector<uint32_t> values,
                  const std::vector<std::tuple<uint64_t, int, Bytes>>& exceptions, const BoundPdb* base) {
    if (values.empty()) refuse("there are no classes");
    std::vector<RiceSet> sets;
    for (const auto& [count, parameter, bytes] : exceptions)
        sets.push_back(to_set(index.index->size(), count, parameter, bytes));
    LevelDecoder decoder(ratio, thresholds.value_or(Longs(values.size() - 1)), !thresholds);
    std::shared_ptr<const Pdb> rest = pdb_of(base);
    const auto& sizes = network.domain_sizes();
    const auto& variables = index.index->variables();
    const Ints& domain_sizes = index.space.domain_sizes();
    for (size_t i = 0; i < variables.size() && i < sizes.size(); ++i)
        if (sizes[i] < domain_sizes[variables[i]]) refuse("the network knows too few values of a variable");
    new (self) BoundLearnedPdb{index, std::make_shared<LearnedPdb>(index.index, network, std::move(decoder),
                                                                   std::move(values), std::move(sets), rest)};
}

Dict levels(const BoundLearnedPdb& self, const BoundPdb& exact, const SweepOrder& order, const Longs& grid) {
    LevelCounts counts = guarded([&] { return count_levels(*self.learned, *exact.pdb, order, grid); });
    const size_t shape[] = {self.learned->values().size() - 1, grid.size() + 1};
    Dict d;
    d["below"] = to_numpy(std::move(counts.below), shape);
    d["just"] = to_numpy(std::move(counts.just), shape);
    d["within"] = to_numpy(std::move(counts.within), shape);
    d["states"] = counts.states;
    d["unreached"] = counts.unreached;
    return d;
}

std::vector<Numpy<uint64_t>> overestimates(const BoundLearnedPdb& self, const BoundPdb& exact,
                                           const SweepOrder& order) {
    auto lists = guarded([&] { return find_overestimates(*self.learned, *exact.pdb, order); });
    std::vector<Numpy<uint64_t>> result;
    for (auto& list : lists) result.push_back(to_numpy(std::move(list)));
    return result;
}

Dict values(const BoundLearnedPdb& self, const BoundPdb& exact, const SweepOrder& order) {
    SweepCounts counts = guarded([&] { return count_values(*self.learned, *exact.pdb, order); });
    size_t classes = self.learned->values().size();
    Dict d;
    d["classes"] = to_numpy(std::move(counts.classes));
    d["overestimates"] = to_numpy(std::move(counts.overestimates), {classes, classes});
    d["states"] = counts.states;
    d["unreached"] = counts.unreached;
    return d;
}

}  // namespace

void bind_learned_pdb(nb::module_& m) {
    nb::class_<IntegerNetwork>(m, "IntegerNetwork")
        .def("__init__", &make_network, "domain_sizes"_a, "layers"_a, "kernel"_a = "")
        .def("forward", &forward);
    nb::class_<RiceSet>(m, "RiceSet")
        .def("__init__", [](RiceSet* self, uint64_t universe, uint64_t count, int parameter,
                            Bytes bytes) { new (self) RiceSet(to_set(universe, count, parameter, bytes)); })
        .def("__len__", &RiceSet::size)
        .def("__contains__", &RiceSet::contains)
        .def("members", &RiceSet::members);
    nb::class_<SweepOrder>(m, "SweepOrder")
        .def("__init__",
             limited(+[](const Limits& limits, SweepOrder* self, uint64_t first, uint64_t end, int threads,
                         int batch) { new (self) SweepOrder{first, end, threads, batch, limits}; }));
    nb::class_<BoundLearnedPdb>(m, "LearnedPdb")
        .def("__init__", &make_learned, KeepFirst(), "index"_a, "network"_a, "ratio"_a, "thresholds"_a.none(),
             "values"_a, "exceptions"_a, "base"_a.none())
        .def("lookup",
             [](const BoundLearnedPdb& b, States states) { return look_up(b.index, *b.learned, states); })
        .def("count_levels", &levels)
        .def("find_overestimates", &overestimates)
        .def("count_values", &values);
    m.def("integer_kernel_names", [] { return names_of(integer_kernels()); });
    m.def("decode_levels", &decode);
    m.def("encode_set", &encode_set);
    m.def("encode_weights", &encode_layer);
    m.def("decode_weights", &decode_layer);
}

}  // namespace hstar::bindings
