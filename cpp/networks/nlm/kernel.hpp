// The arithmetic of Neural Logic Machines: loops over rows of floats, compiled once per instruction set.
//
// A tensor is a table of rows, one row of channels per tuple of objects or per class of tuples with equal
// values; rows are padded to 8 floats or to multiples of 16 (the pitch), and tables are aligned to 64 bytes.
// Output channels are the lanes of the vectors, and each element is summed in a fixed order, so a row's bits
// depend neither on its neighbours nor on the instruction set.
//
// No standard containers here: their inline code would be compiled for every instruction set, and the linker
// would keep any one of the copies.
#pragma once
#include <cstdint>

namespace hstar {

enum class Activation { Identity, Sigmoid, Relu };

// Rows of floats are padded to whole vectors; narrow ones to half a vector, so that little is computed in
// vain.
constexpr int pitch_of(int channels) {
    return channels <= 8 ? (channels + 7) / 8 * 8 : (channels + 15) / 16 * 16;
}

// Rows added as they are; their pitch is that of the result. Row index[t], or t where there is no index.
struct NlmAddend {
    const float* rows;
    const int* index;
};

// Rows multiplied by a matrix [channels][pitch of the result].
struct NlmProduct {
    const float* rows;
    const int* index;
    int pitch, channels;
    const float* weights;
};

struct NlmAffine {
    int64_t count;
    int pitch;
    const float* bias;  // one row, or null
    const NlmAddend* addends;
    int num_addends;
    const NlmProduct* products;
    int num_products;
    Activation activation;
    float* result;  // may be one of the addends without index
};

// Where a tensor keeps the row of a tuple: at the tuple's number, unless something else is given.
struct NlmRowMap {
    const int* direct = nullptr;  // per tuple
    // Arity 3: table[(type(i, j) * num_types + type(i, k)) * num_types + type(j, k)].
    const int* table = nullptr;
    const int* type = nullptr;         // per pair
    const int* scaled_type = nullptr;  // type * num_types
    int num_types = 0;
    // Reductions of sets of pairs: the rows of their triples are items[begin[s]] .. items[begin[s + 1]].
    const int *begin = nullptr, *items = nullptr;
};

// Minima and maxima over the last index of a tensor of arity 1 to 3 over n objects.
struct NlmReduction {
    const float* rows;
    NlmRowMap map;
    int64_t count;  // n^(arity - 1), or that of the sets
    int pitch, n, arity;
    bool exclude_self;
    float* min;  // count rows
    float* max;
};

// A tensor of arity 3 that is needed only in its reductions, and is never stored:
// activation(p01[ij] + ((p02[ik] + p12[jk]) + own[row of ijk])). Activations are monotone, so the sums are
// reduced.
struct NlmTriples {
    const float *p01, *p02, *p12;  // n^2 rows
    const float* own;
    NlmRowMap map;  // of own
    int pitch, n;
    bool exclude_self;
    Activation activation;
    float *least, *greatest;  // n^2 rows: reductions of the inner sum
    float *min, *max;         // n^2 rows: the result
};

// Gradients are added to what is there, except where they are turned into others in place.
struct NlmBackwardKernel {
    // Of `count` rows of activations y: gradient of y -> of its argument.
    void (*undo_activation)(Activation, int64_t count, int pitch, const float* y, float* gradient);
    // result[c] += sum over t of rows[index[t]][c] * gradient[t], for c < channels; pitch: of gradient,
    // result.
    void (*weight_gradient)(int64_t count, const float* rows, const int* index, int row_pitch, int channels,
                            const float* gradient, int pitch, float* result);
    // result[index[t]] += gradient[t]; without index: result[0].
    void (*scatter)(int64_t count, int pitch, const float* gradient, const int* index, float* result);
    // Ties share a gradient evenly: tuples, or rows of a set.
    void (*undo_reduce)(const NlmReduction&, const float* min_gradient, const float* max_gradient,
                        float* gradient);
    void (*undo_triples)(const NlmTriples&, const float* min_gradient, const float* max_gradient, float* p01,
                         float* p02, float* p12, float* own);
};

struct NlmKernel : NlmBackwardKernel {
    void (*affine)(const NlmAffine&);
    void (*reduce)(const NlmReduction&);
    void (*reduce_triples)(const NlmTriples&);
};

NlmBackwardKernel nlm_backward_portable(), nlm_backward_avx2(), nlm_backward_avx512();
NlmKernel nlm_portable(), nlm_avx2(), nlm_avx512();

}  // namespace hstar
