#include <cmath>

#include "lanes/pieces.hpp"
#include "networks/nlm/kernel_rows.hpp"

namespace hstar {

// How many rows share a load of the weights: as many as registers allow.
#if defined(__AVX512F__)
static constexpr int kTile = 8;
#elif defined(__AVX2__)
static constexpr int kTile = 6;
#else
static constexpr int kTile = 4;
#endif
static constexpr int kStreams = 4;  // reductions side by side, so that their latencies overlap

// kRows rows from `first` on.
template <class L, int kRows>
static inline void affine_tile(const NlmAffine& a, int lane, int64_t first, L bias) {
    L sum[kRows];
    HSTAR_EACH (t, kRows) sum[t] = bias;
    for (int i = 0; i < a.num_addends; ++i) {
        const NlmAddend& addend = a.addends[i];
        HSTAR_EACH (t, kRows)
            sum[t] = add(sum[t], load<L>(addend.rows + place(addend.index, first + t) * a.pitch + lane));
    }
    for (int i = 0; i < a.num_products; ++i) {
        const NlmProduct& product = a.products[i];
        const float* x[kRows];
        HSTAR_EACH (t, kRows) x[t] = product.rows + place(product.index, first + t) * product.pitch;
        const float* weights = product.weights + lane;
        for (int c = 0; c < product.channels; ++c, weights += a.pitch) {
            const L w = load<L>(weights);
            HSTAR_EACH (t, kRows) sum[t] = fma(fill<L>(x[t][c]), w, sum[t]);
        }
    }
    if (a.activation == Activation::Sigmoid) {
        HSTAR_EACH (t, kRows) sum[t] = sigmoid(sum[t]);
    } else if (a.activation == Activation::Relu) {
        HSTAR_EACH (t, kRows) sum[t] = max(sum[t], fill<L>(0.0f));
    }
    HSTAR_EACH (t, kRows) store(a.result + (first + t) * a.pitch + lane, sum[t]);
}

template <class L>
static void affine_rows(const NlmAffine& a) {
    for (int lane = 0; lane < a.pitch; lane += lanes_of<L>) {
        const L bias = a.bias ? load<L>(a.bias + lane) : fill<L>(0.0f);
        in_pieces<kTile, 4, 2, 1>(
            a.count, [&]<int kRows>(int64_t first) { affine_tile<L, kRows>(a, lane, first, bias); });
    }
}

static void affine(const NlmAffine& a) {
    a.pitch == kHalfFloats ? affine_rows<HalfFloats>(a) : affine_rows<Floats>(a);
}

template <bool exclude, MapKind kind, int known_pitch>
static void reduce_rows(const NlmReduction& r) {
    using L = LanesFor<known_pitch>;
    const int pitch = known_pitch ? known_pitch : r.pitch;
    const L infinity = fill<L>(INFINITY), minus_infinity = fill<L>(-INFINITY);
    for (int lane = 0; lane < pitch; lane += lanes_of<L>)
        for (int64_t first = 0; first < r.count; first += kStreams) {
            int64_t s[kStreams];
            int size[kStreams], most = 0;
            RowFinder<kind> row[kStreams];
            LeftOut<exclude && kind != MapKind::List> is_left_out[kStreams];
            L least[kStreams], greatest[kStreams];
            for (int u = 0; u < kStreams; ++u) {
                s[u] = first + u < r.count ? first + u : r.count - 1;
                row[u] = RowFinder<kind>(r.map, r.n, s[u]);
                is_left_out[u] = {r.arity, r.n, s[u]};
                size[u] = num_rows<kind>(r, s[u]);
                most = most > size[u] ? most : size[u];
                least[u] = infinity;
                greatest[u] = minus_infinity;
            }
            for (int k = 0; k < most; ++k) {
                HSTAR_EACH (u, kStreams) {
                    if ((kind == MapKind::List && k >= size[u]) || is_left_out[u](k)) continue;
                    const L x = load<L>(r.rows + row[u](k) * pitch + lane);
                    least[u] = min(least[u], x);
                    greatest[u] = max(greatest[u], x);
                }
            }
            for (int u = 0; u < kStreams; ++u) {
                if (r.n == 0) least[u] = greatest[u] = fill<L>(0.0f);
                if (exclude && r.arity > 1 && r.n > 0) {
                    least[u] = min(least[u], fill<L>(1.0f));
                    greatest[u] = max(greatest[u], fill<L>(0.0f));
                }
                store(r.min + s[u] * pitch + lane, least[u]);
                store(r.max + s[u] * pitch + lane, greatest[u]);
            }
        }
}

static void reduce(const NlmReduction& r) {
    const auto work = [&]<bool exclude, MapKind kind, int pitch>() { reduce_rows<exclude, kind, pitch>(r); };
    if (r.map.begin) return with_pitch<MapKind::List>(r.exclude_self, r.pitch, work);
    dispatch(r.map, r.exclude_self, r.pitch, work);
}

template <bool exclude, MapKind kind, int known_pitch>
static void reduce_sums(const NlmTriples& x) {
    using L = LanesFor<known_pitch>;
    const int pitch = known_pitch ? known_pitch : x.pitch;
    const int n = x.n;
    const int64_t line = static_cast<int64_t>(n) * pitch;
    const L infinity = fill<L>(INFINITY), minus_infinity = fill<L>(-INFINITY);
    // Several i side by side: their rows of p02 stay in the first cache, those of p12 are read once for all.
    for (int lane = 0; lane < pitch; lane += lanes_of<L>)
        for (int first = 0; first < n; first += kStreams)
            for (int j = 0; j < n; ++j) {
                int i[kStreams];
                const float* p02[kStreams];
                RowFinder<kind> own[kStreams];
                L least[kStreams], greatest[kStreams];
                for (int u = 0; u < kStreams; ++u) {
                    i[u] = first + u < n ? first + u : n - 1;
                    p02[u] = x.p02 + i[u] * line + lane;
                    own[u] = RowFinder<kind>(x.map, n, static_cast<int64_t>(i[u]) * n + j);
                    least[u] = infinity;
                    greatest[u] = minus_infinity;
                }
                const float* p12 = x.p12 + j * line + lane;
                for (int k = 0; k < n; ++k) {
                    if (exclude && k == j) continue;
                    const L jk = load<L>(p12 + static_cast<int64_t>(k) * pitch);
                    const int shared = own[0].shared(k);
                    HSTAR_EACH (u, kStreams) {
                        if (exclude && k == i[u]) continue;
                        L sum = add(load<L>(p02[u] + static_cast<int64_t>(k) * pitch), jk);
                        sum = add(sum, load<L>(x.own + own[u](k, shared) * pitch + lane));
                        least[u] = min(least[u], sum);
                        greatest[u] = max(greatest[u], sum);
                    }
                }
                for (int u = 0; u < kStreams; ++u) {
                    const int64_t row = (static_cast<int64_t>(i[u]) * n + j) * pitch + lane;
                    const L ij = load<L>(x.p01 + row);
                    store(x.least + row, least[u]);
                    store(x.greatest + row, greatest[u]);
                    L low = activate(x.activation, add(ij, least[u]));
                    L high = activate(x.activation, add(ij, greatest[u]));
                    if (exclude) {
                        low = min(low, fill<L>(1.0f));
                        high = max(high, fill<L>(0.0f));
                        if (n - count_left_out(true, 3, n, static_cast<int64_t>(i[u]) * n + j) <= 0)
                            low = fill<L>(1.0f), high = fill<L>(0.0f);
                    }
                    store(x.min + row, low);
                    store(x.max + row, high);
                }
            }
}

static void reduce_triples(const NlmTriples& x) {
    dispatch(x.map, x.exclude_self, x.pitch,
             [&]<bool exclude, MapKind kind, int pitch>() { reduce_sums<exclude, kind, pitch>(x); });
}

NlmKernel HSTAR_NLM() {
    return {HSTAR_NLM_BACKWARD(), affine, reduce, reduce_triples};
}

}  // namespace hstar
