#include "networks/mlp/network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels.hpp"

namespace hstar {

namespace {

constexpr size_t kWidest = 1 << 20;
constexpr int kLargestNarrowWeight = 32767;

// The finest unit in which a row of weights fits: each into 16 bits, and all sums of products with
// activations into 32.
float unit_of(const float* weights, size_t count) {
    double sum = 0, largest = 0;
    for (size_t i = 0; i < count; ++i) {
        sum += std::fabs(weights[i]);
        largest = std::max<double>(largest, std::fabs(weights[i]));
    }
    const auto room = static_cast<double>(kNarrowRoom) - static_cast<double>(count);  // for roundings
    const auto unit = static_cast<float>(std::max(sum / room, largest / (kLargestNarrowWeight - 1)));
    return std::max(unit, std::numeric_limits<float>::min());
}

}  // namespace

void check_layers(const std::vector<MlpLayer>& layers, size_t inputs) {
    require(!layers.empty(), "a network needs at least one layer");
    size_t before = 0;  // the inputs of the layer before; 0: there is none
    for (const MlpLayer& layer : layers) {
        const size_t outputs = layer.bias.size();
        require(outputs >= 1 && outputs <= kWidest, "a layer has no outputs or too many");
        require(layer.weights.size() == inputs * outputs,
                "a layer's weights must be [outputs, inputs], inputs as the layer before it has outputs");
        require(!layer.has_skip || before == outputs,
                "a skip needs a layer before it, whose input is as wide as this layer's output");
        for (const auto* numbers : {&layer.weights, &layer.bias})
            require(std::ranges::all_of(*numbers, [](float x) { return std::isfinite(x); }),
                    "the model has parameters that are not finite numbers; train it again");
        before = inputs;
        inputs = outputs;
    }
}

std::vector<MlpKernel> mlp_kernels() {
    return HSTAR_KERNELS(mlp);
}

std::vector<NarrowKernel> narrow_kernels() {
    auto kernels = HSTAR_KERNELS(narrow);
#ifdef HSTAR_X86
    if (has_vnni()) kernels.push_back(narrow_vnni());
#endif
    return kernels;
}

PaddedLayer::PaddedLayer(const MlpLayer& layer, size_t num_inputs)
    : inputs(static_cast<int>(num_inputs)),
      outputs(static_cast<int>(layer.bias.size())),
      input_pitch(mlp_pitch(inputs)),
      output_pitch(mlp_pitch(outputs)),
      is_relu(layer.is_relu),
      has_skip(layer.has_skip) {}

MlpProduct PaddedLayer::product(float* weights, const float* bias, const float* x, const float* skipped,
                                int count, float* y) const {
    return {.rows = count,
            .depth = inputs,
            .columns = output_pitch,
            .a = x,
            .a_row = input_pitch,
            .a_depth = 1,
            .b = {weights, 0, input_pitch},
            .c = {y, output_pitch, count},
            .bias = bias,
            .added = skipped,
            .is_relu = is_relu};
}

MlpNetwork::Layer::Layer(const MlpLayer& given, size_t num_inputs, MlpPrecision precision)
    : PaddedLayer(given, num_inputs), bias(given.bias.begin(), given.bias.end()) {
    bias.resize(static_cast<size_t>(output_pitch));
    if (precision == MlpPrecision::Float32) {
        weights.resize(size());
        for (int o = 0; o < outputs; ++o)
            for (int i = 0; i < inputs; ++i)
                weights[place(i, o)] = given.weights[static_cast<size_t>(o) * num_inputs + i];
        return;
    }
    require(num_inputs < static_cast<size_t>(kNarrowRoom) / 64, "a layer is too wide for 16-bit weights");
    const size_t pairs = (num_inputs + 1) / 2;
    narrow.resize(static_cast<size_t>(output_pitch) * pairs * 2);
    units.resize(bias.size());
    for (size_t o = 0; o < given.bias.size(); ++o) {
        const float* row = given.weights.data() + o * num_inputs;
        units[o] = unit_of(row, num_inputs);
        for (size_t i = 0; i < num_inputs; ++i)
            narrow[((o / kMlpBlock * pairs + i / 2) * kMlpBlock + o % kMlpBlock) * 2 + i % 2] =
                static_cast<int16_t>(std::lrint(static_cast<double>(row[i]) / units[o]));
    }
}

MlpNetwork::MlpNetwork(size_t inputs, const std::vector<MlpLayer>& layers, MlpPrecision precision,
                       const std::string& kernel)
    : precision_(precision) {
    check_layers(layers, inputs);
    if (precision == MlpPrecision::Float32)
        kernel_ = choose_kernel(mlp_kernels(), kernel);
    else
        narrow_kernel_ = choose_kernel(narrow_kernels(), kernel);
    for (const MlpLayer& given : layers) {
        require(precision == MlpPrecision::Float32 || given.is_relu || &given == &layers.back(),
                "all layers but the last must end with relu");
        const Layer& layer = layers_.emplace_back(given, inputs, precision);
        widest_ = std::max(
            {widest_, static_cast<size_t>(layer.output_pitch), static_cast<size_t>(layer.input_pitch)});
        inputs = given.bias.size();
    }
}

float* MlpNetwork::inputs(int count) {
    const size_t rows = static_cast<size_t>(std::min(kMlpChunk, count)), room = rows * widest_;
    for (auto* buffer : {&newest_, &older_, &next_})
        if (buffer->size() < room) buffer->resize(room);
    if (precision_ == MlpPrecision::Int16 && rounded_.size() < room) {
        rounded_.resize(room);
        units_.resize(rows);
    }
    return newest_.data();
}

void MlpNetwork::forward_inputs(int count, float* outputs) {
    for (Layer& layer : layers_) {
        const float* skipped = layer.has_skip ? older_.data() : nullptr;
        if (precision_ == MlpPrecision::Float32) {
            kernel_.multiply(layer.product(layer.weights.data(), layer.bias.data(), newest_.data(), skipped,
                                           count, next_.data()));
        } else {
            narrow_kernel_.round(newest_.data(), layer.input_pitch, count, rounded_.data(), units_.data());
            narrow_kernel_.dense({layer.narrow.data(), layer.units.data(), layer.bias.data(), layer.inputs,
                                  layer.input_pitch, layer.output_pitch, layer.is_relu},
                                 rounded_.data(), units_.data(), skipped, count, next_.data());
        }
        std::swap(older_, newest_);
        std::swap(newest_, next_);
    }
    for (int s = 0; s < count; ++s)
        std::copy_n(newest_.data() + static_cast<size_t>(s) * layers_.back().output_pitch, num_outputs(),
                    outputs + static_cast<size_t>(s) * num_outputs());
}

void MlpNetwork::forward(const float* numbers, int count, float* outputs) {
    const size_t width = static_cast<size_t>(layers_[0].inputs), pitch = static_cast<size_t>(input_pitch());
    for (int begin = 0; begin < count; begin += kMlpChunk) {
        const int states = std::min(kMlpChunk, count - begin);
        float* loaded = inputs(states);
        for (int s = 0; s < states; ++s, numbers += width, loaded += pitch)
            std::fill(std::copy_n(numbers, width, loaded), loaded + pitch, 0.0f);
        forward_inputs(states, outputs + static_cast<size_t>(begin) * num_outputs());
    }
}

}  // namespace hstar
