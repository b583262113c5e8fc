// What one thread needs to send states through a Neural Logic Machine, one after the other.
#pragma once
#include <span>
#include <vector>

#include "networks/nlm/network.hpp"
#include "networks/nlm/twins.hpp"

namespace hstar {

struct NlmWorker {
    explicit NlmWorker(const NlmShape& shape)
        : twins(shape), builder(shape), network(shape, nlm_kernels().back()) {}

    // Of a state whose objects have these signatures.
    void forward(const NlmWeights& weights, std::span<const Signature> signatures,
                 std::span<const NlmEntry> given, std::span<const float> numbers, float* output) {
        arena.clear();
        const int n = twins.choose(signatures);
        if (static_cast<size_t>(n) < signatures.size()) {
            entries.clear();
            values.clear();
            for (size_t e = 0; e < given.size(); ++e) {
                NlmEntry entry = given[e];
                if (!twins.renumber(entry)) continue;
                entries.push_back(entry);
                values.push_back(numbers[e]);
            }
            given = entries;
            numbers = values;
        }
        NlmInput input = builder.build(n, given, numbers, arena);
        input.weights = twins.weights();
        network.forward(weights, input, arena, output);
    }

    Arena arena;
    TwinReduction twins;
    NlmInputBuilder builder;
    NlmNetwork network;
    std::vector<NlmEntry> entries;  // of those objects that stay
    std::vector<float> values;
};

}  // namespace hstar
