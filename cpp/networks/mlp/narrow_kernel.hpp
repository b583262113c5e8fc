// The arithmetic of dense layers on 16-bit numbers, compiled once per instruction set; every variant returns
// the same bits.
//
// Sums of products are exact whole numbers: weights are scaled per output so that none overflows 32 bits.
// What is between two layers is in single precision, and each row is rounded to 15 bits by its own largest
// number. Eight bits are too few for that: a search compares siblings, which differ by little.
//
// No standard containers here, for the reason given in kernel.hpp.
#pragma once
#include <cstdint>

namespace hstar {

constexpr int kNarrowLargest = 1 << 14;                  // of an activation
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

NarrowKernel narrow_portable();
NarrowKernel narrow_avx2();
NarrowKernel narrow_avx512();
NarrowKernel narrow_vnni();

}  // namespace hstar
