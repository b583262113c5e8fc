// Output channels are the lanes of the vectors: four activations are broadcast at a time and multiplied with
// the four weights of each of 16 outputs. A tile of four states shares every load of weights.
#include "learned/integer_kernel.hpp"

#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace hstar {

namespace {

constexpr int kStates = 4;  // of a tile

// 16 sums of 32 bits, and the rescaling of a whole block.
#if defined(__AVX512BW__)
struct Sums {
    __m512i v;
    static Sums load(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
    void store(int32_t* p) const { _mm512_storeu_si512(p, v); }
    void add_products(const uint8_t* x, const int8_t* weights) {
        int32_t four;
        std::memcpy(&four, x, 4);
        __m512i inputs = _mm512_set1_epi32(four), w = _mm512_loadu_si512(weights);
#if defined(__AVX512VNNI__)
        v = _mm512_dpbusd_epi32(v, inputs, w);
#else
        __m512i pairs = _mm512_maddubs_epi16(inputs, w);
        v = _mm512_add_epi32(v, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#endif
    }
};

inline __m512i scaled(__m512i sums, __m512i multiplier, __m512i skipped, __m512i skip, __m512i half,
                      __m128i shift) {
    __m512i total = _mm512_add_epi64(_mm512_mul_epi32(sums, multiplier), _mm512_mul_epi32(skipped, skip));
    total = _mm512_max_epi64(_mm512_add_epi64(total, half), _mm512_setzero_si512());
    return _mm512_min_epi64(_mm512_srl_epi64(total, shift), _mm512_set1_epi64(kLargestActivation));
}

inline void rescale_block(const Sums& sums, const IntegerRescale& r, int first, const uint8_t* skipped,
                          uint8_t* y) {
    __m512i multiplier = _mm512_loadu_si512(r.multiplier + first);
    __m512i skip = _mm512_set1_epi64(r.skip), half = _mm512_set1_epi64(int64_t{1} << (r.shift - 1));
    __m512i old =
        skipped ? _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(skipped + first)))
                : _mm512_setzero_si512();
    __m128i shift = _mm_cvtsi32_si128(r.shift);
    __m512i even = scaled(sums.v, multiplier, old, skip, half, shift);
    __m512i odd = scaled(_mm512_srli_epi64(sums.v, 32), _mm512_srli_epi64(multiplier, 32),
                         _mm512_srli_epi64(old, 32), skip, half, shift);
    __m512i both = _mm512_or_si512(even, _mm512_slli_epi64(odd, 32));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + first), _mm512_cvtepi32_epi8(both));
}
#elif defined(__AVX2__)
struct Sums {
    __m256i low, high;
    static Sums load(const int32_t* p) {
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
    }
    void store(int32_t* p) const {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), low);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), high);
    }
    void add_products(const uint8_t* x, const int8_t* weights) {
        int32_t four;
        std::memcpy(&four, x, 4);
        __m256i inputs = _mm256_set1_epi32(four), one = _mm256_set1_epi16(1);
        const __m256i* w = reinterpret_cast<const __m256i*>(weights);
        __m256i pairs = _mm256_maddubs_epi16(inputs, _mm256_loadu_si256(w));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(pairs, one));
        pairs = _mm256_maddubs_epi16(inputs, _mm256_loadu_si256(w + 1));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(pairs, one));
    }
};

inline __m256i scaled(__m256i sums, __m256i multiplier, __m256i skipped, __m256i skip, __m256i half,
                      __m128i shift) {
    __m256i total = _mm256_add_epi64(_mm256_mul_epi32(sums, multiplier), _mm256_mul_epi32(skipped, skip));
    total = _mm256_add_epi64(total, half);
    total = _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), total), total);
    total = _mm256_srl_epi64(total, shift);
    __m256i largest = _mm256_set1_epi64x(kLargestActivation);
    return _mm256_blendv_epi8(total, largest, _mm256_cmpgt_epi64(total, largest));
}

