#include "networks/mlp/narrow_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

constexpr int kLargestWeight = 32767;

// The finest unit in which a row of weights fits: each into 16 bits, and all sums of products with
// activations into 32.
float unit_of(const float* weights, size_t count) {
    double sum = 0, largest = 0;
    for (size_t i = 0; i < count; ++i) {
        sum += std::fabs(weights[i]);
        largest = std::max<double>(largest, std::fabs(weights[i]));
    }
    const auto room = static_cast<double>(kNarrowRoom) - static_cast<double>(count);  // for roundings
    const auto unit = static_cast<float>(std::max(sum / room, largest / (kLargestWeight - 1)));
    return std::max(unit, std::numeric_limits<float>::min());
}

}  // namespace

std::vector<NarrowKernel> narrow_kernels() {
    auto kernels = HSTAR_KERNELS(narrow);
#ifdef HSTAR_X86
    if (num_instruction_sets() == 3 && __builtin_cpu_supports("avx512vnni")) kernels.push_back(narrow_vnni());
#endif
    return kernels;
}

NarrowNetwork::NarrowNetwork(int inputs, const std::vector<MlpLayer>& layers, const std::string& kernel)
    : kernel_(choose_kernel(narrow_kernels(), kernel)) {
    require(inputs >= 1 && !layers.empty(), "a network needs inputs and layers");
    size_t width = static_cast<size_t>(inputs), width_before = 0;
    for (size_t l = 0; l < layers.size(); ++l) {
        const MlpLayer& given = layers[l];
        const size_t outputs = given.bias.size();
        require(outputs >= 1 && given.weights.size() == width * outputs,
                "a layer's weights must be [outputs, inputs], inputs as the layer before it has outputs");
        require(width < static_cast<size_t>(kNarrowRoom) / 64, "a layer is too wide for 16-bit weights");
        require(!given.has_skip || (l >= 1 && outputs == width_before),
                "a skip needs a layer before it, whose input is as wide as this layer's output");
        require(given.is_relu || l + 1 == layers.size(), "all layers but the last must end with relu");
        const auto is_finite = [](float x) { return std::isfinite(x); };
        require(std::all_of(given.weights.begin(), given.weights.end(), is_finite) &&
                    std::all_of(given.bias.begin(), given.bias.end(), is_finite),
                "the model has parameters that are not finite numbers; train it again");
        Layer layer{{},
                    {},
                    {},
                    static_cast<int>(width),
                    mlp_pitch(static_cast<int>(width)),
                    mlp_pitch(static_cast<int>(outputs)),
                    given.is_relu,
                    given.has_skip};
        const size_t pitch = static_cast<size_t>(layer.output_pitch), pairs = (width + 1) / 2;
        layer.bias.assign(given.bias.begin(), given.bias.end());
        layer.bias.resize(pitch);
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
        layers_.push_back(std::move(layer));
        width_before = width;
        width = outputs;
    }
    num_outputs_ = static_cast<int>(width);
}

float* NarrowNetwork::inputs(int count) {
    const size_t states = static_cast<size_t>(std::min(kMlpChunk, count));
    const size_t room = states * static_cast<size_t>(widest_);
    for (auto* buffer : {&newest_, &older_, &next_})
        if (buffer->size() < room) buffer->resize(room);
    if (rounded_.size() < room) rounded_.resize(room);
    if (units_.size() < states) units_.resize(states);
    return newest_.data();
}

void NarrowNetwork::forward_inputs(int count, float* outputs) {
    for (const Layer& layer : layers_) {
        kernel_.round(newest_.data(), layer.input_pitch, count, rounded_.data(), units_.data());
        kernel_.dense({layer.weights.data(), layer.units.data(), layer.bias.data(), layer.inputs,
                       layer.input_pitch, layer.output_pitch, layer.is_relu},
                      rounded_.data(), units_.data(), layer.has_skip ? older_.data() : nullptr, count,
                      next_.data());
        std::swap(older_, newest_);
        std::swap(newest_, next_);
    }
    for (int s = 0; s < count; ++s)
        std::copy_n(newest_.data() + static_cast<size_t>(s) * layers_.back().output_pitch, num_outputs_,
                    outputs + static_cast<size_t>(s) * num_outputs_);
}

}  // namespace hstar
