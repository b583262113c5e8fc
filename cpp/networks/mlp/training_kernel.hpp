// The arithmetic of training dense networks, compiled once per instruction set.
//
// As in kernel.hpp the lanes of vectors are columns, and each number is summed in a fixed order. So training
// gives the same bits on every machine.
//
// No standard containers here, for the reason given there.
#pragma once
#include <cstdint>

namespace hstar {

constexpr int kMlpPanel = 64;  // columns

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
    const float* bias;  // or null
    bool accumulates;
    const float* added;  // or null; like the mask it has the pitch of c
    const float* mask;   // or null
    bool is_relu;
};

// Rows of weights, one per atom, and lists of states or atoms: those of i are items[starts[i] ..
// starts[i+1]).
struct MlpLists {
    const int64_t* starts;
    const int* items;
};

// One step of Adam: m and v decay and take in the gradient; w -= size * m / (sqrt(v) * correction + epsilon).
struct AdamStep {
    float take_m, take_v;  // 1 - beta1, 1 - beta2
    float keep_v;          // beta2
    float size, correction, epsilon;
};

struct MlpTrainingKernel {
    const char* name;
    void (*multiply)(const MlpProduct& product);
    // y[state] = relu(bias + the rows of its atoms)
    void (*sum_rows)(const float* rows, const float* bias, int pitch, const MlpLists& atoms,
                     const int* states, int count, bool is_relu, float* y);
    // to = the transpose of from; both in panels, and so many vectors of rows and columns.
    void (*transpose)(const MlpMatrix& from, const MlpMatrix& to, int row_vectors, int column_vectors);
    // sums[column] += every row
    void (*add_rows)(const float* rows, int64_t pitch, int count, int columns, float* sums);
    void (*adam)(float* w, float* m, float* v, const float* gradient, int64_t count, const AdamStep& step);
    // The same for some rows of atoms, whose gradient is the sum over the states that have the atom.
    void (*adam_rows)(float* w, float* m, float* v, const float* gradient, int pitch, const MlpLists& states,
                      const int* rows, int count, const AdamStep& step);
    // `count` steps without a gradient, for one row.
    void (*adam_idle)(float* w, float* m, float* v, int pitch, const AdamStep* steps, int64_t count);
};

MlpTrainingKernel mlp_training_portable(), mlp_training_avx2(), mlp_training_avx512();

}  // namespace hstar