inline void rescale_half(__m256i sums, const IntegerRescale& r, int first, const uint8_t* skipped,
                         uint8_t* y) {
    __m256i multiplier = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(r.multiplier + first));
    __m256i skip = _mm256_set1_epi64x(r.skip), half = _mm256_set1_epi64x(int64_t{1} << (r.shift - 1));
    __m256i old =
        skipped ? _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(skipped + first)))
                : _mm256_setzero_si256();
    __m128i shift = _mm_cvtsi32_si128(r.shift);
    __m256i even = scaled(sums, multiplier, old, skip, half, shift);
    __m256i odd = scaled(_mm256_srli_epi64(sums, 32), _mm256_srli_epi64(multiplier, 32),
                         _mm256_srli_epi64(old, 32), skip, half, shift);
    __m256i both = _mm256_or_si256(even, _mm256_slli_epi64(odd, 32));
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y + first), _mm_packus_epi16(words, words));
}

inline void rescale_block(const Sums& sums, const IntegerRescale& r, int first, const uint8_t* skipped,
                          uint8_t* y) {
    rescale_half(sums.low, r, first, skipped, y);
    rescale_half(sums.high, r, first + 8, skipped, y);
}
#else
struct Sums {
    int32_t v[kIntegerBlock];
    static Sums load(const int32_t* p) {
        Sums sums;
        std::memcpy(sums.v, p, sizeof sums.v);
        return sums;
    }
    void store(int32_t* p) const { std::memcpy(p, v, sizeof v); }
    void add_products(const uint8_t* x, const int8_t* weights) {
        for (int i = 0; i < kIntegerBlock; ++i)
            for (int j = 0; j < 4; ++j) v[i] += x[j] * weights[4 * i + j];
    }
};

inline void rescale_block(const Sums& sums, const IntegerRescale& r, int first, const uint8_t* skipped,
                          uint8_t* y) {
    int64_t half = int64_t{1} << (r.shift - 1);
    for (int i = 0; i < kIntegerBlock; ++i) {
        int64_t total = static_cast<int64_t>(sums.v[i]) * r.multiplier[first + i] + half;
        if (skipped) total += static_cast<int64_t>(skipped[first + i]) * r.skip;
        total = total < 0 ? 0 : total >> r.shift;
        y[first + i] = static_cast<uint8_t>(total > kLargestActivation ? kLargestActivation : total);
    }
}
#endif

#if defined(__AVX2__)
// 16 sums of 16 bits: at most 256 numbers of 8 bits.
inline void sum_rows(const IntegerEmbedding& layer, const int32_t* row, int first, int32_t* sums) {
    __m256i total = _mm256_setzero_si256();
    for (int d = 0; d < layer.num_digits; ++d) {
        const int8_t* weights = layer.rows + static_cast<int64_t>(row[d]) * layer.width + first;
        __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights));
        total = _mm256_add_epi16(total, _mm256_cvtepi8_epi16(bytes));
    }
    const __m256i* bias = reinterpret_cast<const __m256i*>(layer.bias + first);
    __m256i low = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(total));
    __m256i high = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(total, 1));
    __m256i* out = reinterpret_cast<__m256i*>(sums);
    _mm256_storeu_si256(out, _mm256_add_epi32(low, _mm256_loadu_si256(bias)));
    _mm256_storeu_si256(out + 1, _mm256_add_epi32(high, _mm256_loadu_si256(bias + 1)));
}
#else
inline void sum_rows(const IntegerEmbedding& layer, const int32_t* row, int first, int32_t* sums) {
    std::memcpy(sums, layer.bias + first, kIntegerBlock * sizeof *sums);
    for (int d = 0; d < layer.num_digits; ++d) {
        const int8_t* weights = layer.rows + static_cast<int64_t>(row[d]) * layer.width + first;
        for (int i = 0; i < kIntegerBlock; ++i) sums[i] += weights[i];
    }
}
#endif

void embed(const IntegerEmbedding& layer, const int32_t* row, int count, uint8_t* y) {
    for (int s = 0; s < count; ++s)
        for (int first = 0; first < layer.width; first += kIntegerBlock) {
            int32_t sums[kIntegerBlock];
            sum_rows(layer, row + static_cast<int64_t>(s) * layer.num_digits, first, sums);
            rescale_block(Sums::load(sums), layer.rescale, first, nullptr,
                          y + static_cast<int64_t>(s) * layer.width);
        }
}

