// The arithmetic of integer networks, compiled once per instruction set; every variant returns the same bits.
//
// Activations are 0 .. 127 and weights -127 .. 127, so that the sum of two products fits in 16 bits: the
// instructions that add pairs of products never saturate. All sums are exact, so their order does not matter.
//
// No standard containers here: their inline code would be compiled for every instruction set, and the linker
// would keep any one of the copies.
#pragma once
#include <cstdint>

namespace hstar {

// Widths of layers are padded to whole vectors.
constexpr int kIntegerBlock = 16;
constexpr int kLargestActivation = 127;

// The distance from one state's activations to the next in bytes: whole cache lines, aligned. Bytes beyond
// the width are arbitrary; the weights there are zero.
constexpr int kCacheLine = 64;
constexpr int64_t activation_stride(int width) {
    return (width + int64_t{kCacheLine} - 1) / kCacheLine * kCacheLine;
}

// y = clamp((sum * multiplier + skipped * skip + half) >> shift, 0, 127), half = 1 << (shift - 1).
// Of the last layer: logit = (sum * multiplier + half) >> shift, not clamped.
struct IntegerRescale {
    const int32_t* multiplier;  // per output
    int32_t skip;
    int shift;  // 1 .. 47
};

// The first layer: a sum of rows, one per digit.
struct IntegerEmbedding {
    const int8_t* rows;  // [row][width]
    const int32_t* bias;
    IntegerRescale rescale;
    int width;       // padded
    int num_digits;  // at most 256
};

struct IntegerDense {
    const int8_t* weights;  // [outputs / 16][activation_stride(inputs) / 4][16 outputs][4 inputs], aligned
    const int32_t* bias;
    IntegerRescale rescale;
    int inputs, outputs;  // padded
};

struct IntegerKernel {
    const char* name;
    // `row` is count x num_digits row numbers, y is count x activation_stride(width).
    void (*embed)(const IntegerEmbedding& layer, const int32_t* row, int count, uint8_t* y);
    // x is count x activation_stride(inputs), y and `skipped`, which may be null, are count x
    // activation_stride(outputs).
    void (*dense)(const IntegerDense& layer, const uint8_t* x, const uint8_t* skipped, int count, uint8_t* y);
    // `logits` is count x outputs.
    void (*logits)(const IntegerDense& layer, const uint8_t* x, int count, int32_t* logits);
};

IntegerKernel integer_portable(), integer_avx2(), integer_avx512(), integer_vnni();
IntegerKernel integer_amx();  // kernel_amx.cpp

}  // namespace hstar
