// 8 floats side by side for narrow rows, with the operations of float_lanes.hpp, and what templates over both
// widths need: lanes_of<L>, load<L>, fill<L>.
#pragma once
#include "lanes/float_lanes.hpp"

constexpr int kHalfFloats = 8;

#if defined(__AVX2__) && defined(__FMA__)

struct HalfFloats {
    __m256 v;
};
struct HalfMask {
    __m256 v;
};
static inline HalfFloats load_half(const float* p) {
    return {_mm256_load_ps(p)};
}
static inline void store(float* p, HalfFloats a) {
    _mm256_store_ps(p, a.v);
}
static inline HalfFloats fill_half(float x) {
    return {_mm256_set1_ps(x)};
}
static inline HalfFloats add(HalfFloats a, HalfFloats b) {
    return {_mm256_add_ps(a.v, b.v)};
}
static inline HalfFloats subtract(HalfFloats a, HalfFloats b) {
    return {_mm256_sub_ps(a.v, b.v)};
}
static inline HalfFloats multiply(HalfFloats a, HalfFloats b) {
    return {_mm256_mul_ps(a.v, b.v)};
}
static inline HalfFloats divide(HalfFloats a, HalfFloats b) {
    return {_mm256_div_ps(a.v, b.v)};
}
static inline HalfFloats fma(HalfFloats a, HalfFloats b, HalfFloats c) {
    return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
static inline HalfFloats min(HalfFloats a, HalfFloats b) {
    return {_mm256_min_ps(a.v, b.v)};
}
static inline HalfFloats max(HalfFloats a, HalfFloats b) {
    return {_mm256_max_ps(a.v, b.v)};
}
static inline HalfMask equal(HalfFloats a, HalfFloats b) {
    return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)};
}
static inline HalfMask less(HalfFloats a, HalfFloats b) {
    return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)};
}
static inline HalfFloats keep(HalfMask mask, HalfFloats a) {
    return {_mm256_and_ps(mask.v, a.v)};
}
static inline bool any(HalfMask a, HalfMask b) {
    return _mm256_movemask_ps(_mm256_or_ps(a.v, b.v)) != 0;
}
static inline HalfFloats power_of_two(HalfFloats x) {
    const __m256i biased = _mm256_add_epi32(_mm256_castps_si256(x.v), _mm256_set1_epi32(127));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(biased, 23))};
}

#else

using HalfFloats = PlainFloats<kHalfFloats>;
using HalfMask = PlainMask<kHalfFloats>;
static inline HalfFloats load_half(const float* p) {
    return load_plain<kHalfFloats>(p);
}
static inline HalfFloats fill_half(float x) {
    return fill_plain<kHalfFloats>(x);
}

#endif

template <class L>
constexpr int lanes_of = sizeof(L) / sizeof(float);
template <class L>
static inline L load(const float* p) {
    if constexpr (lanes_of<L> == kHalfFloats)
        return load_half(p);
    else
        return load(p);
}
template <class L>
static inline L fill(float x) {
    if constexpr (lanes_of<L> == kHalfFloats)
        return fill_half(x);
    else
        return fill(x);
}
