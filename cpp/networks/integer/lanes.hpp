// The rescaling of 16 sums to activations, for the instruction set this is compiled for; and the first layer,
// which needs nothing else. Everything is static: each translation unit that includes this is compiled for
// its own instruction set, and the linker must not mix them.
#pragma once
#include <cstring>
#include <type_traits>

#include "lanes/pieces.hpp"
#include "lanes/sums.hpp"
#include "networks/integer/kernel.hpp"

namespace hstar {

namespace {

static_assert(kSums == kIntegerBlock);

inline int64_t scaled(const IntegerRescale& r, int output, int32_t sum) {
    return static_cast<int64_t>(sum) * r.multiplier[output] + (int64_t{1} << (r.shift - 1));
}

inline void rescale_logits(const IntegerRescale& r, int first, const int32_t* sums, int32_t* logits) {
    for (int i = 0; i < kIntegerBlock; ++i)
        logits[i] = static_cast<int32_t>(scaled(r, first + i, sums[i]) >> r.shift);
}

// Never inlined: where there are vectors, only unusual shifts need it.
[[gnu::noinline]] inline void rescale_one_by_one(const IntegerRescale& r, int first, Sums sums,
                                                 const uint8_t* skipped, uint8_t* y) {
    int32_t stored[kIntegerBlock];
    sums.store(stored);
    for (int i = 0; i < kIntegerBlock; ++i) {
        int64_t total = scaled(r, first + i, stored[i]);
        if (skipped) total += static_cast<int64_t>(skipped[i]) * r.skip;
        total = total < 0 ? 0 : total >> r.shift;
        y[i] = static_cast<uint8_t>(total > kLargestActivation ? kLargestActivation : total);
    }
}

// Of one block of outputs, for any number of states. `skipped` (may be null) and `y` point to the block.
//
// With the usual shifts, any sum (31 bits) times any multiplier (16 bits) fits in 32 bits after shifting, and
// in 64 bits before. So vectors need no comparison of 64-bit numbers: narrowing to bytes saturates.
#if defined(__AVX512BW__)
class Rescaler {
  public:
    Rescaler(const IntegerRescale& r, int first)
        : rescale_(r),
          first_(first),
          even_(_mm512_loadu_si512(r.multiplier + first)),
          odd_(_mm512_srli_epi64(even_, 32)),
          skip_(_mm512_set1_epi64(r.skip)),
          half_(_mm512_set1_epi64(int64_t{1} << (r.shift - 1))),
          right_(_mm512_set1_epi64(r.shift)),
          left_(_mm512_set1_epi64(32 - r.shift)),
          fits_(r.shift >= 17 && r.shift <= 32) {}

    void operator()(const Sums& sums, const uint8_t* skipped, uint8_t* y) const {
        if (!fits_) [[unlikely]]
            return rescale_one_by_one(rescale_, first_, sums, skipped, y);
        skipped ? rescale<true>(sums, skipped, y) : rescale<false>(sums, skipped, y);
    }
    // For `count` states, `stride` apart.
    void states(const int32_t* sums, int count, int64_t stride, const uint8_t* skipped, uint8_t* y) const {
        if (fits_ && !skipped)
            for (int s = 0; s < count; ++s)
                rescale<false>(Sums::load(sums + s * kIntegerBlock), nullptr, y + s * stride);
        else
            for (int s = 0; s < count; ++s)
                (*this)(Sums::load(sums + s * kIntegerBlock), skipped ? skipped + s * stride : nullptr,
                        y + s * stride);
    }

