// 32 unsigned 16-bit numbers side by side, with saturating addition (65535 stays 65535 and means infinity).
// Everything has internal linkage: each translation unit that includes this is compiled for its own
// instruction set, and the linker must not mix them.
#pragma once
#include <cstdint>

#if defined(__AVX512BW__) || defined(__AVX2__)
#include <immintrin.h>
#endif

constexpr int kLanes = 32;
using LaneMask = uint32_t;

namespace {

#if defined(__AVX512BW__) && defined(__AVX512VL__)

struct Lanes {
    __m512i v;

    friend void store(uint16_t* p, Lanes a) { _mm512_store_si512(p, a.v); }
    friend Lanes add(Lanes a, Lanes b) { return {_mm512_adds_epu16(a.v, b.v)}; }
    friend Lanes min(Lanes a, Lanes b) { return {_mm512_min_epu16(a.v, b.v)}; }
    friend Lanes max(Lanes a, Lanes b) { return {_mm512_max_epu16(a.v, b.v)}; }
    friend LaneMask less(Lanes a, Lanes b) { return _mm512_cmplt_epu16_mask(a.v, b.v); }
    friend LaneMask equal(Lanes a, Lanes b) { return _mm512_cmpeq_epu16_mask(a.v, b.v); }
    // a in the lanes of the mask, b in the others.
    friend Lanes select(LaneMask mask, Lanes a, Lanes b) { return {_mm512_mask_blend_epi16(mask, b.v, a.v)}; }
    friend int smallest(Lanes a, LaneMask among) {
        __m512i kept = _mm512_mask_blend_epi16(among, _mm512_set1_epi16(-1), a.v);
        __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(kept), _mm512_extracti64x4_epi64(kept, 1));
        __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
        return _mm_extract_epi16(_mm_minpos_epu16(quarter), 0);
    }
};
inline Lanes load(const uint16_t* p) {
    return {_mm512_load_si512(p)};
}
inline Lanes fill(uint16_t x) {
    return {_mm512_set1_epi16(static_cast<short>(x))};
}

#elif defined(__AVX2__)

inline LaneMask to_mask(__m256i low, __m256i high) {
    // 16-bit booleans to bytes, in order, then one bit each.
    __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xD8);
    return static_cast<LaneMask>(_mm256_movemask_epi8(bytes));
}
inline __m256i from_mask(LaneMask mask) {
    const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192,
                                          16384, static_cast<short>(32768));
    return _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16(static_cast<short>(mask)), bit), bit);
}
struct Lanes {
    __m256i low, high;

    friend void store(uint16_t* p, Lanes a) {
        auto* q = reinterpret_cast<__m256i*>(p);
        _mm256_store_si256(q, a.low);
        _mm256_store_si256(q + 1, a.high);
    }
    friend Lanes add(Lanes a, Lanes b) {
        return {_mm256_adds_epu16(a.low, b.low), _mm256_adds_epu16(a.high, b.high)};
    }
    friend Lanes min(Lanes a, Lanes b) {
        return {_mm256_min_epu16(a.low, b.low), _mm256_min_epu16(a.high, b.high)};
    }
    friend Lanes max(Lanes a, Lanes b) {
        return {_mm256_max_epu16(a.low, b.low), _mm256_max_epu16(a.high, b.high)};
    }
    friend LaneMask equal(Lanes a, Lanes b) {
        return to_mask(_mm256_cmpeq_epi16(a.low, b.low), _mm256_cmpeq_epi16(a.high, b.high));
    }
    friend Lanes select(LaneMask mask, Lanes a, Lanes b) {
        return {_mm256_blendv_epi8(b.low, a.low, from_mask(mask)),
                _mm256_blendv_epi8(b.high, a.high, from_mask(mask >> 16))};
    }
};
inline Lanes load(const uint16_t* p) {
    auto* q = reinterpret_cast<const __m256i*>(p);
    return {_mm256_load_si256(q), _mm256_load_si256(q + 1)};
}
inline Lanes fill(uint16_t x) {
    __m256i v = _mm256_set1_epi16(static_cast<short>(x));
    return {v, v};
}

#else

struct Lanes {
    uint16_t x[kLanes];

    template <class Value>
    static Lanes each(Value value) {
        Lanes result;
        for (int i = 0; i < kLanes; ++i) result.x[i] = static_cast<uint16_t>(value(i));
        return result;
    }
    friend void store(uint16_t* p, Lanes a) {
        for (int i = 0; i < kLanes; ++i) p[i] = a.x[i];
    }
    friend Lanes add(Lanes a, Lanes b) {
        return each([&](int i) { return a.x[i] + b.x[i] < 65535 ? a.x[i] + b.x[i] : 65535; });
    }
    friend Lanes min(Lanes a, Lanes b) {
        return each([&](int i) { return a.x[i] < b.x[i] ? a.x[i] : b.x[i]; });
    }
    friend Lanes max(Lanes a, Lanes b) {
        return each([&](int i) { return a.x[i] > b.x[i] ? a.x[i] : b.x[i]; });
    }
    friend LaneMask equal(Lanes a, Lanes b) {
        LaneMask mask = 0;
        for (int i = 0; i < kLanes; ++i) mask |= static_cast<LaneMask>(a.x[i] == b.x[i]) << i;
        return mask;
    }
    friend Lanes select(LaneMask mask, Lanes a, Lanes b) {
        return each([&](int i) { return (mask >> i) & 1 ? a.x[i] : b.x[i]; });
    }
};
inline Lanes load(const uint16_t* p) {
    return Lanes::each([&](int i) { return p[i]; });
}
inline Lanes fill(uint16_t x) {
    return Lanes::each([&](int) { return x; });
}

#endif

#if !defined(__AVX512BW__) || !defined(__AVX512VL__)
inline LaneMask less(Lanes a, Lanes b) {
    return ~equal(max(a, b), a);
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
