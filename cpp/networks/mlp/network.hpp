// Residual networks of dense layers in single precision, or with 16-bit products: the same bits on every
// machine, in every batch.
//
//     y = activation(W x + b)             or, with a skip, activation(W x + b + x'),
//
// x' the input of the layer before.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "networks/mlp/kernel.hpp"
#include "runtime/cache_aligned.hpp"

namespace hstar {

struct MlpLayer {
    std::vector<float> weights;  // [outputs][inputs]
    std::vector<float> bias;     // per output
    bool is_relu = false, has_skip = false;

    size_t inputs() const { return bias.empty() ? 0 : weights.size() / bias.size(); }
};

// Throws std::invalid_argument unless layers fit each other and their numbers are finite.
void check_layers(const std::vector<MlpLayer>& layers, size_t inputs);

// A layer whose rows and columns are padded to whole vectors.
struct PaddedLayer {
    PaddedLayer(const MlpLayer& layer, size_t num_inputs);
    int inputs, outputs, input_pitch, output_pitch;
    bool is_relu, has_skip;

    size_t size() const { return static_cast<size_t>(input_pitch) * static_cast<size_t>(output_pitch); }
    // Of a weight, in panels of input_pitch x output_pitch.
    size_t place(int input, int output) const {
        const int first = output / kMlpPanel * kMlpPanel;
        const int width = output_pitch - first < kMlpPanel ? output_pitch - first : kMlpPanel;
        return static_cast<size_t>(first) * static_cast<size_t>(input_pitch) +
               static_cast<size_t>(input) * static_cast<size_t>(width) + static_cast<size_t>(output - first);
    }
    // What makes rows y of rows x; `skipped` may be null.
    MlpProduct product(float* weights, const float* bias, const float* x, const float* skipped, int count,
                       float* y) const;
};

// Int16: 16-bit products (kernel.hpp), about twice as fast, and as exact as it takes to compare siblings.
// Inputs are then not negative, and all layers but the last end with relu.
enum class MlpPrecision { Float32, Int16 };

constexpr int kMlpChunk = 64;  // states whose activations stay in the nearest caches

class MlpNetwork {
  public:
    // Throws std::invalid_argument for layers that do not fit each other. `kernel` is a name, or empty for
    // the fastest.
    MlpNetwork(size_t inputs, const std::vector<MlpLayer>& layers,
               MlpPrecision precision = MlpPrecision::Float32, const std::string& kernel = "");

    int num_outputs() const { return layers_.back().outputs; }
    // `numbers` is count x inputs, `outputs` is count x num_outputs.
    void forward(const float* numbers, int count, float* outputs);

    // For a caller that computes the inputs itself: room for at most kMlpChunk rows, input_pitch() apart.
    float* inputs(int count);
    int input_pitch() const { return layers_[0].input_pitch; }
    // What the network makes of the rows that inputs() has room for.
    void forward_inputs(int count, float* outputs);

  private:
    struct Layer : PaddedLayer {
        Layer(const MlpLayer& layer, size_t num_inputs, MlpPrecision precision);
        AlignedVector<float> bias;
        AlignedVector<float> weights;   // for Float32
        AlignedVector<int16_t> narrow;  // for Int16
        AlignedVector<float> units;
    };

    MlpPrecision precision_;
    MlpKernel kernel_{};
    NarrowKernel narrow_kernel_{};
    std::vector<Layer> layers_;
    size_t widest_ = 0;
    AlignedVector<float> newest_, older_, next_;
    AlignedVector<int16_t> rounded_;
    AlignedVector<float> units_;
};

// Fastest last; all that this machine can run.
std::vector<MlpKernel> mlp_kernels();
std::vector<NarrowKernel> narrow_kernels();

}  // namespace hstar
