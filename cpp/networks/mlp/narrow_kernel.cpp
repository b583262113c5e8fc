// Output channels are the lanes of the vectors: two activations are broadcast at a time and multiplied with
// the two weights of each of 16 outputs. A tile of states shares every load of weights.
#include <bit>
#include <cstring>

#include "lanes/pieces.hpp"
#include "lanes/sums.hpp"
#include "networks/mlp/kernel.hpp"

namespace hstar {

namespace {

#if defined(__AVX512BW__)
constexpr int kBlocks = 4;
#else
constexpr int kBlocks = 1;
#endif

template <int kCount, int kWide>
inline void tile(const NarrowDense& layer, const int16_t* x, const float* units, const float* skipped,
                 int output, float* y) {
    const int pairs = (layer.inputs + 1) / 2;
    const int64_t block = static_cast<int64_t>(pairs) * 2 * kFloats;
    const int16_t* weights = layer.weights + output / kFloats * block;
    Sums sums[kCount][kWide];
    for (int p = 0; p < pairs; ++p, weights += 2 * kFloats) {
        HSTAR_EACH (s, kCount) {
            const int16_t* pair = x + static_cast<int64_t>(s) * layer.input_pitch + 2 * p;
            HSTAR_EACH (b, kWide) sums[s][b].add_products(pair, weights + b * block);
        }
    }
    HSTAR_EACH (s, kCount) {
        HSTAR_EACH (b, kWide) {
            const int first = output + b * kFloats;
            const int64_t place = static_cast<int64_t>(s) * layer.output_pitch + first;
            const Floats unit = multiply(load(layer.units + first), fill(units[s]));
            Floats sum = fma(sums[s][b].floats(), unit, load(layer.bias + first));
            if (skipped) sum = add(sum, load(skipped + place));
            store(y + place, layer.is_relu ? max(fill(0.0f), sum) : sum);  // in this order NaN stays NaN
        }
    }
}

// Blocks of outputs are the outer loop, so that their weights stay in the nearest cache for all states.
void dense(const NarrowDense& layer, const int16_t* x, const float* units, const float* skipped, int count,
           float* y) {
    in_pieces<kBlocks, 1>(layer.output_pitch / kFloats, [&]<int kWide>(int block) {
        in_tiles<4>(count, [&]<int kCount>(int state) {
            const int64_t place = static_cast<int64_t>(state) * layer.output_pitch;
            tile<kCount, kWide>(layer, x + static_cast<int64_t>(state) * layer.input_pitch, units + state,
                                skipped ? skipped + place : nullptr, block * kFloats, y + place);
        });
    });
}

float power_of_two(int exponent) {
    return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

void round_rows(const float* x, int pitch, int count, int16_t* rounded, float* units) {
    for (int s = 0; s < count; ++s, x += pitch, rounded += pitch) {
        int32_t largest = 0;  // as bits: numbers that are not negative are ordered like their bits
        for (int i = 0; i < pitch; ++i) {
            const auto bits = std::bit_cast<int32_t>(x[i]);
            largest = bits > largest ? bits : largest;
        }
        constexpr int kLeast = -80;            // numbers below 2^-80 are as good as 0
        int exponent = (largest >> 23) - 126;  // the largest number is below 2^exponent
        const bool is_finite = exponent <= 128;
        exponent = exponent < kLeast ? kLeast : exponent;
        if (!is_finite) {  // nor is what comes of it
            std::memset(rounded, 0, static_cast<size_t>(pitch) * sizeof(int16_t));
            units[s] = __builtin_nanf("");
            continue;
        }
        const float factor = power_of_two(14 - exponent);
        for (int i = 0; i < pitch; ++i)
            rounded[i] = static_cast<int16_t>(static_cast<int32_t>(x[i] * factor + 0.5f));
        units[s] = power_of_two(exponent - 14);
    }
}

}  // namespace

NarrowKernel HSTAR_NARROW() {
    return {HSTAR_INTEGER_NAME, round_rows, dense};
}

}  // namespace hstar
