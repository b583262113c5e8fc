// The arithmetic of float networks on dense rows, compiled once per instruction set.
//
// Rows are padded to whole vectors (pitch_of) and aligned to 64 bytes. Output channels are the lanes of the
// vectors, and each element is summed in a fixed order: bias, inputs in ascending order, skip. So a row's
// bits depend neither on its neighbours nor on the instruction set.
//
// No standard containers here: their inline code would be compiled for every instruction set, and the linker
// would keep any one of the copies.
#pragma once
#include <cstdint>

namespace hstar {

constexpr int kMlpBlock = 16;  // outputs per vector

// A width, padded to whole vectors.
constexpr int mlp_pitch(int width) {
    return (width + kMlpBlock - 1) / kMlpBlock * kMlpBlock;
}

struct MlpDense {
    const float* weights;  // [outputs / 16][inputs][16]
    const float* bias;
    int inputs, input_pitch, output_pitch;
    bool is_relu;
};

// The first layer on one-hot inputs: a sum of rows, one per digit.
struct MlpEmbedding {
    const float* rows;  // [row][pitch]
    const float* bias;
    int pitch, num_digits;
    bool is_relu;
};

// The first layer in fixed point: whole numbers, so sums do not depend on their order.
struct MlpSums {
    const int* rows;  // [row][pitch]
    int pitch;
    float unit;  // what 1 stands for
    bool is_relu;
};

struct MlpKernel {
    const char* name;
    // to = from + rows; a change is a row to add, or ~row for one to subtract. `to` may be `from`.
    void (*change_sums)(const MlpSums& layer, const int* from, const int* changes, int count, int* to);
    // y = activation(unit * sums)
    void (*read_sums)(const MlpSums& layer, const int* sums, float* y);
    // `row` is count x num_digits, y is count x pitch.
    void (*embed)(const MlpEmbedding& layer, const int* row, int count, float* y);
    // x is count x input_pitch; y and `skipped`, which may be null, are count x output_pitch.
    void (*dense)(const MlpDense& layer, const float* x, const float* skipped, int count, float* y);
};

MlpKernel mlp_portable(), mlp_avx2(), mlp_avx512();

// The same with 16-bit products. Sums of products are exact whole numbers: weights are scaled per output so
// that none overflows 32 bits. What is between two layers is in single precision, and each row is rounded to
// 15 bits by its own largest number. Eight bits are too few for that: a search compares siblings, which
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
