// 16 floats side by side, and 8 for narrow rows. Every operation rounds as IEEE 754 says, the multiplication
// and addition of fma() as one, so all instruction sets return the same bits. Everything has internal
// linkage: each translation unit that includes this is compiled for its own instruction set, and the linker
// must not mix them.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

constexpr int kFloats = 16, kHalfFloats = 8;

// Before loops over a few vectors that are to stay in registers; without vector registers it only makes the
// code long.
#if defined(__AVX2__)
#define HSTAR_UNROLL _Pragma("GCC unroll 16")
#else
#define HSTAR_UNROLL
#endif
#define HSTAR_EACH(i, count) HSTAR_UNROLL for (int i = 0; i < count; ++i)

namespace {

// What a register can do besides the operators + - * /. min and max return their second operand when one is
// not a number. power_of_two is 2^n for the number n in the lowest bits of x = 1.5 * 2^23 + n.
struct FloatRegister1 {
    using Vector = float;
    using Mask = bool;
    static Vector load(const float* p) { return *p; }
    static void store(float* p, Vector a) { *p = a; }
    static Vector fill(float x) { return x; }
    static Vector square_root(Vector a) { return __builtin_sqrtf(a); }
    static Vector fma(Vector a, Vector b, Vector c) { return __builtin_fmaf(a, b, c); }
    static Vector min(Vector a, Vector b) { return a < b ? a : b; }
    static Vector max(Vector a, Vector b) { return a > b ? a : b; }
    static Mask equal(Vector a, Vector b) { return a == b; }
    static Mask less(Vector a, Vector b) { return a < b; }
    static Vector keep(Mask mask, Vector a) { return mask ? a : 0.0f; }
    static bool any(Mask a, Mask b) { return a || b; }
    static Vector power_of_two(Vector x) {
        return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 127u) << 23);
    }
};

