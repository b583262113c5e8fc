// What a Neural Logic Machine (Dong et al., ICLR 2019) looks like: how many layers, which blocks of channels
// each of its linear maps reads, and where its parameters lie.
//
// X[r] is a tensor over r-tuples of objects. Layer l computes, for every arity r up to min(breadth,
// depth - 1 - l),
//     in[r] = [ X[r-1] expanded | X[r] | min, and max, over the last index of X[r+1] ]
//     X'[r] = activation(linear(concatenation of in[r] over all permutations of the r indices))
// and the last layer's X[0], without activation, is the output. With `dense` every X' keeps the old X behind
// the new channels. With `exclude_self` tuples with equal members count as 0 in maxima and 1 in minima. With
// `sums` the last layer also reads the sums of X[1] over all objects, so that outputs can grow with their
// number.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "networks/nlm/kernel.hpp"
#include "runtime/cache_aligned.hpp"

namespace hstar {

constexpr int kMaxBreadth = 3;

// A number in the sparse input tensors: X[arity] at tuple * channels + channel.
struct NlmEntry {
    int arity, index;
};

constexpr int factorial(int r) {
    return r < 2 ? 1 : r * factorial(r - 1);
}

struct NlmShape {
    int breadth = 3;
    int depth = 5;
    int width = 16;
    int outputs = 2;
    bool exclude_self = false;
    bool dense = false;
    Activation activation = Activation::Sigmoid;
    bool sums = false;
    std::array<int, kMaxBreadth + 1> channels{};  // of the input, per arity

    enum class Source { Expand, Own, Min, Max, Sum };
    // Channels that a linear map reads: those of tensor `arity` made by layer origin - 1, or the input (0).
    struct Block {
        Source source;
        int arity, origin, channels;
        int column;  // within one permutation
        // Where its transposed weights lie, per permutation: `out` rows of pitch_of(channels).
        size_t backwards;
    };
    struct Linear {
        int layer, arity, out;
        int columns;       // per permutation
        size_t parameter;  // first of [out, arity! * columns] weights and [out] biases
        size_t packed;     // first of (arity! * columns + 1) rows of pitch_of(out); the last is the bias
        std::vector<Block> blocks;

        int permutations() const { return factorial(arity); }
        int pitch() const { return pitch_of(out); }
        size_t weight_row(int permutation, int column) const {
            return packed + (static_cast<size_t>(permutation) * columns + column) * pitch();
        }
        size_t bias_row() const { return packed + static_cast<size_t>(permutations()) * columns * pitch(); }
        size_t backward_block(int permutation, const Block& block) const {
            return block.backwards + static_cast<size_t>(permutation) * out * pitch_of(block.channels);
        }
    };
    std::vector<Linear> linears;    // by layer, then arity
    std::vector<int> first_linear;  // per layer
    size_t num_parameters = 0;
    size_t packed_floats = 0;
    size_t backward_floats = 0;

    // Fills the linear maps. Throws std::invalid_argument for sizes that make no sense.
    void finish();

    int top_arity(int layer) const { return std::min(breadth, depth - 1 - layer); }
    const Linear& linear(int layer, int arity) const { return linears[first_linear[layer] + arity]; }
    // Channels of the tensor of an arity made by layer origin - 1, or of the input (0).
    int channels_of(int origin, int arity) const { return origin == 0 ? channels[arity] : width; }
};

// The parameters in the order that the kernels read.
struct NlmWeights {
    NlmWeights() = default;
    NlmWeights(const NlmShape& shape, const float* theta, bool with_backward) {
        assign(shape, theta, with_backward);
    }
    void assign(const NlmShape& shape, const float* theta, bool with_backward);
    AlignedVector<float> packed;    // see Linear::packed
    AlignedVector<float> backward;  // see Block::backwards
    bool is_finite = true;
};
// Adds a gradient in packed order to one in the order of the parameters.
void add_packed(const NlmShape& shape, const float* packed, float* theta);

}  // namespace hstar
