// 32 unsigned 16-bit numbers side by side, with saturating addition (65535 stays 65535 and means infinity).
// Everything has internal linkage: each translation unit that includes this is compiled for its own
// instruction set, and the linker must not mix them.
#pragma once
#include <cstdint>
#include <iterator>

#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#endif

constexpr int kLanes = 32;
using LaneMask = uint32_t;

namespace {

#if defined(__AVX512BW__) && defined(__AVX512VL__)
constexpr int kRegisterLanes = 32;
#elif defined(__AVX2__)
constexpr int kRegisterLanes = 16;
#else
constexpr int kRegisterLanes = 8;
#endif
using CostRegister = uint16_t __attribute__((vector_size(2 * kRegisterLanes), may_alias));
struct Lanes {
    CostRegister v[kLanes / kRegisterLanes];
};

// The same in every register.
template <class Work>
inline Lanes each(Work work) {
    Lanes result;
    for (size_t i = 0; i < std::size(result.v); ++i) result.v[i] = work(i);
    return result;
}

inline Lanes load(const uint16_t* p) {
    return each([&](size_t i) { return reinterpret_cast<const CostRegister*>(p)[i]; });
}
inline void store(uint16_t* p, Lanes a) {
    for (size_t i = 0; i < std::size(a.v); ++i) reinterpret_cast<CostRegister*>(p)[i] = a.v[i];
}
inline Lanes fill(uint16_t x) {
    return each([&](size_t) { return x - CostRegister{}; });
}
inline Lanes min(Lanes a, Lanes b) {
    return each([&](size_t i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
inline Lanes max(Lanes a, Lanes b) {
    return each([&](size_t i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)

inline Lanes add(Lanes a, Lanes b) {
    return {{(CostRegister)_mm512_adds_epu16((__m512i)a.v[0], (__m512i)b.v[0])}};
}
inline LaneMask less(Lanes a, Lanes b) {
    return _mm512_cmplt_epu16_mask((__m512i)a.v[0], (__m512i)b.v[0]);
}
inline LaneMask equal(Lanes a, Lanes b) {
    return _mm512_cmpeq_epu16_mask((__m512i)a.v[0], (__m512i)b.v[0]);
}
// a in the lanes of the mask, b in the others.
inline Lanes select(LaneMask mask, Lanes a, Lanes b) {
    return {{(CostRegister)_mm512_mask_blend_epi16(mask, (__m512i)b.v[0], (__m512i)a.v[0])}};
}
inline int smallest(Lanes a, LaneMask among) {
    __m512i kept = (__m512i)select(among, a, fill(65535)).v[0];
    __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(kept), _mm512_extracti64x4_epi64(kept, 1));
    __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return _mm_extract_epi16(_mm_minpos_epu16(quarter), 0);
}

#else

#if defined(__AVX2__)
inline Lanes add(Lanes a, Lanes b) {
    return each([&](size_t i) { return (CostRegister)_mm256_adds_epu16((__m256i)a.v[i], (__m256i)b.v[i]); });
}
inline LaneMask equal(Lanes a, Lanes b) {
    // 16-bit booleans to bytes, in order, then one bit each.
    const __m256i packed = _mm256_packs_epi16((__m256i)(a.v[0] == b.v[0]), (__m256i)(a.v[1] == b.v[1]));
    return static_cast<LaneMask>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(packed, 0xD8)));
}
#else
inline Lanes add(Lanes a, Lanes b) {
    return each([&](size_t i) { return a.v[i] < ~b.v[i] ? a.v[i] + b.v[i] : ~CostRegister{}; });
}
inline LaneMask equal(Lanes a, Lanes b) {
    LaneMask mask = 0;
    for (int i = 0; i < kLanes; ++i) {
        const int number = i / kRegisterLanes, lane = i % kRegisterLanes;
        mask |= static_cast<LaneMask>(a.v[number][lane] == b.v[number][lane]) << i;
    }
    return mask;
}
#endif

inline LaneMask less(Lanes a, Lanes b) {
    return ~equal(max(a, b), a);
}
inline Lanes select(LaneMask mask, Lanes a, Lanes b) {
    CostRegister bit;
    for (int i = 0; i < kRegisterLanes; ++i) bit[i] = static_cast<uint16_t>(1 << i);
    return each([&](size_t i) {
        const auto part = static_cast<uint16_t>(mask >> i * kRegisterLanes);
        return (part & bit) != 0 ? a.v[i] : b.v[i];
    });
}
inline int smallest(Lanes a, LaneMask among) {
    alignas(32) uint16_t x[kLanes];
    store(x, a);
    int result = 65535;
    for (; among; among &= among - 1) {
        const int lane = __builtin_ctz(among);
        result = x[lane] < result ? x[lane] : result;
    }
    return result;
}

#endif

}  // namespace
