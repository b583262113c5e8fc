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

struct MlpKernel {
    const char* name;
    // `row` is count x num_digits, y is count x pitch.
    void (*embed)(const MlpEmbedding& layer, const int* row, int count, float* y);
    // x is count x input_pitch; y and `skipped`, which may be null, are count x output_pitch.
    void (*dense)(const MlpDense& layer, const float* x, const float* skipped, int count, float* y);
};

MlpKernel mlp_portable();
MlpKernel mlp_avx2();
MlpKernel mlp_avx512();

}  // namespace hstar
