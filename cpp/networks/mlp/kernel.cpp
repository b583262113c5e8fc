// A tile of states and vectors of outputs keeps its sums in registers: states share each load of weights, and
// outputs share each input. The weights are read once per tile of states.
#include "networks/mlp/kernel.hpp"

#include <cstring>

#include "lanes/float_lanes.hpp"
#include "lanes/pieces.hpp"

namespace hstar {

namespace {

#if defined(__AVX512F__)
constexpr int kSums = 16;  // registers for sums
#else
constexpr int kSums = 4;
#endif

inline Floats activate(Floats x, bool is_relu) {
    return is_relu ? max(fill(0.0f), x) : x;  // in this order NaN stays NaN
}

template <int kCount, int kBlocks>
inline void tile(const MlpDense& layer, const float* x, const float* skipped, int first, float* y) {
    const int64_t block_size = static_cast<int64_t>(layer.inputs) * kFloats;
    const float* weights = layer.weights + first / kFloats * block_size;
    Floats sums[kCount][kBlocks];
    HSTAR_EACH (b, kBlocks) {
        HSTAR_EACH (s, kCount) sums[s][b] = load(layer.bias + first + b * kFloats);
    }
    for (int i = 0; i < layer.inputs; ++i, weights += kFloats) {
        Floats input[kCount];
        HSTAR_EACH (s, kCount) input[s] = fill(x[s * static_cast<int64_t>(layer.input_pitch) + i]);
        HSTAR_EACH (b, kBlocks) {
            const Floats weight = load(weights + b * block_size);
            HSTAR_EACH (s, kCount) sums[s][b] = fma(input[s], weight, sums[s][b]);
        }
    }
    HSTAR_EACH (s, kCount) {
        HSTAR_EACH (b, kBlocks) {
            const int64_t place = s * static_cast<int64_t>(layer.output_pitch) + first + b * kFloats;
            if (skipped) sums[s][b] = add(sums[s][b], load(skipped + place));
            store(y + place, activate(sums[s][b], layer.is_relu));
        }
    }
}

void dense(const MlpDense& layer, const float* x, const float* skipped, int count, float* y) {
    in_tiles<4>(count, [&]<int kCount>(int state) {
        constexpr int kBlocks = kSums / kCount > 8 ? 8 : kSums / kCount;
        const int64_t in = state * static_cast<int64_t>(layer.input_pitch);
        const int64_t out = state * static_cast<int64_t>(layer.output_pitch);
        const float* old = skipped ? skipped + out : nullptr;
        in_pieces<kBlocks, 1>(layer.output_pitch / kFloats, [&]<int kWide>(int block) {
            tile<kCount, kWide>(layer, x + in, old, block * kFloats, y + out);
        });
    });
}

void embed(const MlpEmbedding& layer, const int* row, int count, float* y) {
    for (int s = 0; s < count; ++s, row += layer.num_digits, y += layer.pitch)
        for (int lane = 0; lane < layer.pitch; lane += kFloats) {
            Floats sum = load(layer.bias + lane);
            for (int d = 0; d < layer.num_digits; ++d)
                sum = add(sum, load(layer.rows + static_cast<int64_t>(row[d]) * layer.pitch + lane));
            store(y + lane, activate(sum, layer.is_relu));
        }
}

void change_sums(const MlpSums& layer, const int* from, const int* changes, int count, int* to) {
    const int pitch = layer.pitch;
    if (from != to) std::memcpy(to, from, static_cast<size_t>(pitch) * sizeof(int));
    for (int c = 0; c < count; ++c) {
        const bool is_added = changes[c] >= 0;
        const int* __restrict row =
            layer.rows + static_cast<int64_t>(is_added ? changes[c] : ~changes[c]) * pitch;
        int* __restrict sums = to;
        if (is_added)
            for (int lane = 0; lane < pitch; ++lane) sums[lane] += row[lane];
        else
            for (int lane = 0; lane < pitch; ++lane) sums[lane] -= row[lane];
    }
}

void read_sums(const MlpSums& layer, const int* sums, float* y) {
    for (int lane = 0; lane < layer.pitch; ++lane) {
        const float x = static_cast<float>(sums[lane]) * layer.unit;
        y[lane] = layer.is_relu && x < 0 ? 0.0f : x;
    }
}

}  // namespace

MlpKernel HSTAR_MLP() {
    return {HSTAR_MLP_NAME, change_sums, read_sums, embed, dense};
}

}  // namespace hstar
