// Dense networks in single precision: instruction sets agree to the last bit, and with the definition.
#include <cmath>
#include <cstring>
#include <random>

#include "networks/mlp/network.hpp"
#include "tests.hpp"

using namespace hstar;

void test_mlp(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    auto between = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    std::normal_distribution<float> normal(0.0f, 0.3f);
    const int inputs = between(5, 40), width = between(1, 150), count = between(1, 150);
    std::vector<MlpLayer> layers;
    int before = inputs;
    for (int outputs : {width, width, width, width, between(1, 20)}) {
        MlpLayer layer;
        for (int i = 0; i < before * outputs; ++i) layer.weights.push_back(normal(random));
        for (int i = 0; i < outputs; ++i) layer.bias.push_back(normal(random));
        layer.is_relu = layers.size() < 4;
        layer.has_skip = layers.size() == 3;
        layers.push_back(layer);
        before = outputs;
    }
    std::vector<float> numbers(static_cast<size_t>(count) * inputs);
    for (float& x : numbers) x = normal(random);
    std::vector<float> first;
    for (const MlpKernel& kernel : mlp_kernels()) {
        MlpNetwork network(inputs, layers, MlpPrecision::Float32, kernel.name);
        std::vector<float> outputs(static_cast<size_t>(count) * network.num_outputs());
        network.forward(numbers.data(), count, outputs.data());
        if (first.empty()) first = outputs;
        check(std::memcmp(first.data(), outputs.data(), outputs.size() * sizeof(float)) == 0,
              "every kernel gives the same bits", seed);
    }
    std::vector<double> older, x(numbers.begin(), numbers.begin() + inputs);  // of the first state
    for (const MlpLayer& layer : layers) {
        std::vector<double> y(layer.bias.begin(), layer.bias.end());
        for (size_t o = 0; o < y.size(); ++o) {
            for (size_t i = 0; i < x.size(); ++i) y[o] += x[i] * layer.weights[o * x.size() + i];
            if (layer.has_skip) y[o] += older[o];
            if (layer.is_relu) y[o] = std::fmax(y[o], 0);
        }
        older = x;
        x = y;
    }
    bool is_close = true;
    for (size_t o = 0; o < x.size(); ++o)
        is_close &= std::fabs(x[o] - first[o]) < 1e-4 * (1 + std::fabs(x[o]));
    check(is_close, "a dense network is what its layers say", seed);
}
