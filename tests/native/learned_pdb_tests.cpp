// Networks instead of pattern databases: kernels against the definition, coded sets, sweeps and look-ups.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "learned/learned_sweep.hpp"
#include "networks/integer/weight_code.hpp"
#include "pdb/build.hpp"
#include "spaces/puzzle.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

int between(std::mt19937& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
}

IntegerLayerSpec random_layer(std::mt19937& random, int inputs, int outputs, bool has_skip) {
    IntegerLayerSpec layer;
    for (int i = 0; i < inputs * outputs; ++i)
        layer.weights.push_back(static_cast<int8_t>(between(random, -127, 127)));
    for (int o = 0; o < outputs; ++o) {
        layer.bias.push_back(between(random, -2000, 2000));
        layer.multiplier.push_back(between(random, 0, 65535));
    }
    layer.shift = between(random, 14, 24);
    layer.skip = has_skip ? 1 << layer.shift : 0;
    return layer;
}

struct RandomNetwork {
    std::vector<int> sizes;
    std::vector<IntegerLayerSpec> layers;

    RandomNetwork(std::mt19937& random, std::vector<int> domain_sizes, int classes)
        : sizes(std::move(domain_sizes)) {
        int rows = 0, hidden = between(random, 1, 40), width = between(random, 1, 40);
        for (int size : sizes) rows += size;
        layers = {random_layer(random, rows, hidden, false), random_layer(random, hidden, width, false),
                  random_layer(random, width, width, false), random_layer(random, width, width, true),
                  random_layer(random, width, classes, false)};
        layers.back().shift = 24;  // logits whose differences matter
    }

    // The definition, number by number.
    std::vector<int32_t> forward(const int* digits) const {
        std::vector<std::vector<int64_t>> outputs;
        for (size_t l = 0; l < layers.size(); ++l) {
            const IntegerLayerSpec& layer = layers[l];
            size_t width = layer.bias.size();
            outputs.emplace_back();
            for (size_t o = 0; o < width; ++o) {
                int64_t sum = layer.bias[o];
                if (l == 0) {
                    size_t row = 0;
                    for (size_t d = 0; d < sizes.size(); ++d) {
                        sum += layer.weights[(row + static_cast<size_t>(digits[d])) * width + o];
                        row += static_cast<size_t>(sizes[d]);
                    }
                } else {
                    const auto& x = outputs[l - 1];
                    for (size_t i = 0; i < x.size(); ++i) sum += x[i] * layer.weights[o * x.size() + i];
                }
                int64_t total = sum * layer.multiplier[o] + (int64_t{1} << (layer.shift - 1));
                if (layer.skip) total += outputs[l - 2][o] * layer.skip;
                total >>= layer.shift;
                outputs[l].push_back(l + 1 == layers.size() ? total : std::clamp<int64_t>(total, 0, 127));
            }
        }
        return {outputs.back().begin(), outputs.back().end()};
    }
};

void test_network(std::mt19937& random, int seed) {
    std::vector<int> sizes;
    for (int d = between(random, 1, 6); d > 0; --d) sizes.push_back(between(random, 1, 9));
    RandomNetwork plain(random, sizes, between(random, 1, 20));
    int count = between(random, 1, 70);
    std::vector<int> digits;
    std::vector<int32_t> expected;
    for (int i = 0; i < count; ++i) {
        for (int size : sizes) digits.push_back(between(random, 0, size - 1));
        auto logits = plain.forward(digits.data() + digits.size() - sizes.size());
        expected.insert(expected.end(), logits.begin(), logits.end());
    }
    for (const IntegerKernel& kernel : integer_kernels()) {
        IntegerNetwork network(sizes, plain.layers, kernel.name);
        IntegerNetwork::Workspace work;
        std::vector<int32_t> logits(expected.size());
        network.forward(digits.data(), count, logits.data(), work);
        check(logits == expected, "every kernel computes the network", seed);
    }
}

void test_sets(std::mt19937& random, int seed) {
    uint64_t universe = static_cast<uint64_t>(between(random, 1, 5000));
    std::vector<uint64_t> members;
    int rarity = between(random, 1, 60);
    for (uint64_t i = 0; i < universe; ++i)
        if (between(random, 1, rarity) == 1) members.push_back(i);
    RiceSet::Code code = RiceSet::encode(members);
    RiceSet set(universe, members.size(), code.parameter, code.bytes);
    check(set.members() == members, "a coded set holds its members", seed);
    bool same = true;
    for (uint64_t i = 0; i < universe; ++i)
        same &= set.contains(i) == std::binary_search(members.begin(), members.end(), i);
    check(same, "a coded set finds its members", seed);
    for (int trial = 0; trial < 20 && !code.bytes.empty(); ++trial) {
        auto bytes = code.bytes;
        size_t place = static_cast<size_t>(between(random, 0, static_cast<int>(bytes.size()) - 1));
        bytes[place] = static_cast<uint8_t>(bytes[place] ^ 1 << between(random, 0, 7));
        if (between(random, 0, 3) == 0) bytes.resize(place);
        int parameter = between(random, 0, 3) ? code.parameter : between(random, -1, 60);
        try {
            RiceSet damaged(universe, members.size(), parameter, bytes);
            auto found = damaged.members();
            for (uint64_t member : found) check(damaged.contains(member), "what is read is found", seed);
            check(found.empty() || found.back() < universe, "no member is too large", seed);
        } catch (const std::invalid_argument&) {
        }
    }
}