  private:
    template <bool kSkips>
    void rescale(const Sums& sums, const uint8_t* skipped, uint8_t* y) const {
        __m512i even = _mm512_add_epi64(_mm512_mul_epi32(sums.v, even_), half_);
        __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(sums.v, 32), odd_), half_);
        if constexpr (kSkips) {
            __m512i old = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(skipped)));
            even = _mm512_add_epi64(even, _mm512_mul_epi32(old, skip_));
            odd = _mm512_add_epi64(odd, _mm512_mul_epi32(_mm512_srli_epi64(old, 32), skip_));
        }
        constexpr int kFirstChooses = 0xCA;
        __m512i both =
            _mm512_ternarylogic_epi64(_mm512_set1_epi64(0xFFFFFFFF), _mm512_srlv_epi64(even, right_),
                                      _mm512_sllv_epi64(odd, left_), kFirstChooses);
        __m128i bytes = _mm_max_epi8(_mm512_cvtsepi32_epi8(both), _mm_setzero_si128());
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
    }

    const IntegerRescale& rescale_;
    int first_;
    __m512i even_, odd_, skip_, half_, right_, left_;
    bool fits_;
};
#elif defined(__AVX2__)
class Rescaler {
  public:
    Rescaler(const IntegerRescale& r, int first)
        : rescale_(r),
          first_(first),
          fits_(r.shift >= 17 && r.shift <= 32),
          multiplier_(Sums::load(r.multiplier + first)),
          skip_(_mm256_set1_epi64x(r.skip)),
          half_(_mm256_set1_epi64x(int64_t{1} << (r.shift - 1))),
          right_(_mm256_set1_epi64x(r.shift)),
          left_(_mm256_set1_epi64x(32 - r.shift)) {}

    void operator()(const Sums& sums, const uint8_t* skipped, uint8_t* y) const {
        if (!fits_) [[unlikely]]
            return rescale_one_by_one(rescale_, first_, sums, skipped, y);
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
        return _mm256_blend_epi32(_mm256_srlv_epi64(even, right_), _mm256_sllv_epi64(odd, left_), 0xAA);
    }

    const IntegerRescale& rescale_;
    int first_;
    bool fits_;
    Sums multiplier_;
    __m256i skip_, half_, right_, left_;
};
#else
struct Rescaler {
    const IntegerRescale& rescale;
    int first;
    void operator()(const Sums& sums, const uint8_t* skipped, uint8_t* y) const {
        rescale_one_by_one(rescale, first, sums, skipped, y);
    }
};
#endif

// The first layer sums 8-bit weights in vectors of 16-bit numbers: there are at most 256, so they fit.
using Words16 = int16_t __attribute__((vector_size(32)));
using Words32 = int16_t __attribute__((vector_size(64)));
#if defined(__AVX512BW__)
constexpr int kEmbeddedBlocks = 4;  // at a time, where there are so many
#else
constexpr int kEmbeddedBlocks = 1;
#endif
#if defined(__AVX2__)
inline void add_weights(Words16& sums, const int8_t* weights) {
    sums += (Words16)_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
}
#else
inline void add_weights(Words16& sums, const int8_t* weights) {
    for (int i = 0; i < kIntegerBlock; ++i) sums[i] = static_cast<int16_t>(sums[i] + weights[i]);
}
#endif
#if defined(__AVX512BW__)
inline void add_weights(Words32& sums, const int8_t* weights) {
    sums += (Words32)_mm512_cvtepi8_epi16(load_half(weights, 0));
}
#endif

// The sums of kBlocks blocks of outputs.
template <int kBlocks>
inline void sum_rows(const IntegerEmbedding& layer, const int32_t* row, int first, Sums* sums) {
    using Words = std::conditional_t<kBlocks % 2 == 0, Words32, Words16>;
    constexpr int kWords = sizeof(Words) / sizeof(int16_t), kVectors = kBlocks * kIntegerBlock / kWords;
    Words total[kVectors] = {};
    for (int d = 0; d < layer.num_digits; ++d) {
        const int8_t* weights = layer.rows + static_cast<int64_t>(row[d]) * layer.width + first;
        for (int p = 0; p < kVectors; ++p) add_weights(total[p], weights + p * kWords);
    }
    int16_t words[kBlocks * kIntegerBlock];
    std::memcpy(words, total, sizeof words);
    for (int b = 0; b < kBlocks; ++b) {
        sums[b] = Sums::load(layer.bias + first + b * kIntegerBlock);
        sums[b].add(words + b * kIntegerBlock);
    }
}

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

}  // namespace

}  // namespace hstar
