// 16 sums of 32 bits side by side, to which products of small whole numbers are added. Everything has
// internal linkage: each translation unit that includes this is compiled for its own instruction set, and the
// linker must not mix them.
#pragma once
#include <cstdint>
#include <cstring>

#include "lanes/float_lanes.hpp"

constexpr int kSums = 16;

namespace {

inline int32_t four_bytes(const void* p) {
    int32_t result;
    std::memcpy(&result, p, 4);
    return result;
}

#if defined(__AVX2__)
inline __m256i load_half(const void* p, int half) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p) + half);
}
#endif

// add_products(x, weights) multiplies four bytes or two words at x with as many weights per sum.
#if defined(__AVX512BW__)
struct Sums {
    __m512i v = _mm512_setzero_si512();
    static Sums load(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
    void store(int32_t* p) const { _mm512_storeu_si512(p, v); }
    Floats floats() const { return {{_mm512_cvtepi32_ps(v)}}; }
    void add(const int16_t* x) { v = _mm512_add_epi32(v, _mm512_cvtepi16_epi32(load_half(x, 0))); }
    void add_products(const uint8_t* x, const int8_t* weights) {
        const __m512i inputs = _mm512_set1_epi32(four_bytes(x)), w = _mm512_loadu_si512(weights);
#if defined(__AVX512VNNI__)
        v = _mm512_dpbusd_epi32(v, inputs, w);
#else
        const __m512i pairs = _mm512_maddubs_epi16(inputs, w);
        v = _mm512_add_epi32(v, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#endif
    }
    void add_products(const int16_t* x, const int16_t* weights) {
        const __m512i inputs = _mm512_set1_epi32(four_bytes(x)), w = _mm512_loadu_si512(weights);
#if defined(__AVX512VNNI__)
        v = _mm512_dpwssd_epi32(v, inputs, w);
#else
        v = _mm512_add_epi32(v, _mm512_madd_epi16(inputs, w));
#endif
    }
};
#elif defined(__AVX2__)
struct Sums {
    __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
    static Sums load(const int32_t* p) { return {load_half(p, 0), load_half(p, 1)}; }
    void store(int32_t* p) const {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), low);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), high);
    }
    Floats floats() const { return {{_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)}}; }
    void add(const int16_t* x) {
        const __m256i words = load_half(x, 0);
        low = _mm256_add_epi32(low, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(words)));
        high = _mm256_add_epi32(high, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(words, 1)));
    }
    void add_products(const uint8_t* x, const int8_t* weights) {
        const __m256i inputs = _mm256_set1_epi32(four_bytes(x)), one = _mm256_set1_epi16(1);
        const auto products = [&](int half) __attribute__((always_inline)) {
            return _mm256_madd_epi16(_mm256_maddubs_epi16(inputs, load_half(weights, half)), one);
        };
        low = _mm256_add_epi32(low, products(0));
        high = _mm256_add_epi32(high, products(1));
    }
    void add_products(const int16_t* x, const int16_t* weights) {
        const __m256i inputs = _mm256_set1_epi32(four_bytes(x));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(inputs, load_half(weights, 0)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(inputs, load_half(weights, 1)));
    }
};
#else
struct Sums {
    int32_t v[kSums] = {};
    static Sums load(const int32_t* p) {
        Sums sums;
        std::memcpy(sums.v, p, sizeof sums.v);
        return sums;
    }
    void store(int32_t* p) const { std::memcpy(p, v, sizeof v); }
    Floats floats() const {
        Floats result;
        for (int i = 0; i < kSums; ++i) result.v[i] = static_cast<float>(v[i]);
        return result;
    }
    void add(const int16_t* x) {
        for (int i = 0; i < kSums; ++i) v[i] += x[i];
    }
    template <class Input, class Weight>
    void add_products(const Input* x, const Weight* weights) {
        constexpr int kInputs = 4 / sizeof(Input);
        for (int i = 0; i < kSums; ++i)
            for (int j = 0; j < kInputs; ++j) v[i] += x[j] * weights[kInputs * i + j];
    }
};
#endif

}  // namespace
