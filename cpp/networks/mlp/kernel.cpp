#include "networks/mlp/kernel.hpp"

#include <cstring>
#include <initializer_list>

#include "lanes/float_lanes.hpp"
#include "lanes/pieces.hpp"

namespace hstar {

namespace {

// A tile of a product keeps its sums in registers: kRows x kBlocks vectors.
#if defined(__AVX512F__)
constexpr int kRows = 6, kBlocks = 4, kLong = 16;
#elif defined(__AVX2__)
constexpr int kRows = 2, kBlocks = 2, kLong = 4;
#else
constexpr int kRows = 2, kBlocks = 1, kLong = 1;
#endif

template <int kCount, int kWide>
inline void tile(const MlpProduct& p, int row, int column, const float* b, int64_t b_stride, float* c,
                 int64_t c_stride) {
    Floats sums[kCount][kWide];
    HSTAR_EACH (r, kCount) {
        HSTAR_EACH (w, kWide)
            sums[r][w] = p.bias          ? load(p.bias + column + w * kFloats)
                         : p.accumulates ? load(c + r * c_stride + w * kFloats)
                                         : fill(0.0f);
    }
    const float* a = p.a + row * p.a_row;
    for (int k = 0; k < p.depth; ++k, a += p.a_depth, b += b_stride) {
        Floats weights[kWide];
        HSTAR_EACH (w, kWide) weights[w] = load(b + w * kFloats);
        HSTAR_EACH (r, kCount) {
            const Floats x = fill(a[r * p.a_row]);
            HSTAR_EACH (w, kWide) sums[r][w] = fma(x, weights[w], sums[r][w]);
        }
    }
    HSTAR_EACH (r, kCount) {
        HSTAR_EACH (w, kWide) {
            const int64_t place = (row + r) * p.c.pitch + column + w * kFloats;
            Floats sum = sums[r][w];
            if (p.added) sum = add(sum, load(p.added + place));
            if (p.is_relu) sum = max(fill(0.0f), sum);
            if (p.mask) sum = keep(less(fill(0.0f), load(p.mask + place)), sum);
            store(c + r * c_stride + w * kFloats, sum);
        }
    }
}

void multiply(const MlpProduct& p) {
    for (int first = 0; first < p.columns; first += kMlpPanel) {
        const int width = p.columns - first < kMlpPanel ? p.columns - first : kMlpPanel;
        const int64_t b_stride = p.b.stride(width), c_stride = p.c.stride(width);
        const float* b = p.b.panel(first);
        float* c = p.c.panel(first);
        in_pieces<kBlocks, 2, 1>(width / kFloats, [&]<int kWide>(int block) {
            const int column = block * kFloats;
            in_tiles<kRows>(p.rows, [&]<int kCount>(int row) {
                tile<kCount, kWide>(p, row, first + column, b + column, b_stride, c + row * c_stride + column,
                                    c_stride);
            });
        });
    }
}

void change_sums(const MlpSums& layer, const int* from, const int* changes, int count, int* to) {
    const int pitch = layer.pitch;
    if (from != to) std::memcpy(to, from, static_cast<size_t>(pitch) * sizeof(int));
    for (int c = 0; c < count; ++c) {
        const bool is_added = changes[c] >= 0;
        const int* __restrict row =
            layer.rows + static_cast<int64_t>(is_added ? changes[c] : ~changes[c]) * pitch;
        int* __restrict sums = to;
        if (is_added)
            for (int lane = 0; lane < pitch; ++lane) sums[lane] += row[lane];
        else
            for (int lane = 0; lane < pitch; ++lane) sums[lane] -= row[lane];
    }
}

void read_sums(const MlpSums& layer, const int* sums, float* y) {
    for (int lane = 0; lane < layer.pitch; ++lane) {
        const float x = static_cast<float>(sums[lane]) * layer.unit;
        y[lane] = layer.is_relu && x < 0 ? 0.0f : x;
    }
}

template <int kWide>
inline void sum_lanes(const float* rows, const float* bias, int pitch, const int* atoms, int64_t count,
                      float* y) {
    Floats sums[kWide];
    HSTAR_EACH (w, kWide) sums[w] = load(bias + w * kFloats);
    for (int64_t i = 0; i < count; ++i) {
        const float* row = rows + static_cast<int64_t>(atoms[i]) * pitch;
        HSTAR_EACH (w, kWide) sums[w] = add(sums[w], load(row + w * kFloats));
    }
    HSTAR_EACH (w, kWide) store(y + w * kFloats, max(fill(0.0f), sums[w]));
}

void sum_rows(const float* rows, const float* bias, int pitch, const MlpLists& atoms, const int* states,
              int count, float* y) {
    for (int s = 0; s < count; ++s, y += pitch) {
        const int* items = atoms.items + atoms.starts[states[s]];
        const int64_t size = atoms.starts[states[s] + 1] - atoms.starts[states[s]];
        in_pieces<kLong, 4, 1>(pitch / kFloats, [&]<int kWide>(int block) {
            const int lane = block * kFloats;
            sum_lanes<kWide>(rows + lane, bias + lane, pitch, items, size, y + lane);
        });
    }
}

// 16 x 16 numbers. Where there are vectors, rows i and i + 8 are interleaved, four times over.
inline void transpose_block(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
#if defined(__AVX512F__)
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    __m512 r[16], t[16];
    HSTAR_EACH (i, 16) r[i] = _mm512_load_ps(from + i * from_stride);
    HSTAR_EACH (round, 4) {
        HSTAR_EACH (i, 8) {
            t[2 * i] = _mm512_permutex2var_ps(r[i], low, r[i + 8]);
            t[2 * i + 1] = _mm512_permutex2var_ps(r[i], high, r[i + 8]);
        }
        HSTAR_EACH (i, 16) r[i] = t[i];
    }
    HSTAR_EACH (i, 16) _mm512_store_ps(to + i * to_stride, r[i]);
#else
    for (int i = 0; i < kFloats; ++i)
        for (int j = 0; j < kFloats; ++j) to[j * to_stride + i] = from[i * from_stride + j];
#endif
}

void transpose(const MlpMatrix& from, const MlpMatrix& to) {
    const auto place = [](const MlpMatrix& matrix, int64_t row, int64_t column, int64_t width,
                          int64_t& stride) {
        const int64_t first = column / kMlpPanel * kMlpPanel;
        stride = width - first < kMlpPanel ? width - first : kMlpPanel;
        return matrix.data + first * matrix.rows + row * stride + (column - first);
    };
    for (int64_t row = 0; row < from.rows; row += kFloats)
        for (int64_t column = 0; column < to.rows; column += kFloats) {
            int64_t from_stride, to_stride;
            const float* source = place(from, row, column, to.rows, from_stride);
            float* target = place(to, column, row, from.rows, to_stride);
            transpose_block(source, from_stride, target, to_stride);
        }
}

void add_rows(const float* rows, int pitch, int count, float* sums) {
    for (int lane = 0; lane < pitch; lane += kFloats) {
        Floats sum = load(sums + lane);
        for (int64_t r = 0; r < count; ++r) sum = add(sum, load(rows + r * pitch + lane));
        store(sums + lane, sum);
    }
}

// Steps with the same gradient, one after the other.
inline void adam_lanes(float* w_at, float* m_at, float* v_at, Floats gradient, const AdamStep* steps,
                       int64_t count) {
    Floats w = load(w_at), m = load(m_at), v = load(v_at);
    for (const AdamStep* step = steps; step < steps + count; ++step) {
        m = fma(fill(step->take_m), subtract(gradient, m), m);
        v = fma(multiply(fill(step->take_v), gradient), gradient, multiply(fill(step->keep_v), v));
        const Floats size = fma(square_root(v), fill(step->correction), fill(step->epsilon));
        w = fma(fill(-step->size), divide(m, size), w);
    }
    store(w_at, w);
    store(m_at, m);
    store(v_at, v);
}

void adam(float* w, float* m, float* v, const float* gradient, int64_t count, const AdamStep& step) {
    for (int64_t i = 0; i < count; i += kFloats)
        adam_lanes(w + i, m + i, v + i, load(gradient + i), &step, 1);
}

// Rows are far from each other, so the processor cannot guess the next one.
inline void prefetch(const float* row, int pitch) {
    for (int lane = 0; lane < pitch; lane += kFloats) __builtin_prefetch(row + lane, 1, 2);
}

template <int kWide>
inline void adam_row(float* w, float* m, float* v, const float* gradient, int pitch, const int* states,
                     int64_t count, const AdamStep& step) {
    Floats sums[kWide];
    HSTAR_EACH (i, kWide) sums[i] = fill(0.0f);
    for (int64_t s = 0; s < count; ++s) {
        const float* row = gradient + static_cast<int64_t>(states[s]) * pitch;
        HSTAR_EACH (i, kWide) sums[i] = add(sums[i], load(row + i * kFloats));
    }
    HSTAR_EACH (i, kWide) adam_lanes(w + i * kFloats, m + i * kFloats, v + i * kFloats, sums[i], &step, 1);
}

void adam_rows(float* w, float* m, float* v, const float* gradient, int pitch, const MlpLists& states,
               const int* rows, int count, const AdamStep& step) {
    for (int r = 0; r < count; ++r) {
        const int row = rows[r];
        if (r + 1 < count)
            for (const float* part : {w, m, v})
                prefetch(part + static_cast<int64_t>(rows[r + 1]) * pitch, pitch);
        const int* items = states.items + states.starts[row];
        const int64_t size = states.starts[row + 1] - states.starts[row];
        const int64_t first = static_cast<int64_t>(row) * pitch;
        in_pieces<kLong, 4, 1>(pitch / kFloats, [&]<int kWide>(int block) {
            const int lane = block * kFloats;
            adam_row<kWide>(w + first + lane, m + first + lane, v + first + lane, gradient + lane, pitch,
                            items, size, step);
        });
    }
}

void adam_idle(float* w, float* m, float* v, int pitch, const AdamStep* steps, int64_t count) {
    for (int lane = 0; lane < pitch; lane += kFloats)
        adam_lanes(w + lane, m + lane, v + lane, fill(0.0f), steps, count);
}

}  // namespace

MlpKernel HSTAR_MLP() {
    return {HSTAR_MLP_NAME, multiply, change_sums, read_sums, sum_rows,
            transpose,      add_rows, adam,        adam_rows, adam_idle};
}

}  // namespace hstar
