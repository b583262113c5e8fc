// The arithmetic of dense networks and of their training, compiled once per instruction set.
//
// Rows are padded to whole vectors (mlp_pitch) and aligned to 64 bytes. Columns are the lanes of the vectors,
// and each number is summed in a fixed order: start, inputs in ascending order, skip. So a row's bits depend
// neither on its neighbours nor on the instruction set.
//
// No standard containers here: their inline code would be compiled for every instruction set, and the linker
// would keep any one of the copies.
#pragma once
#include <cstdint>

namespace hstar {

constexpr int kMlpBlock = 16;  // outputs per vector
constexpr int kMlpPanel = 64;  // columns

// A width, padded to whole vectors.
constexpr int mlp_pitch(int width) {
    return (width + kMlpBlock - 1) / kMlpBlock * kMlpBlock;
}

// A matrix of floats whose columns are whole vectors. With a pitch it is stored row by row. Without one
// (pitch 0) it is cut into panels of kMlpPanel columns, the last perhaps narrower, each stored row by row: so
// a product reads it from one end to the other.
struct MlpMatrix {
    float* data;
    int64_t pitch;
    int64_t rows;  // needed of panels only

    float* panel(int first_column) const { return data + (pitch ? first_column : first_column * rows); }
    int64_t stride(int width) const { return pitch ? pitch : width; }
};

// c = finish(start + a b). The start is a bias per column, c itself, or 0. Finishing adds a matrix and cuts
// at 0, or keeps only what a mask allows: those places where it is positive.
struct MlpProduct {
    int rows, depth, columns;
    const float* a;  // a[row * a_row + depth * a_depth]
    int64_t a_row, a_depth;
    MlpMatrix b, c;
    const float* bias = nullptr;
    bool accumulates = false;
    const float* added = nullptr;  // like the mask it has the pitch of c
    const float* mask = nullptr;
    bool is_relu = false;
};

// Rows of weights, one per atom, and lists of states or atoms: those of i are items[starts[i] ..
// starts[i+1]).
struct MlpLists {
    const int64_t* starts;
    const int* items;
};

// A first layer in fixed point: whole numbers, so sums do not depend on their order.
struct MlpSums {
    const int* rows;  // [row][pitch]
    int pitch;
    float unit;  // what 1 stands for
    bool is_relu;
};

// One step of Adam: m and v decay and take in the gradient; w -= size * m / (sqrt(v) * correction + epsilon).
struct AdamStep {
    float take_m, take_v;  // 1 - beta1, 1 - beta2
    float keep_v;          // beta2
    float size, correction, epsilon;
};

struct MlpKernel {
    const char* name;
    void (*multiply)(const MlpProduct& product);
    // to = from + rows; a change is a row to add, or ~row for one to subtract. `to` may be `from`.
    void (*change_sums)(const MlpSums& layer, const int* from, const int* changes, int count, int* to);
    // y = activation(unit * sums)
    void (*read_sums)(const MlpSums& layer, const int* sums, float* y);
    // y[state] = relu(bias + the rows of its atoms)
    void (*sum_rows)(const float* rows, const float* bias, int pitch, const MlpLists& atoms,
                     const int* states, int count, float* y);
    // to = the transpose of from; both in panels, and whole vectors of rows and columns.
    void (*transpose)(const MlpMatrix& from, const MlpMatrix& to);
    // sums[column] += every row
    void (*add_rows)(const float* rows, int pitch, int count, float* sums);
    void (*adam)(float* w, float* m, float* v, const float* gradient, int64_t count, const AdamStep& step);
    // The same for some rows of atoms, whose gradient is the sum over the states that have the atom.
    void (*adam_rows)(float* w, float* m, float* v, const float* gradient, int pitch, const MlpLists& states,
                      const int* rows, int count, const AdamStep& step);
    // `count` steps without a gradient, for one row.
    void (*adam_idle)(float* w, float* m, float* v, int pitch, const AdamStep* steps, int64_t count);
};

MlpKernel mlp_portable(), mlp_avx2(), mlp_avx512();

// Dense layers with 16-bit products. Sums of products are exact whole numbers: weights are scaled per output
// so that none overflows 32 bits. What is between two layers is in single precision, and each row is rounded
// to 15 bits by its own largest number. Eight bits are too few for that: a search compares siblings, which
// differ by little.
constexpr int64_t kNarrowRoom = (int64_t{1} << 17) - 1;  // for the sum of an output's absolute weights

struct NarrowDense {
    const int16_t* weights;  // [outputs / 16][pairs of inputs][16 outputs][2 inputs]
    const float* units;      // per output: what 1 stands for in its weights
    const float* bias;
    int inputs, input_pitch, output_pitch;
    bool is_relu;
};

struct NarrowKernel {
    const char* name;
    // Rows of numbers that are not negative, `pitch` apart, as multiples of a power of two each.
    void (*round)(const float* x, int pitch, int count, int16_t* rounded, float* units);
    // x is count x input_pitch, `units` are those of its rows; y and `skipped`, which may be null, are count
    // x output_pitch.
    void (*dense)(const NarrowDense& layer, const int16_t* x, const float* units, const float* skipped,
                  int count, float* y);
};

NarrowKernel narrow_portable(), narrow_avx2(), narrow_avx512(), narrow_vnni();

}  // namespace hstar