// The sums of kBlocks blocks of outputs for kCount states, handed to use(state, output, sums).
template <int kCount, int kBlocks, class Use>
inline void tile(const IntegerDense& layer, const uint8_t* x, int output, Use use) {
    const int64_t block_bytes = static_cast<int64_t>(layer.inputs) * kIntegerBlock;
    const int8_t* weights = layer.weights + output / kIntegerBlock * block_bytes;
    Sums sums[kCount][kBlocks];
    for (int b = 0; b < kBlocks; ++b)
        for (int s = 0; s < kCount; ++s) sums[s][b] = Sums::load(layer.bias + output + b * kIntegerBlock);
    for (int i = 0; i < layer.inputs; i += 4)
        for (int b = 0; b < kBlocks; ++b)
            for (int s = 0; s < kCount; ++s)
                sums[s][b].add_products(x + static_cast<int64_t>(s) * layer.inputs + i,
                                        weights + b * block_bytes + i * kIntegerBlock);
    for (int s = 0; s < kCount; ++s)
        for (int b = 0; b < kBlocks; ++b) use(s, output + b * kIntegerBlock, sums[s][b]);
}

// Blocks of outputs are the outer loop: their weights stay in the nearest cache for all states.
template <int kBlocks, class Use>
void outputs_of_states(const IntegerDense& layer, const uint8_t* x, int count, int output, Use use) {
    int state = 0;
    auto shifted = [&](int s, int first, const Sums& sums) { use(state + s, first, sums); };
    auto from = [&] { return x + static_cast<int64_t>(state) * layer.inputs; };
    for (; state + kStates <= count; state += kStates) tile<kStates, kBlocks>(layer, from(), output, shifted);
    // Search has few states at a time, so the rest of a batch matters.
    switch (count - state) {
        case 3:
            return tile<3, kBlocks>(layer, from(), output, shifted);
        case 2:
            return tile<2, kBlocks>(layer, from(), output, shifted);
        case 1:
            return tile<1, kBlocks>(layer, from(), output, shifted);
        default:
            return;
    }
}

template <class Use>
void for_all_outputs(const IntegerDense& layer, const uint8_t* x, int count, Use use) {
#if defined(__AVX512BW__)
    constexpr int kMostBlocks = 4;  // 16 registers of sums
#else
    constexpr int kMostBlocks = 1;
#endif
    int output = 0;
    for (; output + kMostBlocks * kIntegerBlock <= layer.outputs; output += kMostBlocks * kIntegerBlock)
        outputs_of_states<kMostBlocks>(layer, x, count, output, use);
    for (; output < layer.outputs; output += kIntegerBlock)
        outputs_of_states<1>(layer, x, count, output, use);
}

void dense(const IntegerDense& layer, const uint8_t* x, const uint8_t* skipped, int count, uint8_t* y) {
    for_all_outputs(layer, x, count, [&](int state, int first, const Sums& sums) {
        int64_t row = static_cast<int64_t>(state) * layer.outputs;
        rescale_block(sums, layer.rescale, first, skipped ? skipped + row : nullptr, y + row);
    });
}

void logits(const IntegerDense& layer, const uint8_t* x, int count, int32_t* logits) {
    const IntegerRescale& r = layer.rescale;
    int64_t half = int64_t{1} << (r.shift - 1);
    for_all_outputs(layer, x, count, [&](int state, int first, const Sums& sums) {
        int32_t stored[kIntegerBlock];
        sums.store(stored);
        int32_t* out = logits + static_cast<int64_t>(state) * layer.outputs + first;
        for (int i = 0; i < kIntegerBlock; ++i) {
            int64_t total = static_cast<int64_t>(stored[i]) * r.multiplier[first + i] + half;
            out[i] = static_cast<int32_t>(total >> r.shift);
        }
    });
}

}  // namespace

IntegerKernel HSTAR_INTEGER() {
    return {HSTAR_INTEGER_NAME, embed, dense, logits};
}

}  // namespace hstar
