// 16 sums side by side and their rescaling to activations, for the instruction set this is compiled for;
// and the first layer, which needs nothing else. Everything is static: each translation unit that includes
// this is compiled for its own instruction set, and the linker must not mix them.
#pragma once
#include <cstring>

#include "lanes/pieces.hpp"
#include "networks/integer/kernel.hpp"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace hstar {

namespace {

// With these shifts, any sum (31 bits) times any multiplier (16 bits) fits in 32 bits after shifting, and in
// 64 bits before. So vectors need no comparison of 64-bit numbers: narrowing to bytes saturates.
inline bool fits_when_shifted(int shift) {
    return shift >= 17 && shift <= 32;
}

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

// Of one block of outputs, for any number of states. `skipped` (may be null) and `y` point to the block.
class Rescaler {
  public:
    Rescaler(const IntegerRescale& r, int first)
        : even_(_mm512_loadu_si512(r.multiplier + first)),
          odd_(_mm512_srli_epi64(even_, 32)),
          skip_(_mm512_set1_epi64(r.skip)),
          half_(_mm512_set1_epi64(int64_t{1} << (r.shift - 1))),
          right_(_mm512_set1_epi64(r.shift)),
          left_(_mm512_set1_epi64(32 - r.shift)),
          fits_(fits_when_shifted(r.shift)) {}

    void operator()(const Sums& sums, const uint8_t* skipped, uint8_t* y) const {
        if (fits_)
            skipped ? rescale<true, true>(sums, skipped, y) : rescale<true, false>(sums, skipped, y);
        else
            skipped ? rescale<false, true>(sums, skipped, y) : rescale<false, false>(sums, skipped, y);
    }
    // For `count` states, `stride` apart.
    void states(const int32_t* sums, int count, int64_t stride, const uint8_t* skipped, uint8_t* y) const {
        if (fits_ && !skipped)
            for (int s = 0; s < count; ++s)
                rescale<true, false>(Sums::load(sums + s * kIntegerBlock), nullptr, y + s * stride);
        else if (fits_)
            for (int s = 0; s < count; ++s)
                rescale<true, true>(Sums::load(sums + s * kIntegerBlock), skipped + s * stride,
                                    y + s * stride);
        else
            for (int s = 0; s < count; ++s)
                (*this)(Sums::load(sums + s * kIntegerBlock), skipped ? skipped + s * stride : nullptr,
                        y + s * stride);
    }

  private:
    template <bool kFits, bool kSkips>
    void rescale(const Sums& sums, const uint8_t* skipped, uint8_t* y) const {
        __m512i even = _mm512_add_epi64(_mm512_mul_epi32(sums.v, even_), half_);
        __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(sums.v, 32), odd_), half_);
        if constexpr (kSkips) {
            __m512i old = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(skipped)));
            even = _mm512_add_epi64(even, _mm512_mul_epi32(old, skip_));
            odd = _mm512_add_epi64(odd, _mm512_mul_epi32(_mm512_srli_epi64(old, 32), skip_));
        }
        __m512i both;
        if constexpr (kFits) {
            constexpr int kFirstChooses = 0xCA;
            both = _mm512_ternarylogic_epi64(_mm512_set1_epi64(0xFFFFFFFF), _mm512_srlv_epi64(even, right_),
                                             _mm512_sllv_epi64(odd, left_), kFirstChooses);
        } else {
            both = _mm512_or_si512(clamped(even), _mm512_slli_epi64(clamped(odd), 32));
        }
        __m128i bytes = _mm_max_epi8(_mm512_cvtsepi32_epi8(both), _mm_setzero_si128());
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
    }
    __m512i clamped(__m512i total) const {
        total = _mm512_srlv_epi64(_mm512_max_epi64(total, _mm512_setzero_si512()), right_);
        return _mm512_min_epi64(total, _mm512_set1_epi64(kLargestActivation));
    }

    __m512i even_, odd_, skip_, half_, right_, left_;
    bool fits_;
};
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

class Rescaler {
  public:
    Rescaler(const IntegerRescale& r, int first)
        : fits_(fits_when_shifted(r.shift)),
          multiplier_(Sums::load(r.multiplier + first)),
          skip_(_mm256_set1_epi64x(r.skip)),
          half_(_mm256_set1_epi64x(int64_t{1} << (r.shift - 1))),
          right_(_mm256_set1_epi64x(r.shift)),
          left_(_mm256_set1_epi64x(32 - r.shift)) {}

    void operator()(const Sums& sums, const uint8_t* skipped, uint8_t* y) const {
        __m256i low = rescaled(sums.low, multiplier_.low, skipped);
        __m256i high = rescaled(sums.high, multiplier_.high, skipped ? skipped + 8 : nullptr);
        // Packing works on halves of vectors and leaves the middle quarters swapped.
        __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
        __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_max_epi8(bytes, _mm_setzero_si128()));
    }

  private:
    __m256i rescaled(__m256i sums, __m256i multiplier, const uint8_t* skipped) const {
        __m256i even = _mm256_add_epi64(_mm256_mul_epi32(sums, multiplier), half_);
        __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(sums, 32), _mm256_srli_epi64(multiplier, 32));
        odd = _mm256_add_epi64(odd, half_);
        if (skipped) {
            __m256i old = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(skipped)));
            even = _mm256_add_epi64(even, _mm256_mul_epi32(old, skip_));
            odd = _mm256_add_epi64(odd, _mm256_mul_epi32(_mm256_srli_epi64(old, 32), skip_));
        }
        if (fits_)
            return _mm256_blend_epi32(_mm256_srlv_epi64(even, right_), _mm256_sllv_epi64(odd, left_), 0xAA);
        return _mm256_or_si256(clamped(even), _mm256_slli_epi64(clamped(odd), 32));
    }
    __m256i clamped(__m256i total) const {
        total = _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), total), total);
        total = _mm256_srlv_epi64(total, right_);
        __m256i largest = _mm256_set1_epi64x(kLargestActivation);
        return _mm256_blendv_epi8(total, largest, _mm256_cmpgt_epi64(total, largest));
    }

    bool fits_;
    Sums multiplier_;
    __m256i skip_, half_, right_, left_;
};
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

