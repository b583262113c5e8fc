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

static void affine(const NlmAffine& a) {
    for (int lane = 0; lane < a.pitch; lane += kFloats) {
        const Floats bias = a.bias ? load(a.bias + lane) : fill(0.0f);
        for (int64_t first = 0; first < a.count; first += kTile) {
            const int size = static_cast<int>(a.count - first < kTile ? a.count - first : kTile);
            int64_t row[kTile];
            for (int t = 0; t < kTile; ++t) row[t] = first + (t < size ? t : size - 1);
            Floats sum[kTile];
            HSTAR_UNROLL
            for (int t = 0; t < kTile; ++t) sum[t] = bias;
            for (int i = 0; i < a.num_addends; ++i) {
                const NlmAddend& addend = a.addends[i];
                HSTAR_UNROLL
                for (int t = 0; t < kTile; ++t)
                    sum[t] = add(sum[t], load(addend.rows + place(addend.index, row[t]) * a.pitch + lane));
            }
            for (int i = 0; i < a.num_products; ++i) {
                const NlmProduct& product = a.products[i];
                const float* x[kTile];
                HSTAR_UNROLL
                for (int t = 0; t < kTile; ++t)
                    x[t] = product.rows + place(product.index, row[t]) * product.pitch;
                const float* weights = product.weights + lane;
                for (int c = 0; c < product.channels; ++c, weights += a.pitch) {
                    const Floats w = load(weights);
                    HSTAR_UNROLL
                    for (int t = 0; t < kTile; ++t) sum[t] = fma(fill(x[t][c]), w, sum[t]);
                }
            }
            if (a.activation == Activation::Sigmoid) {
                HSTAR_UNROLL
                for (int t = 0; t < kTile; ++t) sum[t] = sigmoid(sum[t]);
            } else if (a.activation == Activation::Relu) {
                HSTAR_UNROLL
                for (int t = 0; t < kTile; ++t) sum[t] = max(sum[t], fill(0.0f));
            }
            for (int t = 0; t < size; ++t) store(a.result + (first + t) * a.pitch + lane, sum[t]);
        }
    }
}

template <bool exclude, MapKind kind, int known_pitch>
static void reduce_rows(const NlmReduction& r) {
    const int pitch = known_pitch ? known_pitch : r.pitch;
    const int64_t count = r.arity == 3 ? static_cast<int64_t>(r.n) * r.n : r.arity == 2 ? r.n : 1;
    const Floats infinity = fill(INFINITY), minus_infinity = fill(-INFINITY);
    for (int lane = 0; lane < pitch; lane += kFloats)
        for (int64_t first = 0; first < count; first += kStreams) {
            int64_t s[kStreams];
            RowFinder<kind> row[kStreams];
            Floats least[kStreams], greatest[kStreams];
            for (int u = 0; u < kStreams; ++u) {
                s[u] = first + u < count ? first + u : count - 1;
                row[u] = RowFinder<kind>(r.map, r.n, s[u]);
                least[u] = infinity;
                greatest[u] = minus_infinity;
            }
            for (int k = 0; k < r.n; ++k) {
                HSTAR_UNROLL
                for (int u = 0; u < kStreams; ++u) {
                    if (is_left_out<exclude>(r.arity, r.n, s[u], k)) continue;
                    const Floats x = load(r.rows + row[u](k) * pitch + lane);
                    least[u] = min(least[u], x);
                    greatest[u] = max(greatest[u], x);
                }
            }
            for (int u = 0; u < kStreams; ++u) {
                if (r.n == 0) least[u] = greatest[u] = fill(0.0f);
                if (exclude && r.arity > 1 && r.n > 0) {
                    least[u] = min(least[u], fill(1.0f));
                    greatest[u] = max(greatest[u], fill(0.0f));
                }
                store(r.min + s[u] * pitch + lane, least[u]);
                store(r.max + s[u] * pitch + lane, greatest[u]);
            }
        }
}

static void reduce(const NlmReduction& r) {
    HSTAR_DISPATCH(reduce_rows, r.map, r.exclude_self, r.pitch, r)
}

static void reduce_sets(const NlmSetReduction& r) {
    for (int lane = 0; lane < r.pitch; lane += kFloats)
        for (int s = 0; s < r.count; ++s) {
            Floats least = fill(r.exclude_self ? 1.0f : INFINITY);
            Floats greatest = fill(r.exclude_self ? 0.0f : -INFINITY);
            for (int i = r.begin[s]; i < r.begin[s + 1]; ++i) {
                const Floats x = load(r.rows + static_cast<int64_t>(r.items[i]) * r.pitch + lane);
                least = min(least, x);
                greatest = max(greatest, x);
            }
            store(r.min + static_cast<int64_t>(s) * r.pitch + lane, least);
            store(r.max + static_cast<int64_t>(s) * r.pitch + lane, greatest);
        }
}

template <bool exclude, MapKind kind, int known_pitch>
static void reduce_sums(const NlmTriples& x) {
    const int pitch = known_pitch ? known_pitch : x.pitch;
    const int n = x.n;
    const int64_t line = static_cast<int64_t>(n) * pitch;
    const Floats infinity = fill(INFINITY), minus_infinity = fill(-INFINITY);
    // Several i side by side: their rows of p02 stay in the first cache, those of p12 are read once for all.
    for (int lane = 0; lane < pitch; lane += kFloats)
        for (int first = 0; first < n; first += kStreams)
            for (int j = 0; j < n; ++j) {
                int i[kStreams];
                const float* p02[kStreams];
                RowFinder<kind> own[kStreams];
                Floats least[kStreams], greatest[kStreams];
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
                    const Floats jk = load(p12 + static_cast<int64_t>(k) * pitch);
                    const int shared = own[0].shared(k);
                    HSTAR_UNROLL
                    for (int u = 0; u < kStreams; ++u) {
                        if (exclude && k == i[u]) continue;
                        Floats sum = add(load(p02[u] + static_cast<int64_t>(k) * pitch), jk);
                        sum = add(sum, load(x.own + own[u](k, shared) * pitch + lane));
                        least[u] = min(least[u], sum);
                        greatest[u] = max(greatest[u], sum);
                    }
                }
                for (int u = 0; u < kStreams; ++u) {
                    const int64_t row = (static_cast<int64_t>(i[u]) * n + j) * pitch + lane;
                    const Floats ij = load(x.p01 + row);
                    store(x.least + row, least[u]);
                    store(x.greatest + row, greatest[u]);
                    Floats low = activate(x.activation, add(ij, least[u]));
                    Floats high = activate(x.activation, add(ij, greatest[u]));
                    if (exclude) {
                        low = min(low, fill(1.0f));
                        high = max(high, fill(0.0f));
                        if (n - count_left_out(true, 3, n, static_cast<int64_t>(i[u]) * n + j) <= 0)
                            low = fill(1.0f), high = fill(0.0f);
                    }
                    store(x.min + row, low);
                    store(x.max + row, high);
                }
            }
}

static void reduce_triples(const NlmTriples& x){
    HSTAR_DISPATCH(reduce_sums, x.map, x.exclude_self, x.pitch, x)}

NlmForwardKernel HSTAR_NLM_FORWARD() {
    return {affine, reduce, reduce_sets, reduce_triples};
}

}  // namespace hstar
