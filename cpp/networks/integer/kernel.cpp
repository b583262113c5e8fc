// Output channels are the lanes of the vectors: four activations are broadcast at a time and multiplied with
// the four weights of each of 16 outputs. A tile of four states shares every load of weights.
#include "networks/integer/lanes.hpp"

namespace hstar {

namespace {

// The sums of kBlocks blocks of outputs for kCount states, handed to use(state, output, sums).
template <int kCount, int kBlocks, class Use>
inline void tile(const IntegerDense& layer, const uint8_t* x, int output, Use use) {
    const int64_t stride = activation_stride(layer.inputs), block_bytes = stride * kIntegerBlock;
    const int8_t* weights = layer.weights + output / kIntegerBlock * block_bytes;
    Sums sums[kCount][kBlocks];
    for (int b = 0; b < kBlocks; ++b)
        for (int s = 0; s < kCount; ++s) sums[s][b] = Sums::load(layer.bias + output + b * kIntegerBlock);
    for (int i = 0; i < layer.inputs; i += 4)
        for (int b = 0; b < kBlocks; ++b)
            for (int s = 0; s < kCount; ++s)
                sums[s][b].add_products(x + s * stride + i, weights + b * block_bytes + i * kIntegerBlock);
    for (int s = 0; s < kCount; ++s)
        for (int b = 0; b < kBlocks; ++b) use(s, output + b * kIntegerBlock, sums[s][b]);
}

// Blocks of outputs are the outer loop, so that their weights stay in the nearest cache for all states.
// Search has few states at a time, so the remainder of a batch matters.
template <class Use>
void for_all_outputs(const IntegerDense& layer, const uint8_t* x, int count, Use use) {
#if defined(__AVX512BW__)
    constexpr int kMostBlocks = 4;  // 16 registers of sums
#else
    constexpr int kMostBlocks = 1;
#endif
    in_pieces<kMostBlocks, 1>(layer.outputs / kIntegerBlock, [&]<int kBlocks>(int block) {
        in_tiles<4>(count, [&]<int kCount>(int state) {
            tile<kCount, kBlocks>(layer, x + state * activation_stride(layer.inputs), block * kIntegerBlock,
                                  [&](int s, int first, const Sums& sums) { use(state + s, first, sums); });
        });
    });
}

void dense(const IntegerDense& layer, const uint8_t* x, const uint8_t* skipped, int count, uint8_t* y) {
    const int64_t stride = activation_stride(layer.outputs);
    for_all_outputs(layer, x, count, [&](int state, int first, const Sums& sums) {
        int64_t place = state * stride + first;
        Rescaler(layer.rescale, first)(sums, skipped ? skipped + place : nullptr, y + place);
    });
}

void logits(const IntegerDense& layer, const uint8_t* x, int count, int32_t* logits) {
    for_all_outputs(layer, x, count, [&](int state, int first, const Sums& sums) {
        int32_t stored[kIntegerBlock];
        sums.store(stored);
        rescale_logits(layer.rescale, first, stored,
                       logits + static_cast<int64_t>(state) * layer.outputs + first);
    });
}

}  // namespace

IntegerKernel HSTAR_INTEGER() {
    return {HSTAR_INTEGER_NAME, embed, dense, logits};
}

}  // namespace hstar
