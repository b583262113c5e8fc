#include "networks/mlp/network.hpp"

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

void MlpLayer::check_shape(size_t inputs) const {
    require(!bias.empty() && weights.size() == inputs * bias.size(),
            "a layer's weights must be [outputs, inputs], inputs as the layer before it has outputs");
}

void MlpLayer::check_numbers() const {
    for (const auto* numbers : {&weights, &bias})
        require(std::ranges::all_of(*numbers, [](float x) { return std::isfinite(x); }),
                "the model has parameters that are not finite numbers; train it again");
}

PaddedLayer::PaddedLayer(const MlpLayer& layer, size_t num_inputs)
    : inputs(static_cast<int>(num_inputs)),
      outputs(static_cast<int>(layer.bias.size())),
      input_pitch(mlp_pitch(inputs)),
      output_pitch(mlp_pitch(outputs)),
      is_relu(layer.is_relu),
      has_skip(layer.has_skip),
      bias(layer.bias.begin(), layer.bias.end()) {
    bias.resize(static_cast<size_t>(output_pitch));
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

MlpNetwork::MlpNetwork(int inputs, int num_digits, const std::vector<MlpLayer>& layers,
                       const std::string& kernel)
    : inputs_(inputs), num_digits_(num_digits), kernel_(choose_kernel(mlp_kernels(), kernel)) {
    require(inputs >= 1 && num_digits >= 0, "a network needs at least one input");
    require(!layers.empty(), "a network needs at least one layer");
    size_t width = static_cast<size_t>(inputs);
    for (const MlpLayer& given : layers) {
        const size_t outputs = given.bias.size();
        require(outputs >= 1 && outputs <= kWidest, "a layer has no outputs or too many");
        given.check_shape(width);
        given.check_numbers();
        const bool skips_digits = layers_.size() == 1 && num_digits > 0;
        require(!given.has_skip || (can_skip(given) && !skips_digits),
                "a skip needs a layer before it, whose input is numbers and as wide as this layer's output");
        const bool is_embedding = layers_.empty() && num_digits > 0;
        FloatLayer& layer = layers_.emplace_back(given, width);
        const size_t pitch = static_cast<size_t>(layer.output_pitch);
        layer.weights.resize(width * pitch);
        for (size_t o = 0; o < outputs; ++o)
            for (size_t i = 0; i < width; ++i) {
                const size_t blocked = (o / kMlpBlock * width + i) * kMlpBlock + o % kMlpBlock;
                layer.weights[is_embedding ? i * pitch + o : blocked] = given.weights[o * width + i];
            }
        widest_ = std::max({widest_, layer.output_pitch, is_embedding ? 0 : layer.input_pitch});
        width = outputs;
    }
}

void MlpNetwork::forward_inputs(int count, float* outputs) {
    const auto apply = [&](const FloatLayer& layer, const float* x, const float* skipped, float* y) {
        kernel_.dense({layer.weights.data(), layer.bias.data(), layer.inputs, layer.input_pitch,
                       layer.output_pitch, layer.is_relu},
                      x, skipped, count, y);
    };
    go_through(num_digits_ > 0, count, outputs, apply);
}

void MlpNetwork::forward(const int* rows, const float* numbers, int count, float* outputs) {
    for (int begin = 0; begin < count; begin += kMlpChunk) {
        const int states = std::min(kMlpChunk, count - begin);
        float* loaded = inputs(states);
        if (num_digits_ > 0) {
            const FloatLayer& first = layers_[0];
            kernel_.embed(
                {first.weights.data(), first.bias.data(), first.output_pitch, num_digits_, first.is_relu},
                rows + static_cast<size_t>(begin) * num_digits_, states, loaded);
        } else {
            for (int s = 0; s < states; ++s)
                std::copy_n(numbers + static_cast<size_t>(begin + s) * inputs_, inputs_,
                            loaded + static_cast<size_t>(s) * input_pitch());
        }
        forward_inputs(states, outputs + static_cast<size_t>(begin) * num_outputs());
    }
}

NarrowNetwork::NarrowNetwork(int inputs, const std::vector<MlpLayer>& layers, const std::string& kernel)
    : kernel_(choose_kernel(narrow_kernels(), kernel)) {
    require(inputs >= 1 && !layers.empty(), "a network needs inputs and layers");
    size_t width = static_cast<size_t>(inputs);
    for (const MlpLayer& given : layers) {
        const size_t outputs = given.bias.size(), pairs = (width + 1) / 2;
        given.check_shape(width);
        require(width < static_cast<size_t>(kNarrowRoom) / 64, "a layer is too wide for 16-bit weights");
        require(!given.has_skip || can_skip(given),
                "a skip needs a layer before it, whose input is as wide as this layer's output");
        require(given.is_relu || &given == &layers.back(), "all layers but the last must end with relu");
        given.check_numbers();
        NarrowLayer& layer = layers_.emplace_back(given, width);
        const size_t pitch = static_cast<size_t>(layer.output_pitch);
        layer.units.assign(pitch, 0.0f);
        layer.weights.assign(pitch * pairs * 2, 0);
        for (size_t o = 0; o < outputs; ++o) {
            const float* row = given.weights.data() + o * width;
            layer.units[o] = unit_of(row, width);
            for (size_t i = 0; i < width; ++i) {
                const size_t place =
                    ((o / kMlpBlock * pairs + i / 2) * kMlpBlock + o % kMlpBlock) * 2 + i % 2;
                layer.weights[place] =
                    static_cast<int16_t>(std::lrint(static_cast<double>(row[i]) / layer.units[o]));
            }
        }
        widest_ = std::max({widest_, layer.output_pitch, layer.input_pitch});
        width = outputs;
    }
    rounded_.resize(static_cast<size_t>(kMlpChunk) * static_cast<size_t>(widest_));
    units_.resize(kMlpChunk);
}

void NarrowNetwork::forward_inputs(int count, float* outputs) {
    const auto apply = [&](const NarrowLayer& layer, const float* x, const float* skipped, float* y) {
        kernel_.round(x, layer.input_pitch, count, rounded_.data(), units_.data());
        kernel_.dense({layer.weights.data(), layer.units.data(), layer.bias.data(), layer.inputs,
                       layer.input_pitch, layer.output_pitch, layer.is_relu},
                      rounded_.data(), units_.data(), skipped, count, y);
    };
    go_through(0, count, outputs, apply);
}

}  // namespace hstar
