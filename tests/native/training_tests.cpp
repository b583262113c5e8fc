// Networks with 16-bit products and the trainer: instruction sets agree to the last bit; 16 bits are close
// to single precision; training lowers the loss.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "networks/mlp/network.hpp"
#include "networks/mlp/trainer.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

struct Draw {
    explicit Draw(int seed) : random(static_cast<unsigned>(seed)) {}
    int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
    MlpLayer layer(int inputs, int outputs, bool is_relu, bool has_skip) {
        std::uniform_real_distribution<float> uniform(-1, 1);
        MlpLayer layer;
        const float size = 2 / std::sqrt(static_cast<float>(inputs));
        for (int i = 0; i < inputs * outputs; ++i) layer.weights.push_back(size * uniform(random));
        for (int i = 0; i < outputs; ++i) layer.bias.push_back(0.3f * uniform(random));
        layer.is_relu = is_relu;
        layer.has_skip = has_skip;
        return layer;
    }
    std::mt19937 random;
};

}  // namespace

void test_narrow(int seed) {
    Draw draw(seed);
    const int inputs = draw.between(1, 90), width = draw.between(1, 150), count = draw.between(1, 64);
    const std::vector<MlpLayer> layers{
        draw.layer(inputs, width, true, false), draw.layer(width, width, true, false),
        draw.layer(width, width, true, true), draw.layer(width, draw.between(1, 3), false, false)};
    const size_t num_outputs = layers.back().bias.size();
    std::vector<float> numbers(static_cast<size_t>(count) * inputs);
    for (float& x : numbers) x = std::max(0.0f, std::normal_distribution<float>(0, 3)(draw.random));
    std::vector<float> exact(count * num_outputs), first;
    MlpNetwork(inputs, layers).forward(numbers.data(), count, exact.data());
    for (const NarrowKernel& kernel : narrow_kernels()) {
        MlpNetwork network(inputs, layers, MlpPrecision::Int16, kernel.name);
        std::vector<float> outputs(count * num_outputs);
        network.forward(numbers.data(), count, outputs.data());
        if (first.empty()) first = outputs;
        check(std::memcmp(first.data(), outputs.data(), outputs.size() * sizeof(float)) == 0,
              "every kernel gives the same bits (16-bit products)", seed);
    }
    float largest = 0, error = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
        largest = std::max(largest, std::fabs(exact[i]));
        error = std::max(error, std::fabs(exact[i] - first[i]));
    }
    check(error <= 0.005f * largest + 1e-4f, "16-bit products are close to single precision", seed);
}

void test_trainer(int seed) {
    Draw draw(seed);
    const int atoms = draw.between(1, 60), count = draw.between(2, 130), width = draw.between(1, 90);
    std::vector<int64_t> starts{0};
    std::vector<int> items;
    std::vector<float> h, lower, upper;
    const float missing = std::numeric_limits<float>::quiet_NaN();
    for (int row = 0; row < count; ++row) {
        for (int atom = 0; atom < atoms; ++atom)
            if (draw.between(0, 3) == 0) items.push_back(atom);
        starts.push_back(static_cast<int64_t>(items.size()));
        h.push_back(static_cast<float>(items.size() - starts[row]));
        lower.push_back(draw.between(0, 1) ? h.back() - 1 : missing);
        upper.push_back(draw.between(0, 1) ? h.back() + 1 : missing);
    }
    const auto rows =
        std::make_shared<const TrainingRows>(TrainingRows{atoms, starts, items, h, lower, upper});
    const std::vector<MlpLayer> layers{
        draw.layer(atoms, width, true, false), draw.layer(width, width, true, false),
        draw.layer(width, width, true, false), draw.layer(width, width, true, true),
        draw.layer(width, 1, false, false)};
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    const char* names[] = {"squared", "interval", "truncated-gaussian"};
    std::vector<float> first;
    for (const MlpKernel& kernel : mlp_kernels()) {
        MlpTrainer trainer(rows, layers, {names[seed % 3], 1.5, 0.1}, kernel.name);
        const double before = trainer.loss(order, {});
        const int batch = seed % 7 + 120 * (seed % 2) + 1;
        for (int epoch = 0; epoch < 4; ++epoch) trainer.epoch(order, batch, 1e-4, {});
        check(trainer.loss(order, {}) <= before, "training lowers the loss", seed);
        std::vector<float> all;
        for (const MlpLayer& layer : trainer.layers(MlpTrainer::Part::Weights)) {
            all.insert(all.end(), layer.weights.begin(), layer.weights.end());
            all.insert(all.end(), layer.bias.begin(), layer.bias.end());
        }
        if (first.empty()) first = all;
        check(std::memcmp(first.data(), all.data(), all.size() * sizeof(float)) == 0,
              "every kernel trains the same bits", seed);
    }
}
