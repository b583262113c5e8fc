// Neural Logic Machines: instruction sets agree to the last bit, gradients are slopes, and learned heuristics
// accept any state of any task.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "learned/learned_heuristic.hpp"
#include "networks/nlm/batch.hpp"
#include "networks/nlm/network.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

using Random = std::mt19937;

int number(Random& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
}

NlmShape random_shape(Random& random, int largest_width) {
    NlmShape shape;
    shape.breadth = number(random, 1, 3);
    shape.depth = number(random, 1, 6);
    shape.width = number(random, 1, largest_width);
    shape.outputs = number(random, 1, 2);
    shape.exclude_self = number(random, 0, 1);
    shape.dense = number(random, 0, 1);
    shape.activation = number(random, 0, 1) ? Activation::Sigmoid : Activation::Relu;
    for (int arity = 0; arity <= shape.breadth; ++arity) shape.channels[arity] = number(random, 0, 3);
    shape.finish();
    return shape;
}

std::vector<float> random_theta(Random& random, const NlmShape& shape) {
    std::normal_distribution<float> normal(0.0f, 0.5f);
    std::vector<float> theta(shape.num_parameters);
    for (float& x : theta) x = normal(random);
    return theta;
}

struct Sparse {
    std::vector<NlmEntry> entries;
    std::vector<float> values;
};

Sparse random_entries(Random& random, const NlmShape& shape, int n) {
    Sparse sparse;
    int tuples = 1;
    for (int arity = 0; arity <= shape.breadth; ++arity, tuples *= n) {
        const int room = tuples * shape.channels[arity];
        for (int i = room ? number(random, 0, 8) : 0; i > 0; --i) {
            sparse.entries.push_back({arity, number(random, 0, room - 1)});
            sparse.values.push_back(number(random, 0, 4) ? 1.0f : -1.0f);
        }
    }
    return sparse;
}

struct Result {
    std::vector<float> output, gradient;
};

Result run(const NlmKernel& kernel, const NlmShape& shape, const NlmWeights& weights, int n,
           const Sparse& sparse) {
    Arena arena;
    NlmInputBuilder builder(shape);
    NlmNetwork network(shape, kernel);
    Result result{std::vector<float>(shape.outputs), std::vector<float>(shape.num_parameters)};
    NlmInput input = builder.build(n, sparse.entries, sparse.values, arena);
    network.forward(weights, input, arena, result.output.data());
    float* packed = arena.take_zeros<float>(static_cast<int64_t>(shape.packed_floats));
    const std::vector<float> ones(shape.outputs, 1.0f);
    network.backward(weights, ones.data(), packed);
    add_packed(shape, packed, result.gradient.data());
    return result;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void test_kernels_agree(int seed) {
    Random random(seed);
    NlmShape shape = random_shape(random, 20);
    const std::vector<float> theta = random_theta(random, shape);
    const NlmWeights weights(shape, theta.data(), true);
    const int n = number(random, 0, 5);
    const Sparse sparse = random_entries(random, shape, n);
    const auto& kernels = nlm_kernels();
    const Result plain = run(kernels[0], shape, weights, n, sparse);
    for (const NlmKernel& other : kernels) {
        const Result result = run(other, shape, weights, n, sparse);
        check(same_bits(plain.output, result.output), "instruction sets give the same output", seed);
        check(same_bits(plain.gradient, result.gradient), "instruction sets give the same gradient", seed);
    }
}

// Where the output is smooth around theta, its slope along a random direction is that of the gradient.
void test_gradient_is_the_slope(int seed) {
    Random random(seed);
    NlmShape shape = random_shape(random, 4);
    shape.activation = Activation::Sigmoid;
    const std::vector<float> theta = random_theta(random, shape);
    std::vector<int> sizes{number(random, 0, 4)};
    const Sparse sparse = random_entries(random, shape, sizes[0]);
    const std::vector<int64_t> starts{0, static_cast<int64_t>(sparse.entries.size())};
    const NlmBatch batch{sizes, starts, sparse.entries, sparse.values};
    NlmRunner runner(shape);
    std::vector<float> gradient(theta.size());
    const auto ones = [&](int64_t, const float*, float* slopes) { std::fill_n(slopes, shape.outputs, 1.0f); };
    runner.backward(NlmWeights(shape, theta.data(), true), batch, ones, 1, gradient.data());
    const std::vector<float> direction = random_theta(random, shape);
    auto value = [&](double step) {
        std::vector<float> moved = theta, output(shape.outputs);
        for (size_t i = 0; i < moved.size(); ++i) moved[i] += static_cast<float>(step) * direction[i];
        runner.forward(NlmWeights(shape, moved.data(), false), batch, 1, output.data());
        double sum = 0;
        for (float y : output) sum += y;
        return sum;
    };
    double slope = 0;
    for (size_t i = 0; i < theta.size(); ++i) slope += static_cast<double>(gradient[i]) * direction[i];
    constexpr double kStep = 1.0 / 512;
    const double right = (value(kStep) - value(0)) / kStep, left = (value(0) - value(-kStep)) / kStep;
    const double size = std::max({1.0, std::fabs(left), std::fabs(right)});
    if (std::fabs(right - left) > 0.02 * size) return;  // a minimum or maximum changes hands here
    check(std::fabs((left + right) / 2 - slope) < 0.02 * size, "the gradient is the slope", seed);
}

}  // namespace

