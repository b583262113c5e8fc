#include "networks/nlm/kernel_rows.hpp"

namespace hstar {

// How many columns of a matrix are summed at once: as many as registers allow.
#if defined(__AVX512F__)
static constexpr int kColumns = 16;
#else
static constexpr int kColumns = 4;
#endif

static inline Floats slope(Activation activation, Floats y) {
    if (activation == Activation::Sigmoid) return multiply(y, subtract(fill(1.0f), y));
    return activation == Activation::Relu ? keep(less(fill(0.0f), y), fill(1.0f)) : fill(1.0f);
}

static void undo_activation(Activation activation, int64_t count, int pitch, const float* y,
                            float* gradient) {
    for (int64_t i = 0; i < count * pitch; i += kFloats)
        store(gradient + i, multiply(load(gradient + i), slope(activation, load(y + i))));
}

static void weight_gradient(int64_t count, const float* rows, const int* index, int row_pitch, int channels,
                            const float* gradient, int pitch, float* result) {
    for (int lane = 0; lane < pitch; lane += kFloats)
        for (int first = 0; first < channels; first += kColumns) {
            const int size = channels - first < kColumns ? channels - first : kColumns;
            Floats sum[kColumns];
            HSTAR_UNROLL
            for (int c = 0; c < kColumns; ++c) sum[c] = fill(0.0f);
            // Rows are padded, so reading whole tiles of columns stays inside of them.
            for (int64_t t = 0; t < count; ++t) {
                const Floats g = load(gradient + t * pitch + lane);
                const float* x = rows + place(index, t) * row_pitch + first;
                HSTAR_UNROLL
                for (int c = 0; c < kColumns; ++c) sum[c] = fma(fill(x[c]), g, sum[c]);
            }
            for (int c = 0; c < size; ++c) {
                float* place = result + static_cast<int64_t>(first + c) * pitch + lane;
                store(place, add(load(place), sum[c]));
            }
        }
}

static void scatter(int64_t count, int pitch, const float* gradient, const int* index, float* result) {
    for (int64_t t = 0; t < count; ++t)
        for (int lane = 0; lane < pitch; lane += kFloats) {
            float* place = result + (index ? static_cast<int64_t>(index[t]) * pitch : 0) + lane;
            store(place, add(load(place), load(gradient + t * pitch + lane)));
        }
}

template <bool exclude, MapKind kind, int known_pitch>
static void undo_reduce_rows(const NlmReduction& r, const float* min_gradient, const float* max_gradient,
                             float* gradient) {
    const int pitch = known_pitch ? known_pitch : r.pitch;
    const int64_t count = r.arity == 3 ? static_cast<int64_t>(r.n) * r.n : r.arity == 2 ? r.n : 1;
    const Floats one = fill(1.0f);
    for (int lane = 0; lane < pitch; lane += kFloats)
        for (int64_t s = 0; s < count; ++s) {
            const RowFinder<kind> source(r.map, r.n, s);
            const int64_t row = s * pitch + lane;
            const Floats least = load(r.min + row), greatest = load(r.max + row);
            // Tuples left out take part with the value 1 or 0.
            const Floats left_out = fill(static_cast<float>(count_left_out(exclude, r.arity, r.n, s)));
            Floats ties_below = keep(equal(least, one), left_out);
            Floats ties_above = keep(equal(greatest, fill(0.0f)), left_out);
            for (int k = 0; k < r.n; ++k) {
                if (is_left_out<exclude>(r.arity, r.n, s, k)) continue;
                const Floats x = load(r.rows + source(k) * pitch + lane);
                ties_below = add(ties_below, keep(equal(x, least), one));
                ties_above = add(ties_above, keep(equal(x, greatest), one));
            }
            const Floats below = divide(load(min_gradient + row), ties_below);
            const Floats above = divide(load(max_gradient + row), ties_above);
            for (int k = 0; k < r.n; ++k) {
                if (is_left_out<exclude>(r.arity, r.n, s, k)) continue;
                const int64_t at = source(k) * pitch + lane;
                const Floats x = load(r.rows + at);
                const FloatMask is_least = equal(x, least), is_greatest = equal(x, greatest);
                if (!any(is_least, is_greatest)) continue;
                const Floats share = add(keep(is_least, below), keep(is_greatest, above));
                store(gradient + at, add(load(gradient + at), share));
            }
        }
}

static void undo_reduce(const NlmReduction& r, const float* min_gradient, const float* max_gradient,
                        float* gradient) {
    HSTAR_DISPATCH(undo_reduce_rows, r.map, r.exclude_self, r.pitch, r, min_gradient, max_gradient, gradient)
}

static void undo_reduce_sets(const NlmSetReduction& r, const float* min_gradient, const float* max_gradient,
                             float* gradient) {
    const Floats one = fill(1.0f);
    for (int lane = 0; lane < r.pitch; lane += kFloats)
        for (int s = 0; s < r.count; ++s) {
            if (r.begin[s] == r.begin[s + 1]) continue;
            const int64_t row = static_cast<int64_t>(s) * r.pitch + lane;
            const Floats least = load(r.min + row), greatest = load(r.max + row);
            const Floats left_out = fill(r.exclude_self ? 2.0f : 0.0f);
            Floats ties_below = keep(equal(least, one), left_out);
            Floats ties_above = keep(equal(greatest, fill(0.0f)), left_out);
            for (int i = r.begin[s]; i < r.begin[s + 1]; ++i) {
                const Floats x = load(r.rows + static_cast<int64_t>(r.items[i]) * r.pitch + lane);
                ties_below = add(ties_below, keep(equal(x, least), one));
                ties_above = add(ties_above, keep(equal(x, greatest), one));
            }
            const Floats below = divide(load(min_gradient + row), ties_below);
            const Floats above = divide(load(max_gradient + row), ties_above);
            for (int i = r.begin[s]; i < r.begin[s + 1]; ++i) {
                const int64_t at = static_cast<int64_t>(r.items[i]) * r.pitch + lane;
                const Floats x = load(r.rows + at);
                const Floats share = add(keep(equal(x, least), below), keep(equal(x, greatest), above));
                store(gradient + at, add(load(gradient + at), share));
            }
        }
}

template <bool exclude, MapKind kind, int known_pitch>
static void undo_sums(const NlmTriples& x, const float* min_gradient, const float* max_gradient, float* p01,
                      float* p02, float* p12, float* own) {
    const int pitch = known_pitch ? known_pitch : x.pitch;
    const int n = x.n;
    const Floats one = fill(1.0f), zero = fill(0.0f);
    for (int lane = 0; lane < pitch; lane += kFloats)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                if (exclude && (i == j || n < 3)) continue;
                const int64_t pair = (static_cast<int64_t>(i) * n + j) * pitch + lane;
                const RowFinder<kind> own_row(x.map, n, static_cast<int64_t>(i) * n + j);
                const Floats ij = load(x.p01 + pair);
                const Floats least = load(x.least + pair), greatest = load(x.greatest + pair);
                const Floats low = activate(x.activation, add(ij, least));
                const Floats high = activate(x.activation, add(ij, greatest));
                Floats below = multiply(load(min_gradient + pair), slope(x.activation, low));
                Floats above = multiply(load(max_gradient + pair), slope(x.activation, high));
                Floats ties_below = zero, ties_above = zero;
                if (exclude) {
                    below = subtract(below, keep(less(one, low), below));
                    ties_below = keep(equal(low, one), fill(2.0f));
                }
                const float* ik = x.p02 + static_cast<int64_t>(i) * n * pitch + lane;
                const float* jk = x.p12 + static_cast<int64_t>(j) * n * pitch + lane;
                auto sum = [&](int k) {
                    const Floats pairs = add(load(ik + static_cast<int64_t>(k) * pitch),
                                             load(jk + static_cast<int64_t>(k) * pitch));
                    return add(pairs, load(x.own + own_row(k) * pitch + lane));
                };
                for (int k = 0; k < n; ++k) {
                    if (exclude && (k == i || k == j)) continue;
                    const Floats v = sum(k);
                    ties_below = add(ties_below, keep(equal(v, least), one));
                    ties_above = add(ties_above, keep(equal(v, greatest), one));
                }
                below = divide(below, ties_below);
                above = divide(above, ties_above);
                Floats total = zero;
                for (int k = 0; k < n; ++k) {
                    if (exclude && (k == i || k == j)) continue;
                    const Floats v = sum(k);
                    const FloatMask is_least = equal(v, least), is_greatest = equal(v, greatest);
                    if (!any(is_least, is_greatest)) continue;
                    const Floats share = add(keep(is_least, below), keep(is_greatest, above));
                    total = add(total, share);
                    auto give = [&](float* to) { store(to, add(load(to), share)); };
                    give(p02 + (static_cast<int64_t>(i) * n + k) * pitch + lane);
                    give(p12 + (static_cast<int64_t>(j) * n + k) * pitch + lane);
                    give(own + own_row(k) * pitch + lane);
                }
                store(p01 + pair, add(load(p01 + pair), total));
            }
}

static void undo_triples(const NlmTriples& x, const float* min_gradient, const float* max_gradient,
                         float* p01, float* p02, float* p12,
                         float* own){HSTAR_DISPATCH(undo_sums, x.map, x.exclude_self, x.pitch, x,
                                                    min_gradient, max_gradient, p01, p02, p12, own)}

NlmBackwardKernel HSTAR_NLM_BACKWARD() {
    return {undo_activation, weight_gradient, scatter, undo_reduce, undo_reduce_sets, undo_triples};
}

}  // namespace hstar
