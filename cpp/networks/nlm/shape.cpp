#include "networks/nlm/shape.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/require.hpp"

namespace hstar {

namespace {

constexpr size_t kMostParameters = size_t{1} << 28;

// Where the next matrix begins: matrices are aligned, too.
size_t aligned(size_t floats) {
    return (floats + 15) / 16 * 16;
}

}  // namespace

void NlmShape::finish() {
    require(1 <= breadth && breadth <= kMaxBreadth, "the breadth of an NLM must be 1, 2 or 3");
    require(1 <= depth && depth <= 64, "the depth of an NLM must be between 1 and 64");
    require(1 <= width && width <= 1024, "the width of an NLM must be between 1 and 1024");
    require(1 <= outputs && outputs <= 1024, "the outputs of an NLM must be between 1 and 1024");
    for (int c : channels) require(0 <= c && c <= 4096, "input channels must be between 0 and 4096");
    linears.clear();
    first_linear.clear();
    num_parameters = packed_floats = backward_floats = 0;
    for (int layer = 0; layer < depth; ++layer) {
        first_linear.push_back(static_cast<int>(linears.size()));
        for (int arity = 0; arity <= top_arity(layer); ++arity) {
            Linear linear{};
            linear.layer = layer;
            linear.arity = arity;
            linear.out = layer == depth - 1 ? outputs : width;
            // New channels first: the most recent layer, then the older ones it keeps.
            auto add = [&](Source source, int from) {
                for (int origin = layer; origin >= (dense ? 0 : layer); --origin) {
                    int c = channels_of(origin, from);
                    if (c == 0) continue;
                    linear.blocks.push_back({source, from, origin, c, linear.columns, 0});
                    linear.columns += c;
                }
            };
            if (arity > 0) add(Source::Expand, arity - 1);
            add(Source::Own, arity);
            if (arity < breadth) {
                add(Source::Min, arity + 1);
                add(Source::Max, arity + 1);
            }
            if (sums && layer == depth - 1) add(Source::Sum, 1);
            linear.parameter = num_parameters;
            linear.packed = packed_floats;
            size_t columns = static_cast<size_t>(linear.permutations()) * linear.columns;
            num_parameters += (columns + 1) * linear.out;
            packed_floats = aligned(packed_floats + (columns + 1) * linear.pitch());
            for (Block& block : linear.blocks) {
                block.backwards = backward_floats;
                backward_floats = aligned(backward_floats + static_cast<size_t>(linear.permutations()) *
                                                                linear.out * pitch_of(block.channels));
            }
            require(num_parameters <= kMostParameters, "the NLM has more than 2^28 parameters");
            linears.push_back(std::move(linear));
        }
    }
}

void NlmWeights::assign(const NlmShape& shape, const float* theta, bool with_backward) {
    packed.assign(shape.packed_floats, 0.0f);
    backward.assign(with_backward ? shape.backward_floats : 0, 0.0f);
    is_finite = true;
    for (size_t i = 0; i < shape.num_parameters; ++i) is_finite &= std::isfinite(theta[i]);
    for (const NlmShape::Linear& linear : shape.linears) {
        const size_t columns = static_cast<size_t>(linear.permutations()) * linear.columns;
        const float* weight = theta + linear.parameter;
        for (int o = 0; o < linear.out; ++o) {
            for (size_t c = 0; c < columns; ++c)
                packed[linear.packed + c * linear.pitch() + o] = weight[o * columns + c];
            packed[linear.bias_row() + o] = weight[linear.out * columns + o];
        }
        if (!with_backward) continue;
        for (const NlmShape::Block& block : linear.blocks)
            for (int p = 0; p < linear.permutations(); ++p) {
                float* rows = backward.data() + linear.backward_block(p, block);
                for (int o = 0; o < linear.out; ++o) {
                    const float* from = weight + o * columns + p * linear.columns + block.column;
                    std::copy_n(from, block.channels, rows + o * pitch_of(block.channels));
                }
            }
    }
}

void add_packed(const NlmShape& shape, const float* packed, float* theta) {
    for (const NlmShape::Linear& linear : shape.linears) {
        const size_t columns = static_cast<size_t>(linear.permutations()) * linear.columns;
        float* weight = theta + linear.parameter;
        for (int o = 0; o < linear.out; ++o) {
            for (size_t c = 0; c < columns; ++c)
                weight[o * columns + c] += packed[linear.packed + c * linear.pitch() + o];
            weight[linear.out * columns + o] += packed[linear.bias_row() + o];
        }
    }
}

}  // namespace hstar
