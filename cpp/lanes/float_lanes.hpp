// 16 floats side by side. Every operation rounds as IEEE 754 says, the multiplication and addition of fma()
// as one, so all instruction sets return the same bits. Everything is static: each translation unit that
// includes this is compiled for its own instruction set, and the linker must not mix them.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

constexpr int kFloats = 16;

// Before loops over a few vectors that are to stay in registers; without vector registers it only makes the
// code long.
#if defined(__AVX512F__) || defined(__AVX2__)
#define HSTAR_UNROLL _Pragma("GCC unroll 16")
#else
#define HSTAR_UNROLL
#endif

#if defined(__AVX512F__)

struct Floats {
    __m512 v;
};
struct FloatMask {
    __mmask16 v;
};
static inline Floats load(const float* p) {
    return {_mm512_load_ps(p)};
}
static inline void store(float* p, Floats a) {
    _mm512_store_ps(p, a.v);
}
static inline Floats fill(float x) {
    return {_mm512_set1_ps(x)};
}
static inline Floats add(Floats a, Floats b) {
    return {_mm512_add_ps(a.v, b.v)};
}
static inline Floats subtract(Floats a, Floats b) {
    return {_mm512_sub_ps(a.v, b.v)};
}
static inline Floats multiply(Floats a, Floats b) {
    return {_mm512_mul_ps(a.v, b.v)};
}
static inline Floats divide(Floats a, Floats b) {
    return {_mm512_div_ps(a.v, b.v)};
}
static inline Floats square_root(Floats a) {
    return {_mm512_sqrt_ps(a.v)};
}
static inline Floats fma(Floats a, Floats b, Floats c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
static inline Floats min(Floats a, Floats b) {
    return {_mm512_min_ps(a.v, b.v)};
}
static inline Floats max(Floats a, Floats b) {
    return {_mm512_max_ps(a.v, b.v)};
}
static inline FloatMask equal(Floats a, Floats b) {
    return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)};
}
static inline FloatMask less(Floats a, Floats b) {
    return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
static inline Floats keep(FloatMask mask, Floats a) {
    return {_mm512_maskz_mov_ps(mask.v, a.v)};
}
static inline bool any(FloatMask a, FloatMask b) {
    return (a.v | b.v) != 0;
}
// 2^n for the number n in the lowest bits of x = 1.5 * 2^23 + n.
static inline Floats power_of_two(Floats x) {
    __m512i biased = _mm512_add_epi32(_mm512_castps_si512(x.v), _mm512_set1_epi32(127));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(biased, 23))};
}

#elif defined(__AVX2__) && defined(__FMA__)

