// The layers of an MlpNetwork after the first, with 16-bit products (narrow_kernel.hpp): about twice as fast,
// and as exact as it takes to compare siblings. The same bits on every machine, in every batch.
#pragma once
#include <string>
#include <vector>

#include "networks/mlp/narrow_kernel.hpp"
#include "networks/mlp/network.hpp"
#include "runtime/cache_aligned.hpp"

namespace hstar {

class NarrowNetwork {
  public:
    // Inputs are not negative, and all layers but the last end with relu. Throws std::invalid_argument.
    NarrowNetwork(int inputs, const std::vector<MlpLayer>& layers, const std::string& kernel);

    int num_outputs() const { return num_outputs_; }
    // As in MlpNetwork: room for rows of inputs, and what the network makes of them.
    float* inputs(int count);
    int input_pitch() const { return layers_[0].input_pitch; }
    void forward_inputs(int count, float* outputs);

  private:
    template <class T>
    using Aligned = std::vector<T, CacheAligned<T>>;
    struct Layer {
        Aligned<int16_t> weights;
        Aligned<float> units, bias;
        int inputs, input_pitch, output_pitch;
        bool is_relu, has_skip;
    };
    int num_outputs_ = 0, widest_ = 0;
    NarrowKernel kernel_;
    std::vector<Layer> layers_;
    Aligned<float> newest_, older_, next_;
    Aligned<int16_t> rounded_;
    Aligned<float> units_;
};

std::vector<NarrowKernel> narrow_kernels();  // fastest last; all that this machine can run

}  // namespace hstar