class Rescaler {
  public:
    Rescaler(const IntegerRescale& r, int first)
        : multiplier_(r.multiplier + first),
          skip_(r.skip),
          shift_(r.shift),
          half_(int64_t{1} << (r.shift - 1)) {}

    void operator()(const Sums& sums, const uint8_t* skipped, uint8_t* y) const {
        for (int i = 0; i < kIntegerBlock; ++i) {
            int64_t total = static_cast<int64_t>(sums.v[i]) * multiplier_[i] + half_;
            if (skipped) total += static_cast<int64_t>(skipped[i]) * skip_;
            total = total < 0 ? 0 : total >> shift_;
            y[i] = static_cast<uint8_t>(total > kLargestActivation ? kLargestActivation : total);
        }
    }

  private:
    const int32_t* multiplier_;
    int32_t skip_;
    int shift_;
    int64_t half_;
};
#endif

// The sums of kBlocks blocks of outputs. Those of 8-bit weights fit in 16 bits: there are at most 256.
#if defined(__AVX512BW__)
constexpr int kEmbeddedBlocks = 4;  // at a time, where there are so many

template <int kBlocks>
inline void sum_rows(const IntegerEmbedding& layer, const int32_t* row, int first, Sums* sums) {
    constexpr int kPairs = (kBlocks + 1) / 2;
    constexpr __mmask32 kLoaded = kBlocks == 1 ? 0xFFFF : 0xFFFFFFFF;
    __m512i total[kPairs] = {};
    for (int d = 0; d < layer.num_digits; ++d) {
        const int8_t* weights = layer.rows + static_cast<int64_t>(row[d]) * layer.width + first;
        for (int p = 0; p < kPairs; ++p) {
            __m256i bytes = _mm256_maskz_loadu_epi8(kLoaded, weights + 2 * kIntegerBlock * p);
            total[p] = _mm512_add_epi16(total[p], _mm512_cvtepi8_epi16(bytes));
        }
    }
    for (int b = 0; b < kBlocks; ++b) {
        __m256i words =
            b % 2 ? _mm512_extracti64x4_epi64(total[b / 2], 1) : _mm512_castsi512_si256(total[b / 2]);
        __m512i bias = _mm512_loadu_si512(layer.bias + first + b * kIntegerBlock);
        sums[b].v = _mm512_add_epi32(_mm512_cvtepi16_epi32(words), bias);
    }
}
#elif defined(__AVX2__)
constexpr int kEmbeddedBlocks = 1;

template <int kBlocks>
inline void sum_rows(const IntegerEmbedding& layer, const int32_t* row, int first, Sums* sums) {
    __m256i total = _mm256_setzero_si256();
    for (int d = 0; d < layer.num_digits; ++d) {
        const int8_t* weights = layer.rows + static_cast<int64_t>(row[d]) * layer.width + first;
        __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights));
        total = _mm256_add_epi16(total, _mm256_cvtepi8_epi16(bytes));
    }
    *sums = Sums::load(layer.bias + first);
    sums->low = _mm256_add_epi32(sums->low, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(total)));
    sums->high = _mm256_add_epi32(sums->high, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(total, 1)));
}
#else
constexpr int kEmbeddedBlocks = 1;

template <int kBlocks>
inline void sum_rows(const IntegerEmbedding& layer, const int32_t* row, int first, Sums* sums) {
    *sums = Sums::load(layer.bias + first);
    for (int d = 0; d < layer.num_digits; ++d) {
        const int8_t* weights = layer.rows + static_cast<int64_t>(row[d]) * layer.width + first;
        for (int i = 0; i < kIntegerBlock; ++i) sums->v[i] += weights[i];
    }
}
#endif

// Blocks of outputs are the outer loop, so that their part of each row stays in the nearest cache.
inline void embed(const IntegerEmbedding& layer, const int32_t* row, int count, uint8_t* y) {
    const int64_t stride = activation_stride(layer.width);
    in_pieces<kEmbeddedBlocks, 1>(layer.width / kIntegerBlock, [&]<int kBlocks>(int block) {
        const int first = block * kIntegerBlock;
        for (int s = 0; s < count; ++s) {
            Sums sums[kBlocks];
            sum_rows<kBlocks>(layer, row + static_cast<int64_t>(s) * layer.num_digits, first, sums);
            for (int b = 0; b < kBlocks; ++b) {
                int output = first + b * kIntegerBlock;
                Rescaler(layer.rescale, output)(sums[b], nullptr, y + s * stride + output);
            }
        }
    });
}

inline void rescale_logits(const IntegerRescale& r, int first, const int32_t* sums, int32_t* logits) {
    const int64_t half = int64_t{1} << (r.shift - 1);
    for (int i = 0; i < kIntegerBlock; ++i) {
        int64_t total = static_cast<int64_t>(sums[i]) * r.multiplier[first + i] + half;
        logits[i] = static_cast<int32_t>(total >> r.shift);
    }
}

}  // namespace

}  // namespace hstar
