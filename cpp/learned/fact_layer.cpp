#include "learned/fact_layer.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/kernels.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

constexpr int kFinestUnit = -28;  // 2^-28: finer than single precision for weights of usual size

}  // namespace

FactLayer::FactLayer(const Task& task, std::vector<int> rows, std::span<const int> constant, int inputs,
                     const MlpLayer& layer, const std::string& kernel)
    : task_(task),
      kernel_(choose_kernel(mlp_kernels(), kernel)),
      row_of_(std::move(rows)),
      num_outputs_(static_cast<int>(layer.bias.size())),
      pitch_(mlp_pitch(num_outputs_)),
      is_relu_(layer.is_relu) {
    require(row_of_.size() == static_cast<size_t>(task.num_facts()),
            "there must be one input, or -1, per fact of the task");
    const auto is_input = [&](int row) { return row >= 0 && row < inputs; };
    require(std::all_of(row_of_.begin(), row_of_.end(), [&](int r) { return r == -1 || is_input(r); }) &&
                std::all_of(constant.begin(), constant.end(), is_input),
            "a fact has an input that the network does not have");
    require(num_outputs_ >= 1 && layer.weights.size() == static_cast<size_t>(inputs) * layer.bias.size(),
            "the first layer's weights must be [outputs, inputs]");
    layer.check_numbers();

    // The largest sum of any state, and the finest unit in which it fits.
    double largest = 0;
    std::vector<double> base(layer.bias.begin(), layer.bias.end());
    for (int output = 0; output < num_outputs_; ++output) {
        const float* weights = layer.weights.data() + static_cast<size_t>(output) * inputs;
        for (int row : constant) base[output] += weights[row];
        double sum = std::fabs(base[output]);
        for (int v = 0; v < task.num_variables(); ++v) {
            double most = 0;
            for (int fact = task.first_fact[v]; fact < task.first_fact[v + 1]; ++fact)
                if (row_of_[fact] >= 0) most = std::max<double>(most, std::fabs(weights[row_of_[fact]]));
            sum += most;
        }
        largest = std::max(largest, sum);
    }
    const double room = 2147483647.0 - task.num_variables() - 1;  // each rounding adds at most a half
    int exponent = kFinestUnit;
    while (std::ldexp(largest, -exponent) > room) ++exponent;
    unit_ = std::ldexp(1.0f, exponent);

    const auto fixed = [&](double x) { return static_cast<int>(std::lrint(std::ldexp(x, -exponent))); };
    base_.assign(pitch_, 0);
    rows_.assign(static_cast<size_t>(inputs) * pitch_, 0);
    std::vector<char> is_used(inputs, 0);  // a row that no fact uses may not fit
    for (int row : row_of_)
        if (row >= 0) is_used[row] = 1;
    for (int output = 0; output < num_outputs_; ++output) {
        base_[output] = fixed(base[output]);
        for (int row = 0; row < inputs; ++row)
            if (is_used[row])
                rows_[static_cast<size_t>(row) * pitch_ + output] =
                    fixed(layer.weights[static_cast<size_t>(output) * inputs + row]);
    }
    sums_.resize(pitch_);
    successor_.resize(pitch_);
}

void FactLayer::start(const int* values) {
    changes_.clear();
    for (int v = 0; v < task_.num_variables(); ++v) {
        const int row = row_of_[task_.first_fact[v] + values[v]];
        if (row >= 0) changes_.push_back(row);
    }
    kernel_.change_sums(layer(), base_.data(), changes_.data(), static_cast<int>(changes_.size()),
                        sums_.data());
    values_.assign(values, values + task_.num_variables());
}

void FactLayer::move_to(const int* values) {
    const size_t variables = static_cast<size_t>(task_.num_variables());
    if (values_.size() != variables) return start(values);
    changes_.clear();
    for (size_t v = 0; v < variables; ++v) change(static_cast<int>(v), values_[v], values[v]);
    if (changes_.size() > variables) return start(values);
    kernel_.change_sums(layer(), sums_.data(), changes_.data(), static_cast<int>(changes_.size()),
                        sums_.data());
    std::copy_n(values, variables, values_.begin());
}

void FactLayer::read_successor(int op, const int* values, float* y) {
    changes_.clear();
    if (task_.conditional[op].empty()) {
        for (auto [variable, value] : task_.effects[op]) change(variable, values_[variable], value);
    } else {  // which effects fired shows in the values
        for (int v = 0; v < task_.num_variables(); ++v) change(v, values_[v], values[v]);
    }
    kernel_.change_sums(layer(), sums_.data(), changes_.data(), static_cast<int>(changes_.size()),
                        successor_.data());
    kernel_.read_sums(layer(), successor_.data(), y);
}

}  // namespace hstar