void test_nlm(int seed) {
    test_kernels_agree(seed);
    test_gradient_is_the_slope(seed);
}

void test_learned_heuristics(const Task& task, int seed) {
    Random random(seed);
    const NlmShape shape = random_shape(random, 5);
    const std::vector<float> theta = random_theta(random, shape);
    NlmEncoding encoding;
    encoding.num_objects = number(random, 1, 6);
    Sparse sparse = random_entries(random, shape, encoding.num_objects);
    encoding.base_entries = sparse.entries;
    encoding.base_values = sparse.values;
    while (encoding.fact_entries.size() < static_cast<size_t>(task.num_facts())) {
        sparse = random_entries(random, shape, encoding.num_objects);
        encoding.fact_entries.push_back(sparse.entries.empty() ? NlmEntry{-1, -1} : sparse.entries[0]);
    }
    Correction correction;
    correction.base = number(random, 0, 1) ? "ff" : "";
    correction.lower = number(random, 0, 1) ? "lmcut" : "ff";
    const DecodeSpec decode{number(random, 0, 1) ? "clip" : "truncated-mean",
                            {{"epsilon", 0.1}, {"sigma", 0.5}, {"least_sigma", 0.1}, {"sigma_range", 10}},
                            {}};
    correction.cap = !correction.base.empty() && number(random, 0, 1) ? 1.25 : 0;
    std::vector<int> values;
    for (int i = 0; i < 20; ++i)
        for (int v = 0; v < task.num_variables(); ++v)
            values.push_back(number(random, 0, task.domain_size[v] - 1));
    values.resize(std::max<size_t>(1, values.size()));
    const std::vector<MlpLayer> linear{{{0.5f, 0.25f, 0.5f, 1.0f}, {-3.0f}, false, false}};
    for (const auto& evaluator :
         {make_learned(task, make_nlm(task, shape, theta, encoding), correction, decode),
          make_learned(task, make_plan_network(task, linear, correction.cost), correction, decode)}) {
        std::vector<float> together(20), alone(20);
        Rows<int> preferred;
        evaluator->evaluate({values.data(), 20, task.num_variables()}, together.data(), &preferred);
        check(preferred.size() == 20, "a row of preferred operators per state", seed);
        for (int i = 0; i < 20; ++i)
            evaluator->evaluate({values.data() + i * task.num_variables(), 1, task.num_variables()},
                                &alone[i], nullptr);
        check(same_bits(together, alone), "a state's value does not depend on its neighbours", seed);
        check(std::none_of(alone.begin(), alone.end(), [](float h) { return std::isnan(h); }),
              "values are numbers", seed);
    }
}
