// Output channels are the lanes of the vectors: two activations are broadcast at a time and multiplied with
// the two weights of each of 16 outputs. A tile of states shares every load of weights.
#include <cstring>

#include "lanes/float_lanes.hpp"
#include "lanes/pieces.hpp"
#include "networks/mlp/kernel.hpp"

namespace hstar {

namespace {

#if defined(__AVX512BW__)
constexpr int kBlocks = 4;
struct Sums {
    __m512i v = _mm512_setzero_si512();
    void add_products(int32_t pair, const int16_t* weights) {
        const __m512i x = _mm512_set1_epi32(pair), w = _mm512_load_si512(weights);
#if defined(__AVX512VNNI__)
        v = _mm512_dpwssd_epi32(v, x, w);
#else
        v = _mm512_add_epi32(v, _mm512_madd_epi16(x, w));
#endif
    }
    Floats floats() const { return {{_mm512_cvtepi32_ps(v)}}; }
};
#elif defined(__AVX2__)
constexpr int kBlocks = 1;
struct Sums {
    __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
    void add_products(int32_t pair, const int16_t* weights) {
        const __m256i x = _mm256_set1_epi32(pair);
        const __m256i* w = reinterpret_cast<const __m256i*>(weights);
        low = _mm256_add_epi32(low, _mm256_madd_epi16(x, _mm256_load_si256(w)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(x, _mm256_load_si256(w + 1)));
    }
    Floats floats() const { return {{_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)}}; }
};
#else
constexpr int kBlocks = 1;
struct Sums {
    int32_t v[kFloats] = {};
    void add_products(int32_t pair, const int16_t* weights) {
        int16_t x[2];
        std::memcpy(x, &pair, 4);
        for (int i = 0; i < kFloats; ++i) v[i] += x[0] * weights[2 * i] + x[1] * weights[2 * i + 1];
    }
    Floats floats() const {
        Floats result;
        for (int i = 0; i < kFloats; ++i) result.v[i] = static_cast<float>(v[i]);
        return result;
    }
};
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
            int32_t pair;
            std::memcpy(&pair, x + static_cast<int64_t>(s) * layer.input_pitch + 2 * p, 4);
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
    const uint32_t bits = static_cast<uint32_t>(exponent + 127) << 23;
    float result;
    std::memcpy(&result, &bits, 4);
    return result;
}

void round_rows(const float* x, int pitch, int count, int16_t* rounded, float* units) {
    for (int s = 0; s < count; ++s, x += pitch, rounded += pitch) {
        int32_t largest = 0;  // as bits: numbers that are not negative are ordered like their bits
        for (int i = 0; i < pitch; ++i) {
            int32_t bits;
            std::memcpy(&bits, x + i, 4);
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