void test_weight_code(std::mt19937& random, int seed) {
    size_t rows = static_cast<size_t>(between(random, 0, 30)),
           columns = static_cast<size_t>(between(random, 0, 30));
    int bits = between(random, 2, 8), largest = between(random, 0, (1 << (bits - 1)) - 1);
    std::vector<int8_t> weights(rows * columns);
    for (int8_t& weight : weights) weight = static_cast<int8_t>(between(random, -largest, largest));
    auto code = encode_weights(weights.data(), rows, columns, bits);
    check(decode_weights(code.data(), code.size(), rows, columns, bits) == weights,
          "coded weights are read back", seed);
    for (int trial = 0; trial < 20; ++trial) {
        auto damaged = code;
        size_t place = static_cast<size_t>(between(random, 0, static_cast<int>(code.size()) - 1));
        damaged[place] = static_cast<uint8_t>(damaged[place] ^ 1 << between(random, 0, 7));
        if (between(random, 0, 3) == 0) damaged.resize(place);
        try {
            auto found = decode_weights(damaged.data(), damaged.size(), rows, columns, bits);
            check(
                std::all_of(found.begin(), found.end(), [&](int w) { return std::abs(w) < 1 << (bits - 1); }),
                "no weight is too large", seed);
        } catch (const std::invalid_argument&) {
        }
    }
}

// Thresholds at random, exceptions from a sweep: then nothing is overestimated, in look-ups as in sweeps.
void test_sweep(std::mt19937& random, int seed) {
    auto puzzle = make_puzzle(seed % 2 ? "pancake-5" : "tiles-2x3");
    const PieceGroup& group = puzzle->groups[0];
    std::vector<int> pieces;
    for (int i = 0; i < 4; ++i) pieces.push_back(group.first + i);
    auto index = std::make_shared<PieceIndex>(group, pieces, IndexOrder::MyrvoldRuskey);
    auto* tiles = dynamic_cast<const SlidingTiles*>(puzzle.get());
    auto table = std::make_shared<Table>(
        tiles ? build_tiles(*tiles, *index, false, Limits())
              : build_pieces(dynamic_cast<const PiecePuzzle&>(*puzzle), *index, Limits()));
    Pdb exact(index, {}, table->view(), table, nullptr);
    std::vector<uint32_t> values;
    auto counts = histogram(exact.table(), {1}, Limits());
    for (size_t v = 0; v + 1 < counts.size(); ++v)
        if (counts[v]) values.push_back(static_cast<uint32_t>(v));
    std::vector<int> sizes(pieces.size(), group.locations * group.orientations);
    RandomNetwork plain(random, sizes, static_cast<int>(values.size()));
    std::vector<uint64_t> thresholds;
    for (size_t k = 1; k < values.size(); ++k) thresholds.push_back(static_cast<uint64_t>(random()) + 1);
    const LevelDecoder decoder(4000000000u, thresholds, seed % 5 == 0);
    auto learn = [&](std::vector<RiceSet> sets) {
        return LearnedPdb(index, IntegerNetwork(sizes, plain.layers, ""), decoder, values, std::move(sets),
                          nullptr);
    };
    LearnedPdb bare = learn({});
    SweepOrder whole{0, index->size(), 1, 1000}, split{0, index->size(), 2, 7};
    auto lists = find_overestimates(bare, exact, whole);
    check(lists == find_overestimates(bare, exact, split), "threads find the same", seed);
    std::vector<RiceSet> sets;
    for (const auto& list : lists) {
        RiceSet::Code code = RiceSet::encode(list);
        sets.emplace_back(index->size(), list.size(), code.parameter, code.bytes);
    }
    LearnedPdb strict = learn(sets);
    SweepCounts result = count_values(strict, exact, split);
    check(std::all_of(result.overestimates.begin(), result.overestimates.end(),
                      [](uint64_t count) { return count == 0; }),
          "exceptions leave no overestimate", seed);
    check(result.states + result.unreached == index->size(), "every state is swept", seed);
    std::vector<uint64_t> grid{0, 1u << 20, LevelDecoder::kOne};
    LevelCounts levels = count_levels(bare, exact, split, grid);
    uint64_t total = 0;
    for (const auto* part : {&levels.below, &levels.just, &levels.within})
        for (uint64_t count : *part) total += count;
    check(total == levels.states * (values.size() - 1), "every level of every state is counted", seed);
    std::vector<int> state = puzzle->goal;
    for (uint64_t i = 0; i < index->size(); ++i) {
        index->unrank(i, state.data());
        uint32_t value;
        strict.lookup({state.data(), 1, static_cast<int>(state.size())}, &value);
        check(value <= exact.at(i), "look-ups do not overestimate", seed);
    }
}

}  // namespace

void test_learned_pdbs(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    test_network(random, seed);
    test_sets(random, seed);
    test_weight_code(random, seed);
    if (seed % 10 == 0) test_sweep(random, seed);
}
