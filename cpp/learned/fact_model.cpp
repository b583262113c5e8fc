// Networks on facts. The first layer follows the search from state to state, so a successor costs as many
// rows as it has changed facts, however many facts there are.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "learned/output_model.hpp"
#include "networks/mlp/network.hpp"
#include "runtime/require.hpp"
#include "task/task.hpp"

namespace hstar {

namespace {

constexpr int kFinestUnit = -28;  // 2^-28: finer than single precision for weights of usual size

// The first layer reads which atoms are true: it sums a bias and one row of weights per true atom.
//
// Rows are whole numbers with one power of two as their unit, so sums are exact: a sum that follows a state
// from one to the next equals one made from scratch, bit for bit. The unit is the smallest for which no state
// overflows, which leaves about 24 bits for a weight.
class FactMlp : public FollowingModel {
  public:
    // `rows` has an input or -1 per fact; `constant` are inputs that are 1 in every state; `rest` are the
    // layers after the first. Throws std::invalid_argument.
    FactMlp(const Task& task, std::vector<int> rows, std::span<const int> constant, const MlpLayer& layer,
            MlpNetwork rest)
        : FollowingModel(std::move(rest)),
          task_(task),
          kernel_(mlp_kernels().back()),
          row_of_(std::move(rows)),
          pitch_(mlp_pitch(static_cast<int>(layer.bias.size()))),
          is_relu_(layer.is_relu) {
        const int inputs = static_cast<int>(layer.inputs()), outputs = static_cast<int>(layer.bias.size());
        require(row_of_.size() == static_cast<size_t>(task.num_facts()),
                "there must be one input, or -1, per fact of the task");
        const auto is_input = [&](int row) { return row >= 0 && row < inputs; };
        require(std::all_of(row_of_.begin(), row_of_.end(), [&](int r) { return r == -1 || is_input(r); }) &&
                    std::all_of(constant.begin(), constant.end(), is_input),
                "a fact has an input that the network does not have");

        // The largest sum of any state, and the finest unit in which it fits.
        double largest = 0;
        std::vector<double> base(layer.bias.begin(), layer.bias.end());
        for (int output = 0; output < outputs; ++output) {
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
        for (int output = 0; output < outputs; ++output) {
            base_[output] = fixed(base[output]);
            const float* weights = layer.weights.data() + static_cast<size_t>(output) * inputs;
            for (int row : row_of_)  // a row that no fact uses may not fit
                if (row >= 0) rows_[static_cast<size_t>(row) * pitch_ + output] = fixed(weights[row]);
        }
        sums_.resize(pitch_);
        successor_.resize(pitch_);
    }

    int most_at_once() const override { return 1024; }

  private:
    // In as few steps as it takes from the state before.
    void move_to(const int* values) override {
        const size_t variables = static_cast<size_t>(task_.num_variables());
        if (values_.size() != variables) return start(values);
        changes_.clear();
        for (size_t v = 0; v < variables; ++v) change(static_cast<int>(v), values_[v], values[v]);
        if (changes_.size() > variables) return start(values);
        kernel_.change_sums(layer(), sums_.data(), changes_.data(), static_cast<int>(changes_.size()),
                            sums_.data());
        std::copy_n(values, variables, values_.begin());
    }
    void read(float* y) override { kernel_.read_sums(layer(), sums_.data(), y); }
    void read_successor(int op, const int* values, float* y) override {
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

    MlpSums layer() const { return {rows_.data(), pitch_, unit_, is_relu_}; }
    // Notes that a variable changes.
    void change(int variable, int old_value, int new_value) {
        if (old_value == new_value) return;
        const int* row = row_of_.data() + task_.first_fact[variable];
        if (row[old_value] >= 0) changes_.push_back(~row[old_value]);
        if (row[new_value] >= 0) changes_.push_back(row[new_value]);
    }
    void start(const int* values) {
        changes_.clear();
        for (int v = 0; v < task_.num_variables(); ++v) {
            const int row = row_of_[task_.first_fact[v] + values[v]];
            if (row >= 0) changes_.push_back(row);
        }
        kernel_.change_sums(layer(), base_.data(), changes_.data(), static_cast<int>(changes_.size()),
                            sums_.data());
        values_.assign(values, values + task_.num_variables());
    }

    const Task& task_;
    MlpKernel kernel_;
    std::vector<int> row_of_;  // per fact
    int pitch_;
    float unit_;
    bool is_relu_;
    AlignedVector<int> rows_, base_;  // base_: bias and constant inputs

    std::vector<int> values_;  // of the state; empty: there is none yet
    AlignedVector<int> sums_, successor_;
    std::vector<int> changes_;
};

}  // namespace

std::unique_ptr<OutputModel> make_fact_network(const Task& task, std::vector<int> rows,
                                               std::span<const int> constant, std::vector<MlpLayer> layers,
                                               MlpPrecision precision) {
    require(layers.size() >= 2, "a network on facts needs at least two layers");
    check_layers(layers, layers[0].inputs());
    require(precision == MlpPrecision::Float32 || layers[0].is_relu,
            "with precision int16 the first layer must end with relu");
    const MlpLayer first = std::move(layers[0]);
    layers.erase(layers.begin());
    return std::make_unique<FactMlp>(task, std::move(rows), constant, first,
                                     MlpNetwork(layers[0].inputs(), layers, precision));
}

}  // namespace hstar
