// The first layer of a network that reads which atoms are true: a bias and one row of weights per true atom.
//
// Rows are whole numbers with one power of two as their unit, so sums are exact: a sum that follows a state
// from one to the next equals one made from scratch, bit for bit. The unit is the smallest for which no state
// overflows, which leaves about 24 bits for a weight.
#pragma once
#include <span>
#include <vector>

#include "networks/mlp/network.hpp"
#include "task/task.hpp"

namespace hstar {

class FactLayer {
  public:
    // `rows` has an input or -1 per fact; `constant` are inputs that are 1 in every state. The layer's inputs
    // and outputs must fit. Throws std::invalid_argument.
    FactLayer(const Task& task, std::vector<int> rows, std::span<const int> constant, int inputs,
              const MlpLayer& layer, const std::string& kernel);

    int num_outputs() const { return num_outputs_; }
    int pitch() const { return pitch_; }

    // Moves to a state, in as few steps as it takes from the state before.
    void move_to(const int* values);
    // The activations [pitch] of the state itself.
    void read(float* y) const { kernel_.read_sums(layer(), sums_.data(), y); }
    // Those of its successor by an operator, whose values are given.
    void read_successor(int op, const int* values, float* y);

  private:
    MlpSums layer() const { return {rows_.data(), pitch_, unit_, is_relu_}; }
    // Notes that a variable changes.
    void change(int variable, int old_value, int new_value) {
        if (old_value == new_value) return;
        const int* row = row_of_.data() + task_.first_fact[variable];
        if (row[old_value] >= 0) changes_.push_back(~row[old_value]);
        if (row[new_value] >= 0) changes_.push_back(row[new_value]);
    }
    void start(const int* values);

    const Task& task_;
    MlpKernel kernel_;
    std::vector<int> row_of_;  // per fact
    int num_outputs_, pitch_;
    float unit_;
    bool is_relu_;
    AlignedVector<int> rows_, base_;  // base_: bias and constant inputs

    std::vector<int> values_;  // of the state; empty: there is none yet
    AlignedVector<int> sums_, successor_;
    std::vector<int> changes_;
};

}  // namespace hstar