// What is alike in vectors of 256 and 512 bits; `compare` is what makes their masks.
#define HSTAR_FLOAT_VECTOR(bits, MaskType, compare)                                                 \
    struct FloatVector##bits {                                                                      \
        using Vector = __m##bits;                                                                   \
        using Mask = MaskType;                                                                      \
        static Vector load(const float* p) { return _mm##bits##_load_ps(p); }                       \
        static void store(float* p, Vector a) { _mm##bits##_store_ps(p, a); }                       \
        static Vector fill(float x) { return _mm##bits##_set1_ps(x); }                              \
        static Vector square_root(Vector a) { return _mm##bits##_sqrt_ps(a); }                      \
        static Vector fma(Vector a, Vector b, Vector c) { return _mm##bits##_fmadd_ps(a, b, c); }   \
        static Vector min(Vector a, Vector b) { return _mm##bits##_min_ps(a, b); }                  \
        static Vector max(Vector a, Vector b) { return _mm##bits##_max_ps(a, b); }                  \
        static Mask equal(Vector a, Vector b) { return compare(a, b, _CMP_EQ_OQ); }                 \
        static Mask less(Vector a, Vector b) { return compare(a, b, _CMP_LT_OQ); }                  \
        static Vector power_of_two(Vector x) {                                                      \
            const auto biased =                                                                     \
                _mm##bits##_add_epi32(_mm##bits##_castps_si##bits(x), _mm##bits##_set1_epi32(127)); \
            return _mm##bits##_castsi##bits##_ps(_mm##bits##_slli_epi32(biased, 23));               \
        }                                                                                           \
    };

#if defined(__AVX2__) && defined(__FMA__)
HSTAR_FLOAT_VECTOR(256, __m256, _mm256_cmp_ps)
struct FloatRegister8 : FloatVector256 {
    static Vector keep(Mask mask, Vector a) { return _mm256_and_ps(mask, a); }
    static bool any(Mask a, Mask b) { return _mm256_movemask_ps(_mm256_or_ps(a, b)) != 0; }
};
#endif

#if defined(__AVX512F__)
HSTAR_FLOAT_VECTOR(512, __mmask16, _mm512_cmp_ps_mask)
struct FloatRegister16 : FloatVector512 {
    static Vector keep(Mask mask, Vector a) { return _mm512_maskz_mov_ps(mask, a); }
    static bool any(Mask a, Mask b) { return (a | b) != 0; }
};
#endif

// As many registers as hold N lanes.
template <class Register, int N>
struct FloatLanes {
    typename Register::Vector v[N * sizeof(float) / sizeof(typename Register::Vector)];
};
template <class Register, int N>
struct FloatMask {
    typename Register::Mask v[N * sizeof(float) / sizeof(typename Register::Vector)];
};
#if defined(__AVX512F__)
using Floats = FloatLanes<FloatRegister16, kFloats>;
using HalfFloats = FloatLanes<FloatRegister8, kHalfFloats>;
#elif defined(__AVX2__) && defined(__FMA__)
using Floats = FloatLanes<FloatRegister8, kFloats>;
using HalfFloats = FloatLanes<FloatRegister8, kHalfFloats>;
#else
using Floats = FloatLanes<FloatRegister1, kFloats>;
using HalfFloats = FloatLanes<FloatRegister1, kHalfFloats>;
#endif
template <class L>
constexpr int lanes_of = sizeof(L) / sizeof(float);

// The same in every register.
template <class Result, class Work>
inline Result each(Work work) {
    constexpr int kRegisters = std::size(Result().v);
    if constexpr (kRegisters == 1) return {{work(0)}};
    if constexpr (kRegisters == 2) return {{work(0), work(1)}};
    Result result;
    for (int i = 0; i < kRegisters; ++i) result.v[i] = work(i);
    return result;
}

#define HSTAR_LANES(Result, name, parameters, work)                                            \
    template <class R, int N>                                                                  \
    inline Result<R, N> name parameters {                                                      \
        return each<Result<R, N>>([&](int i) __attribute__((always_inline)) { return work; }); \
    }
#define HSTAR_ONE (FloatLanes<R, N> a)
#define HSTAR_TWO (FloatLanes<R, N> a, FloatLanes<R, N> b)
HSTAR_LANES(FloatLanes, add, HSTAR_TWO, a.v[i] + b.v[i])
HSTAR_LANES(FloatLanes, subtract, HSTAR_TWO, a.v[i] - b.v[i])
HSTAR_LANES(FloatLanes, multiply, HSTAR_TWO, a.v[i] * b.v[i])
HSTAR_LANES(FloatLanes, divide, HSTAR_TWO, a.v[i] / b.v[i])
HSTAR_LANES(FloatLanes, min, HSTAR_TWO, R::min(a.v[i], b.v[i]))
HSTAR_LANES(FloatLanes, max, HSTAR_TWO, R::max(a.v[i], b.v[i]))
HSTAR_LANES(FloatMask, equal, HSTAR_TWO, R::equal(a.v[i], b.v[i]))
HSTAR_LANES(FloatMask, less, HSTAR_TWO, R::less(a.v[i], b.v[i]))
HSTAR_LANES(FloatLanes, square_root, HSTAR_ONE, R::square_root(a.v[i]))
HSTAR_LANES(FloatLanes, power_of_two, HSTAR_ONE, R::power_of_two(a.v[i]))
HSTAR_LANES(FloatLanes, fma, (FloatLanes<R, N> a, FloatLanes<R, N> b, FloatLanes<R, N> c),
            R::fma(a.v[i], b.v[i], c.v[i]))
HSTAR_LANES(FloatLanes, keep, (FloatMask<R, N> mask, FloatLanes<R, N> a), R::keep(mask.v[i], a.v[i]))

template <class R, int N>
inline bool any(FloatMask<R, N> a, FloatMask<R, N> b) {
    bool result = false;
    for (size_t i = 0; i < std::size(a.v); ++i) result |= R::any(a.v[i], b.v[i]);
    return result;
}
template <class R, int N>
inline void store(float* p, FloatLanes<R, N> a) {
    for (size_t i = 0; i < std::size(a.v); ++i) R::store(p + i * N / std::size(a.v), a.v[i]);
}

template <class R, int N>
R register_of(FloatLanes<R, N>);
template <class L = Floats>
inline L load(const float* p) {
    constexpr int kStep = lanes_of<L> / std::size(L().v);
    return each<L>([&](int i) { return decltype(register_of(L()))::load(p + i * kStep); });
}
template <class L = Floats>
inline L fill(float x) {
    return each<L>([&](int) { return decltype(register_of(L()))::fill(x); });
}

}  // namespace
