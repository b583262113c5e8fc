// Residual networks of dense layers in single precision, or with 16-bit products: the same bits on every
// machine, in every batch.
//
//     y = activation(W x + b)             or, with a skip, activation(W x + b + x'),
//
// x' the input of the layer before. The first layer reads numbers, or the digits of a state as one-hot
// inputs, which is a sum of rows.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "networks/mlp/kernel.hpp"
#include "runtime/cache_aligned.hpp"

namespace hstar {

struct MlpLayer {
    std::vector<float> weights;  // [outputs][inputs]
    std::vector<float> bias;     // per output
    bool is_relu = false, has_skip = false;

    // Throws std::invalid_argument.
    void check_shape(size_t inputs) const;
    void check_numbers() const;  // are finite
};

constexpr int kMlpChunk = 64;  // states whose activations stay in the nearest caches

struct PaddedLayer {
    PaddedLayer(const MlpLayer& layer, size_t num_inputs);
    int inputs, outputs, input_pitch, output_pitch;
    bool is_relu, has_skip;
    AlignedVector<float> bias;
};

// What networks share: room for activations, and the way from layer to layer.
template <class Layer>
class LayeredNetwork {
  public:
    int num_outputs() const { return layers_.back().outputs; }
    // For a caller that computes the inputs itself: room for at most kMlpChunk rows, input_pitch() apart.
    float* inputs(int count) {
        const size_t room = static_cast<size_t>(std::min(kMlpChunk, count)) * static_cast<size_t>(widest_);
        for (auto* buffer : {&newest_, &older_, &next_})
            if (buffer->size() < room) buffer->resize(room);
        return newest_.data();
    }
    int input_pitch() const { return layers_[0].input_pitch; }

  protected:
    // Whether a layer is as wide as the input of the layer before it, of which there is one.
    bool can_skip(const MlpLayer& layer) const {
        return !layers_.empty() && layer.bias.size() == static_cast<size_t>(layers_.back().inputs);
    }
    // Calls apply(layer, x, skipped, y) for the layers from number `first` on, and copies the last outputs.
    template <class Apply>
    void go_through(size_t first, int count, float* outputs, Apply apply) {
        for (size_t l = first; l < layers_.size(); ++l) {
            apply(layers_[l], newest_.data(), layers_[l].has_skip ? older_.data() : nullptr, next_.data());
            std::swap(older_, newest_);
            std::swap(newest_, next_);
        }
        for (int s = 0; s < count; ++s)
            std::copy_n(newest_.data() + static_cast<size_t>(s) * layers_.back().output_pitch, num_outputs(),
                        outputs + static_cast<size_t>(s) * num_outputs());
    }

    std::vector<Layer> layers_;
    int widest_ = 0;
    AlignedVector<float> newest_, older_, next_;
};

struct FloatLayer : PaddedLayer {
    using PaddedLayer::PaddedLayer;
    AlignedVector<float> weights;
};

class MlpNetwork : public LayeredNetwork<FloatLayer> {
  public:
    // `num_digits` one-hot inputs, or 0: the inputs are numbers. Throws std::invalid_argument for layers that
    // do not fit each other. `kernel` is a name, or empty for the fastest.
    MlpNetwork(int inputs, int num_digits, const std::vector<MlpLayer>& layers, const std::string& kernel);

    // `rows` is count x num_digits: which inputs are one. `numbers` is count x inputs. Of these it reads
    // what the network was made for. `outputs` is count x num_outputs.
    void forward(const int* rows, const float* numbers, int count, float* outputs);
    // What the network makes of the rows that inputs() has room for. Not for digits.
    void forward_inputs(int count, float* outputs);

  private:
    int inputs_, num_digits_;
    MlpKernel kernel_;
};

struct NarrowLayer : PaddedLayer {
    using PaddedLayer::PaddedLayer;
    AlignedVector<int16_t> weights;
    AlignedVector<float> units;
};

// The layers of an MlpNetwork after the first, with 16-bit products (kernel.hpp): about twice as fast, and as
// exact as it takes to compare siblings.
class NarrowNetwork : public LayeredNetwork<NarrowLayer> {
  public:
    // Inputs are not negative, and all layers but the last end with relu. Throws std::invalid_argument.
    NarrowNetwork(int inputs, const std::vector<MlpLayer>& layers, const std::string& kernel);
    void forward_inputs(int count, float* outputs);  // as in MlpNetwork

  private:
    NarrowKernel kernel_;
    AlignedVector<int16_t> rounded_;
    AlignedVector<float> units_;
};

// Fastest last; all that this machine can run.
std::vector<MlpKernel> mlp_kernels();
std::vector<NarrowKernel> narrow_kernels();

}  // namespace hstar
