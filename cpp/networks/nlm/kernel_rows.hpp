// Shared by the two halves of the kernel: activations, and which row belongs to which tuple. Included where
// the code is compiled once per instruction set, so everything is static.
#pragma once
#include <type_traits>

#include "lanes/float_lanes.hpp"
#include "networks/nlm/kernel.hpp"

namespace hstar {

// The lanes for rows of a pitch.
template <int pitch>
using LanesFor = std::conditional_t<pitch == kHalfFloats, HalfFloats, Floats>;

// 1 / (1 + e^-x), to about two units in the last place. e^t = 2^n e^r with |r| <= log(2) / 2, and e^r by a
// polynomial of degree 6 (Chebyshev fit, relative error 1.1e-8). min and max return their second operand when
// one is not a number, so NaN passes through.
template <class L>
static inline L sigmoid(L x) {
    const L t = max(fill<L>(-87.0f), min(fill<L>(87.0f), subtract(fill<L>(0.0f), x)));
    const L magic = fill<L>(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
    const L shifted = fma(t, fill<L>(1.44269504f), magic);
    const L n = subtract(shifted, magic);
    L r = fma(n, fill<L>(-0.693145752f), t);
    r = fma(n, fill<L>(-1.42860677e-6f), r);
    L p = fill<L>(0x1.6d113cp-10f);
    p = fma(p, r, fill<L>(0x1.120ba2p-7f));
    p = fma(p, r, fill<L>(0x1.55551ap-5f));
    p = fma(p, r, fill<L>(0x1.5554dcp-3f));
    p = fma(p, r, fill<L>(0.5f));
    p = fma(p, r, fill<L>(1.0f));
    p = fma(p, r, fill<L>(1.0f));
    return divide(fill<L>(1.0f), fma(p, power_of_two(shifted), fill<L>(1.0f)));
}

template <class L>
static inline L activate(Activation activation, L x) {
    if (activation == Activation::Sigmoid) return sigmoid(x);
    return activation == Activation::Relu ? max(x, fill<L>(0.0f)) : x;
}

static inline int64_t place(const int* index, int64_t t) {
    return index ? index[t] : t;
}

// Rows of the tuples (s, k) for one s.
enum class MapKind { Number, Direct, Table, List };

template <MapKind kind>
struct RowFinder {
    const int *a = nullptr, *b = nullptr, *c = nullptr;
    int64_t first = 0;
    RowFinder() = default;
    RowFinder(const NlmRowMap& map, int n, int64_t s) {
        if constexpr (kind == MapKind::Number) {
            first = s * n;
        } else if constexpr (kind == MapKind::Direct) {
            a = map.direct + s * n;
        } else if constexpr (kind == MapKind::List) {
            a = map.items + map.begin[s];
        } else {
            const int64_t i = s / n, j = s % n;
            a = map.table + static_cast<int64_t>(map.scaled_type[s]) * map.num_types;
            b = map.scaled_type + i * n;
            c = map.type + j * n;
        }
    }
    inline int64_t operator()(int k) const {
        if constexpr (kind == MapKind::Number) return first + k;
        if constexpr (kind == MapKind::Direct || kind == MapKind::List) return a[k];
        return a[b[k] + c[k]];
    }
    // For several finders whose tuples end with the same object: what they share.
    inline int shared(int k) const { return kind == MapKind::Table ? c[k] : 0; }
    inline int64_t operator()(int k, int shared) const {
        if constexpr (kind == MapKind::Table) return a[b[k] + shared];
        return (*this)(k);
    }
};

// How many tuples (s, k) there are for one s.
template <MapKind kind>
static inline int num_rows(const NlmReduction& r, int64_t s) {
    return kind == MapKind::List ? r.map.begin[s + 1] - r.map.begin[s] : r.n;
}

// Calls work<exclude, kind, pitch>() for the kind of map, for whether tuples with equal members are left out,
// and for the usual pitches, where the compiler then needs no multiplications (0: any other).
template <MapKind kind, class Work>
static inline void with_pitch(bool exclude, int pitch, Work work) {
    const auto with = [&]<int known_pitch>() {
        exclude ? work.template operator()<true, kind, known_pitch>()
                : work.template operator()<false, kind, known_pitch>();
    };
    if (pitch == kHalfFloats) return with.template operator()<kHalfFloats>();
    pitch == kFloats ? with.template operator()<kFloats>() : with.template operator()<0>();
}
template <class Work>
static inline void dispatch(const NlmRowMap& map, bool exclude, int pitch, Work work) {
    if (map.table) return with_pitch<MapKind::Table>(exclude, pitch, work);
    map.direct ? with_pitch<MapKind::Direct>(exclude, pitch, work)
               : with_pitch<MapKind::Number>(exclude, pitch, work);
}

// Which tuples (s, k) are left out for one s: those with equal members. Found once per s: a division per
// tuple would take longer than all the rest.
template <bool exclude>
struct LeftOut {
    int first = -1, second = -1;  // members of s
    LeftOut() = default;
    LeftOut(int arity, int n, int64_t s) {
        if (!exclude || arity < 2) return;
        first = static_cast<int>(arity == 3 ? s / n : s);
        second = static_cast<int>(arity == 3 ? s % n : -1);
    }
    inline bool operator()(int k) const { return exclude && (k == first || k == second || is_whole()); }
    inline bool is_whole() const { return first >= 0 && first == second; }
};

static inline int count_left_out(bool exclude, int arity, int n, int64_t s) {
    if (!exclude || arity < 2) return 0;
    if (arity == 2) return 1;
    return s / n == s % n ? n : 2;
}

}  // namespace hstar
