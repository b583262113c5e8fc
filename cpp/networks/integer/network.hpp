// Networks on states of a few digits, in integers only: the same bits on every machine, in every batch.
//
//     x0 = rescale(b + sum over digits of a row of weights)             one-hot input as a sum of rows
//     x  = rescale(W x + b)                                              dense layer
//     x' = rescale(W2 rescale(W1 x + b1) + b2, + skip * x)               residual block
//     logits = (W x + b) * multiplier >> shift, in units of 1/64 nat
//
// Weights are 8-bit, sums 32-bit, activations 0 .. 127 (kernel.hpp). The paper: He et al., "Deep
// residual learning", 2016, with batch normalisation folded into weights and biases.
#pragma once
#include <string>
#include <vector>

#include "networks/integer/kernel.hpp"
#include "runtime/cache_aligned.hpp"

namespace hstar {

// As stored: `weights` is [outputs][inputs]; of the first layer [sum of domain sizes][outputs].
struct IntegerLayerSpec {
    std::vector<int8_t> weights;
    std::vector<int32_t> bias, multiplier;  // per output; 0 <= multiplier < 2^16
    int shift = 1;
    // If not 0, the input of the previous layer times this is added.
    int32_t skip = 0;
};

// All kernels that this machine can run, the fastest last.
std::vector<IntegerKernel> integer_kernels();

class IntegerNetwork {
  public:
    // Throws std::invalid_argument with the reason if layers do not fit together or their sums could
    // overflow. `kernel` is a name, or empty for the fastest.
    IntegerNetwork(std::vector<int> domain_sizes, std::vector<IntegerLayerSpec> layers,
                   const std::string& kernel);

    int num_digits() const { return static_cast<int>(domain_sizes_.size()); }
    int num_classes() const { return num_classes_; }
    uint64_t num_weights() const;
    const std::vector<int>& domain_sizes() const { return domain_sizes_; }

    // One per thread; kept between calls.
    struct Workspace {
        std::vector<int32_t> rows, logits;
        AlignedVector<uint8_t> a, b, c;
    };
    // `digits` is count x num_digits, each within its domain; `logits` is count x num_classes.
    void forward(const int* digits, int count, int32_t* logits, Workspace& work) const;

  private:
    struct Dense {
        AlignedVector<int8_t> weights;
        std::vector<int32_t> bias, multiplier;
        int inputs, outputs, shift;
        int32_t skip;
        IntegerDense view() const {
            return {weights.data(), bias.data(), {multiplier.data(), skip, shift}, inputs, outputs};
        }
    };
    void add_first(const IntegerLayerSpec& spec, size_t rows);
    void add_dense(const IntegerLayerSpec& spec, size_t inputs);

    std::vector<int> domain_sizes_, first_row_;
    IntegerKernel kernel_;
    Dense first_;  // its weights are rows
    std::vector<Dense> dense_;
    int num_classes_ = 0, widest_ = 0;
};

}  // namespace hstar
