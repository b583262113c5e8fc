#include "networks/nlm/kernel_rows.hpp"

namespace hstar {

template <class L>
static inline L slope(Activation activation, L y) {
    if (activation == Activation::Sigmoid) return multiply(y, subtract(fill<L>(1.0f), y));
    return activation == Activation::Relu ? keep(less(fill<L>(0.0f), y), fill<L>(1.0f)) : fill<L>(1.0f);
}

static void undo_activation(Activation activation, int64_t count, int pitch, const float* y,
                            float* gradient) {
    using L = HalfFloats;  // for every pitch
    for (int64_t i = 0; i < count * pitch; i += lanes_of<L>)
        store(gradient + i, multiply(load<L>(gradient + i), slope(activation, load<L>(y + i))));
}

// kColumns columns of the matrix are summed at once, as many as registers allow. Rows are padded, so reading
// that many stays inside of them.
template <class L, int kColumns>
static void weight_gradient_columns(int64_t count, const float* rows, const int* index, int row_pitch,
                                    int channels, const float* gradient, int pitch, float* result) {
    for (int lane = 0; lane < pitch; lane += lanes_of<L>)
        for (int first = 0; first < channels; first += kColumns) {
            const int size = channels - first < kColumns ? channels - first : kColumns;
            L sum[kColumns];
            HSTAR_EACH (c, kColumns) sum[c] = fill<L>(0.0f);
            for (int64_t t = 0; t < count; ++t) {
                const L g = load<L>(gradient + t * pitch + lane);
                const float* x = rows + place(index, t) * row_pitch + first;
                HSTAR_EACH (c, kColumns) sum[c] = fma(fill<L>(x[c]), g, sum[c]);
            }
            for (int c = 0; c < size; ++c) {
                float* place = result + static_cast<int64_t>(first + c) * pitch + lane;
                store(place, add(load<L>(place), sum[c]));
            }
        }
}

static void weight_gradient(int64_t count, const float* rows, const int* index, int row_pitch, int channels,
                            const float* gradient, int pitch, float* result) {
#if defined(__AVX512F__)
    constexpr int kMost = 16;
#else
    constexpr int kMost = 4;
#endif
    constexpr int kFew = kMost < 8 ? kMost : 8;
    const bool is_narrow = pitch == kHalfFloats;
    const auto sum =
        row_pitch == kHalfFloats
            ? (is_narrow ? weight_gradient_columns<HalfFloats, kFew> : weight_gradient_columns<Floats, kFew>)
            : (is_narrow ? weight_gradient_columns<HalfFloats, kMost>
                         : weight_gradient_columns<Floats, kMost>);
    sum(count, rows, index, row_pitch, channels, gradient, pitch, result);
}

template <class L>
static void scatter_rows(int64_t count, int pitch, const float* gradient, const int* index, float* result) {
    for (int lane = 0; lane < pitch; lane += lanes_of<L>) {
        if (index) {
            for (int64_t t = 0; t < count; ++t) {
                float* place = result + static_cast<int64_t>(index[t]) * pitch + lane;
                store(place, add(load<L>(place), load<L>(gradient + t * pitch + lane)));
            }
        } else {
            L sum = load<L>(result + lane);
            for (int64_t t = 0; t < count; ++t) sum = add(sum, load<L>(gradient + t * pitch + lane));
            store(result + lane, sum);
        }
    }
}

static void scatter(int64_t count, int pitch, const float* gradient, const int* index, float* result) {
    if (count == 0) return;  // there may be no result either
    const auto add_rows = pitch == kHalfFloats ? scatter_rows<HalfFloats> : scatter_rows<Floats>;
    add_rows(count, pitch, gradient, index, result);
}

// Ties share a gradient evenly: `below` and `above` are those of the least and the greatest of the values
// value(k) for 0 <= k < size that are not left out; give(k, share) takes what is due to one of them.
template <class L, class LeftOut, class Value, class Give>
static inline void share_out(int size, LeftOut is_left_out, Value value, L least, L greatest, L below,
                             L above, L ties_below, L ties_above, Give give) {
    const L one = fill<L>(1.0f);
    for (int k = 0; k < size; ++k) {
        if (is_left_out(k)) continue;
        const L x = value(k);
        ties_below = add(ties_below, keep(equal(x, least), one));
        ties_above = add(ties_above, keep(equal(x, greatest), one));
    }
    below = divide(below, ties_below);
    above = divide(above, ties_above);
    for (int k = 0; k < size; ++k) {
        if (is_left_out(k)) continue;
        const L x = value(k);
        const auto is_least = equal(x, least), is_greatest = equal(x, greatest);
        if (any(is_least, is_greatest)) give(k, add(keep(is_least, below), keep(is_greatest, above)));
    }
}

template <bool exclude, MapKind kind, int known_pitch>
static void undo_reduce_rows(const NlmReduction& r, const float* min_gradient, const float* max_gradient,
                             float* gradient) {
    using L = LanesFor<known_pitch>;
    const int pitch = known_pitch ? known_pitch : r.pitch;
    const L one = fill<L>(1.0f);
    for (int lane = 0; lane < pitch; lane += lanes_of<L>)
        for (int64_t s = 0; s < r.count; ++s) {
            const RowFinder<kind> source(r.map, r.n, s);
            const LeftOut<exclude && kind != MapKind::List> is_left_out(r.arity, r.n, s);
            const int size = num_rows<kind>(r, s);
            const int64_t row = s * pitch + lane;
            const L least = load<L>(r.min + row), greatest = load<L>(r.max + row);
            // Tuples left out take part with the value 1 or 0.
            const int num_left_out =
                kind == MapKind::List ? 2 * exclude : count_left_out(exclude, r.arity, r.n, s);
            const L left_out = fill<L>(static_cast<float>(num_left_out));
            L ties_below = keep(equal(least, one), left_out);
            L ties_above = keep(equal(greatest, fill<L>(0.0f)), left_out);
            const auto add_share = [&](int k, L share) {
                float* to = gradient + source(k) * pitch + lane;
                store(to, add(load<L>(to), share));
            };
            share_out(
                size, is_left_out, [&](int k) { return load<L>(r.rows + source(k) * pitch + lane); }, least,
                greatest, load<L>(min_gradient + row), load<L>(max_gradient + row), ties_below, ties_above,
                add_share);
        }
}

static void undo_reduce(const NlmReduction& r, const float* min_gradient, const float* max_gradient,
                        float* gradient) {
    const auto work = [&]<bool exclude, MapKind kind, int pitch>() {
        undo_reduce_rows<exclude, kind, pitch>(r, min_gradient, max_gradient, gradient);
    };
    if (r.map.begin) return with_pitch<MapKind::List>(r.exclude_self, r.pitch, work);
    dispatch(r.map, r.exclude_self, r.pitch, work);
}

template <bool exclude, MapKind kind, int known_pitch>
static void undo_sums(const NlmTriples& x, const float* min_gradient, const float* max_gradient, float* p01,
                      float* p02, float* p12, float* own) {
    using L = LanesFor<known_pitch>;
    const int pitch = known_pitch ? known_pitch : x.pitch;
    const int n = x.n;
    const L one = fill<L>(1.0f), zero = fill<L>(0.0f);
    for (int lane = 0; lane < pitch; lane += lanes_of<L>)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                if (exclude && (i == j || n < 3)) continue;
                const int64_t pair = (static_cast<int64_t>(i) * n + j) * pitch + lane;
                const RowFinder<kind> own_row(x.map, n, static_cast<int64_t>(i) * n + j);
                const L ij = load<L>(x.p01 + pair);
                const L least = load<L>(x.least + pair), greatest = load<L>(x.greatest + pair);
                const L low = activate(x.activation, add(ij, least));
                const L high = activate(x.activation, add(ij, greatest));
                L below = multiply(load<L>(min_gradient + pair), slope(x.activation, low));
                L above = multiply(load<L>(max_gradient + pair), slope(x.activation, high));
                L ties_below = zero, ties_above = zero;
                if (exclude) {
                    below = subtract(below, keep(less(one, low), below));
                    ties_below = keep(equal(low, one), fill<L>(2.0f));
                }
                const float* ik = x.p02 + static_cast<int64_t>(i) * n * pitch + lane;
                const float* jk = x.p12 + static_cast<int64_t>(j) * n * pitch + lane;
                auto sum = [&](int k) {
                    const L pairs = add(load<L>(ik + static_cast<int64_t>(k) * pitch),
                                        load<L>(jk + static_cast<int64_t>(k) * pitch));
                    return add(pairs, load<L>(x.own + own_row(k) * pitch + lane));
                };
                L total = zero;
                const auto add_share = [&](int k, L share) {
                    total = add(total, share);
                    auto give = [&](float* to) { store(to, add(load<L>(to), share)); };
                    give(p02 + (static_cast<int64_t>(i) * n + k) * pitch + lane);
                    give(p12 + (static_cast<int64_t>(j) * n + k) * pitch + lane);
                    give(own + own_row(k) * pitch + lane);
                };
                const auto is_left_out = [&](int k) { return exclude && (k == i || k == j); };
                share_out(n, is_left_out, sum, least, greatest, below, above, ties_below, ties_above,
                          add_share);
                store(p01 + pair, add(load<L>(p01 + pair), total));
            }
}

static void undo_triples(const NlmTriples& x, const float* min_gradient, const float* max_gradient,
                         float* p01, float* p02, float* p12, float* own) {
    dispatch(x.map, x.exclude_self, x.pitch, [&]<bool exclude, MapKind kind, int pitch>() {
        undo_sums<exclude, kind, pitch>(x, min_gradient, max_gradient, p01, p02, p12, own);
    });
}

NlmBackwardKernel HSTAR_NLM_BACKWARD() {
    return {undo_activation, weight_gradient, scatter, undo_reduce, undo_triples};
}

}  // namespace hstar
