#include "networks/mlp/network.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/kernels.hpp"

namespace hstar {

namespace {

constexpr size_t kWidest = 1 << 20;

int padded(size_t width) {
    return mlp_pitch(static_cast<int>(width));
}

bool is_finite(const std::vector<float>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
}

}  // namespace

std::vector<MlpKernel> mlp_kernels() {
    return HSTAR_KERNELS(mlp);
}

MlpNetwork::MlpNetwork(int inputs, int num_digits, std::vector<MlpLayer> layers, const std::string& kernel)
    : inputs_(inputs), num_digits_(num_digits), kernel_(choose_kernel(mlp_kernels(), kernel)) {
    require(inputs >= 1 && num_digits >= 0, "a network needs at least one input");
    require(!layers.empty(), "a network needs at least one layer");
    size_t width = static_cast<size_t>(inputs), width_before = 0;
    for (size_t l = 0; l < layers.size(); ++l) {
        const MlpLayer& given = layers[l];
        const size_t outputs = given.bias.size();
        require(outputs >= 1 && outputs <= kWidest, "a layer has no outputs or too many");
        require(given.weights.size() == width * outputs,
                "a layer's weights must be [outputs, inputs], inputs as the layer before it has outputs");
        require(is_finite(given.weights) && is_finite(given.bias),
                "the model has parameters that are not finite numbers; train it again");
        const bool skips_digits = l == 1 && num_digits > 0;
        require(!given.has_skip || (l >= 1 && !skips_digits && outputs == width_before),
                "a skip needs a layer before it, whose input is numbers and as wide as this layer's output");
        const bool is_embedding = l == 0 && num_digits > 0;
        Layer layer{
            {}, {}, static_cast<int>(width), padded(width), padded(outputs), given.is_relu, given.has_skip};
        const size_t pitch = static_cast<size_t>(layer.output_pitch);
        layer.bias.assign(given.bias.begin(), given.bias.end());
        layer.bias.resize(pitch);
        layer.weights.resize(width * pitch);
        for (size_t o = 0; o < outputs; ++o)
            for (size_t i = 0; i < width; ++i) {
                const size_t blocked = (o / kMlpBlock * width + i) * kMlpBlock + o % kMlpBlock;
                layer.weights[is_embedding ? i * pitch + o : blocked] = given.weights[o * width + i];
            }
        widest_ = std::max({widest_, layer.output_pitch, is_embedding ? 0 : layer.input_pitch});
        layers_.push_back(std::move(layer));
        width_before = width;
        width = outputs;
    }
    num_outputs_ = static_cast<int>(width);
}

float* MlpNetwork::inputs(int count) {
    const size_t room = static_cast<size_t>(std::min(kMlpChunk, count)) * static_cast<size_t>(widest_);
    for (auto* buffer : {&newest_, &older_, &next_})
        if (buffer->size() < room) buffer->resize(room);
    return newest_.data();
}

void MlpNetwork::forward_inputs(int count, float* outputs) {
    for (size_t l = num_digits_ > 0; l < layers_.size(); ++l) {
        const Layer& layer = layers_[l];
        kernel_.dense({layer.weights.data(), layer.bias.data(), layer.inputs, layer.input_pitch,
                       layer.output_pitch, layer.is_relu},
                      newest_.data(), layer.has_skip ? older_.data() : nullptr, count, next_.data());
        std::swap(older_, newest_);
        std::swap(newest_, next_);
    }
    for (int s = 0; s < count; ++s)
        std::copy_n(newest_.data() + static_cast<size_t>(s) * layers_.back().output_pitch, num_outputs_,
                    outputs + static_cast<size_t>(s) * num_outputs_);
}

void MlpNetwork::forward(const int* rows, const float* numbers, int count, float* outputs) {
    for (int begin = 0; begin < count; begin += kMlpChunk) {
        const int states = std::min(kMlpChunk, count - begin);
        float* loaded = inputs(states);
        if (num_digits_ > 0) {
            const Layer& first = layers_[0];
            kernel_.embed(
                {first.weights.data(), first.bias.data(), first.output_pitch, num_digits_, first.is_relu},
                rows + static_cast<size_t>(begin) * num_digits_, states, loaded);
        } else {
            for (int s = 0; s < states; ++s)
                std::copy_n(numbers + static_cast<size_t>(begin + s) * inputs_, inputs_,
                            loaded + static_cast<size_t>(s) * input_pitch());
        }
        forward_inputs(states, outputs + static_cast<size_t>(begin) * num_outputs_);
    }
}

}  // namespace hstar
