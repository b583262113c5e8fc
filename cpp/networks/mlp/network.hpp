// Residual networks of dense layers in single precision: the same bits on every machine, in every batch.
//
//     y = activation(W x + b)             or, with a skip, activation(W x + b + x'),
//
// x' the input of the layer before. The first layer reads numbers, or the digits of a state as one-hot
// inputs, which is a sum of rows.
#pragma once
#include <string>
#include <vector>

#include "networks/mlp/kernel.hpp"
#include "runtime/cache_aligned.hpp"

namespace hstar {

struct MlpLayer {
    std::vector<float> weights;  // [outputs][inputs]
    std::vector<float> bias;     // per output
    bool is_relu = false, has_skip = false;
};

constexpr int kMlpChunk = 64;  // states whose activations stay in the nearest caches

class MlpNetwork {
  public:
    // `num_digits` one-hot inputs, or 0: the inputs are numbers. Throws std::invalid_argument for layers that
    // do not fit each other. `kernel` is a name, or empty for the fastest.
    MlpNetwork(int inputs, int num_digits, std::vector<MlpLayer> layers, const std::string& kernel);

    int num_outputs() const { return num_outputs_; }
    // `rows` is count x num_digits: which inputs are one. `numbers` is count x inputs. Of these it reads
    // what the network was made for. `outputs` is count x num_outputs.
    void forward(const int* rows, const float* numbers, int count, float* outputs);

    // For a caller that computes the inputs itself: room for at most kMlpChunk rows, input_pitch() apart, and
    // what the network makes of them. Not for digits.
    float* inputs(int count);
    int input_pitch() const { return layers_[0].input_pitch; }
    void forward_inputs(int count, float* outputs);

  private:
    using AlignedFloats = std::vector<float, CacheAligned<float>>;
    struct Layer {
        AlignedFloats weights, bias;
        int inputs, input_pitch, output_pitch;
        bool is_relu, has_skip;
    };
    int inputs_, num_digits_, num_outputs_ = 0, widest_ = 0;
    MlpKernel kernel_;
    std::vector<Layer> layers_;
    AlignedFloats newest_, older_, next_;
};

// Fastest last; all that this machine can run.
std::vector<MlpKernel> mlp_kernels();

}  // namespace hstar
