// Networks on facts. The first layer follows the search from state to state (FactLayer), so a successor
// costs as many rows as it has changed facts, however many facts there are.
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

// The first layer of a network that reads which atoms are true: a bias and one row of weights per true atom.
//
// Rows are whole numbers with one power of two as their unit, so sums are exact: a sum that follows a state
// from one to the next equals one made from scratch, bit for bit. The unit is the smallest for which no state
// overflows, which leaves about 24 bits for a weight.
class FactLayer {
  public:
    // `rows` has an input or -1 per fact; `constant` are inputs that are 1 in every state. Throws
    // std::invalid_argument.
    FactLayer(const Task& task, std::vector<int> rows, std::span<const int> constant, const MlpLayer& layer)
        : task_(task),
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

    // Moves to a state, in as few steps as it takes from the state before.
    void move_to(const int* values) {
        const size_t variables = static_cast<size_t>(task_.num_variables());
        if (values_.size() != variables) return start(values);
        changes_.clear();
        for (size_t v = 0; v < variables; ++v) change(static_cast<int>(v), values_[v], values[v]);
        if (changes_.size() > variables) return start(values);
        kernel_.change_sums(layer(), sums_.data(), changes_.data(), static_cast<int>(changes_.size()),
                            sums_.data());
        std::copy_n(values, variables, values_.begin());
    }
    // The activations [pitch] of the state itself.
    void read(float* y) const { kernel_.read_sums(layer(), sums_.data(), y); }
    // Those of its successor by an operator, whose values are given.
    void read_successor(int op, const int* values, float* y) {
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

  private:
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

class FactMlp : public OutputModel {
  public:
    FactMlp(FactLayer first, MlpNetwork rest) : first_(std::move(first)), rest_(std::move(rest)) {}

    int num_outputs() const override { return rest_.num_outputs(); }
    int most_at_once() const override { return 1024; }

    void outputs(const StateBatch& batch, std::span<const int> which, float* result) override {
        in_chunks(which, result, [&](int state, float* y) {
            first_.move_to(batch.row(state));
            first_.read(y);
        });
    }

    void outputs_of_expansions(const ExpansionBatch& batch, std::span<const int> which,
                               float* result) override {
        ExpansionWalk walk(batch, parent_);
        in_chunks(which, result, [&](int state, float* y) {
            if (walk.enter(state, [&](const int* values) { first_.move_to(values); }))
                first_.read_successor(batch.ops[state], batch.children.row(state), y);
            else
                first_.read(y);
        });
    }

  private:
    // `load` writes the first layer's activations of a state.
    template <class Load>
    void in_chunks(std::span<const int> which, float* result, Load load) {
        const int pitch = rest_.input_pitch();
        for (size_t begin = 0; begin < which.size(); begin += kMlpChunk) {
            const int states = static_cast<int>(std::min<size_t>(kMlpChunk, which.size() - begin));
            float* inputs = rest_.inputs(states);
            for (int s = 0; s < states; ++s) load(which[begin + s], inputs + static_cast<size_t>(s) * pitch);
            rest_.forward_inputs(states, result + begin * rest_.num_outputs());
        }
    }

    FactLayer first_;
    MlpNetwork rest_;  // the layers after the first
    std::vector<int> parent_;
};

}  // namespace

std::unique_ptr<OutputModel> make_fact_network(const Task& task, std::vector<int> rows,
                                               std::span<const int> constant, std::vector<MlpLayer> layers,
                                               MlpPrecision precision) {
    require(layers.size() >= 2, "a network on facts needs at least two layers");
    check_layers(layers, layers[0].inputs());
    require(precision == MlpPrecision::Float32 || layers[0].is_relu,
            "with precision int16 the first layer must end with relu");
    FactLayer first(task, std::move(rows), constant, layers[0]);
    layers.erase(layers.begin());
    MlpNetwork rest(layers[0].inputs(), layers, precision);
    return std::make_unique<FactMlp>(std::move(first), std::move(rest));
}

}  // namespace hstar