struct Floats {
    __m256 low, high;
};
struct FloatMask {
    __m256 low, high;
};
static inline Floats load(const float* p) {
    return {_mm256_load_ps(p), _mm256_load_ps(p + 8)};
}
static inline void store(float* p, Floats a) {
    _mm256_store_ps(p, a.low);
    _mm256_store_ps(p + 8, a.high);
}
static inline Floats fill(float x) {
    __m256 v = _mm256_set1_ps(x);
    return {v, v};
}
static inline Floats add(Floats a, Floats b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
static inline Floats subtract(Floats a, Floats b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
static inline Floats multiply(Floats a, Floats b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
static inline Floats divide(Floats a, Floats b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
static inline Floats square_root(Floats a) {
    return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)};
}
static inline Floats fma(Floats a, Floats b, Floats c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
static inline Floats min(Floats a, Floats b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
static inline Floats max(Floats a, Floats b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
static inline FloatMask equal(Floats a, Floats b) {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ)};
}
static inline FloatMask less(Floats a, Floats b) {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ)};
}
static inline Floats keep(FloatMask mask, Floats a) {
    return {_mm256_and_ps(mask.low, a.low), _mm256_and_ps(mask.high, a.high)};
}
static inline bool any(FloatMask a, FloatMask b) {
    __m256 either = _mm256_or_ps(_mm256_or_ps(a.low, a.high), _mm256_or_ps(b.low, b.high));
    return _mm256_movemask_ps(either) != 0;
}
static inline __m256 power_of_two(__m256 x) {
    __m256i biased = _mm256_add_epi32(_mm256_castps_si256(x), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
static inline Floats power_of_two(Floats x) {
    return {power_of_two(x.low), power_of_two(x.high)};
}

#else

template <int N>
struct PlainFloats {
    float x[N];
};
template <int N>
struct PlainMask {
    bool x[N];
};
using Floats = PlainFloats<kFloats>;
using FloatMask = PlainMask<kFloats>;
template <int N>
static inline PlainFloats<N> load_plain(const float* p) {
    PlainFloats<N> r;
    for (int i = 0; i < N; ++i) r.x[i] = p[i];
    return r;
}
template <int N>
static inline void store(float* p, PlainFloats<N> a) {
    for (int i = 0; i < N; ++i) p[i] = a.x[i];
}
template <int N>
static inline PlainFloats<N> fill_plain(float x) {
    PlainFloats<N> r;
    for (int i = 0; i < N; ++i) r.x[i] = x;
    return r;
}
template <int N>
static inline PlainFloats<N> add(PlainFloats<N> a, PlainFloats<N> b) {
    for (int i = 0; i < N; ++i) a.x[i] = a.x[i] + b.x[i];
    return a;
}
template <int N>
static inline PlainFloats<N> subtract(PlainFloats<N> a, PlainFloats<N> b) {
    for (int i = 0; i < N; ++i) a.x[i] = a.x[i] - b.x[i];
    return a;
}
template <int N>
static inline PlainFloats<N> multiply(PlainFloats<N> a, PlainFloats<N> b) {
    for (int i = 0; i < N; ++i) a.x[i] = a.x[i] * b.x[i];
    return a;
}
template <int N>
static inline PlainFloats<N> divide(PlainFloats<N> a, PlainFloats<N> b) {
    for (int i = 0; i < N; ++i) a.x[i] = a.x[i] / b.x[i];
    return a;
}
template <int N>
static inline PlainFloats<N> square_root(PlainFloats<N> a) {
    for (int i = 0; i < N; ++i) a.x[i] = __builtin_sqrtf(a.x[i]);
    return a;
}
template <int N>
static inline PlainFloats<N> fma(PlainFloats<N> a, PlainFloats<N> b, PlainFloats<N> c) {
    for (int i = 0; i < N; ++i) c.x[i] = __builtin_fmaf(a.x[i], b.x[i], c.x[i]);
    return c;
}
template <int N>
static inline PlainFloats<N> min(PlainFloats<N> a, PlainFloats<N> b) {
    for (int i = 0; i < N; ++i) a.x[i] = a.x[i] < b.x[i] ? a.x[i] : b.x[i];
    return a;
}
template <int N>
static inline PlainFloats<N> max(PlainFloats<N> a, PlainFloats<N> b) {
    for (int i = 0; i < N; ++i) a.x[i] = a.x[i] > b.x[i] ? a.x[i] : b.x[i];
    return a;
}
template <int N>
static inline PlainMask<N> equal(PlainFloats<N> a, PlainFloats<N> b) {
    PlainMask<N> mask;
    for (int i = 0; i < N; ++i) mask.x[i] = a.x[i] == b.x[i];
    return mask;
}
template <int N>
static inline PlainMask<N> less(PlainFloats<N> a, PlainFloats<N> b) {
    PlainMask<N> mask;
    for (int i = 0; i < N; ++i) mask.x[i] = a.x[i] < b.x[i];
    return mask;
}
template <int N>
static inline PlainFloats<N> keep(PlainMask<N> mask, PlainFloats<N> a) {
    for (int i = 0; i < N; ++i) a.x[i] = mask.x[i] ? a.x[i] : 0.0f;
    return a;
}
template <int N>
static inline bool any(PlainMask<N> a, PlainMask<N> b) {
    bool result = false;
    for (int i = 0; i < N; ++i) result |= a.x[i] || b.x[i];
    return result;
}
template <int N>
static inline PlainFloats<N> power_of_two(PlainFloats<N> x) {
    for (int i = 0; i < N; ++i) {
        uint32_t bits;
        std::memcpy(&bits, &x.x[i], 4);
        bits = (bits + 127u) << 23;
        std::memcpy(&x.x[i], &bits, 4);
    }
    return x;
}
static inline Floats load(const float* p) {
    return load_plain<kFloats>(p);
}
static inline Floats fill(float x) {
    return fill_plain<kFloats>(x);
}

#endif
