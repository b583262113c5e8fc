// Training of dense networks on facts by Adam: the first layer sums one row of weights per true atom, so it
// costs what the true atoms cost, however many atoms there are. Adam moves every row in every step; where a
// batch has few of the atoms, the rows of the others make up for their steps when they are needed again.
//
// A trainer works in one thread; several trainers may share their rows. The caller gives the order of the
// rows, so equal orders give equal bits on every machine.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "networks/mlp/network.hpp"
#include "runtime/cache_aligned.hpp"
#include "runtime/limits.hpp"

namespace hstar {

// Sets of atoms with labels. NaN: missing.
struct TrainingRows {
    int num_atoms;
    std::vector<int64_t> starts;  // per row, and one past the end
    std::vector<int> atoms;
    std::vector<float> h, lower, upper;

    int size() const { return static_cast<int>(h.size()); }
    void check_labels() const;  // throws std::invalid_argument
};

// What training on labelled rows minimises, per row: y is the network's output, h a label, and [lower, upper]
// holds the distance to the goal. Any of the three may be missing (NaN).
//
//     squared              (y - h)^2
//     interval             -log P(lower <= X <= upper) for a whole number X. It has a logistic distribution
//                          with mean y and a fixed scale; the mass between X - 1/2 and X + 1/2 counts for X.
//                          A bound that is missing is none; both are h where it is known.
//     truncated-gaussian   -log of the density at h of the Gaussian (y, scale) cut to [lower - epsilon, upper
//                          + epsilon]; without h, -log of the Gaussian's mass there, as in
//                          hstar.slots.objectives.likelihood
//     l-gbfs               log(1 + exp(y - y')) for two rows with h < h': the order of states, not their
//                          values (Chrestien et al. 2023). Neighbours in a chunk of a batch are compared.
//
// A row that lacks what an objective needs (h, or for the two with bounds any number) teaches nothing: its
// loss is 0.
struct TrainingObjective {
    std::string name = "squared";
    double scale = 1, epsilon = 0.1;
};

struct LossAndSlope {
    double loss, slope;  // slope: by y
};

using RowLoss = LossAndSlope (*)(const TrainingObjective& objective, double y, double h, double lower,
                                 double upper);
// Null for an objective that compares rows. Throws std::invalid_argument for objectives that make no sense.
RowLoss find_row_loss(const TrainingObjective& objective);
// Of two rows with the outputs `better` and `worse`; the slope is by the better one's, and minus the worse's.
LossAndSlope pair_loss(double better, double worse);

class MlpTrainer {
  public:
    // The last layer has one output. Throws std::invalid_argument.
    MlpTrainer(std::shared_ptr<const TrainingRows> rows, const std::vector<MlpLayer>& layers,
               TrainingObjective objective, const std::string& kernel);

    // One step per batch of rows in the given order. The mean loss, each row's before its step. Throws
    // Stopped between two steps when a limit is reached.
    double epoch(std::span<const int> order, int batch, double learning_rate, const Limits& limits);
    // The mean loss of rows, and the network's outputs.
    double loss(std::span<const int> rows, const Limits& limits);
    void outputs(std::span<const int> rows, float* result, const Limits& limits);

    // Weights, and what Adam remembers: running means of gradients and of their squares, and how many steps.
    enum class Part { Weights, Mean, Square };
    std::vector<MlpLayer> layers(Part part);
    int64_t steps() const { return steps_; }
    void load(Part part, const std::vector<MlpLayer>& layers);
    void set_steps(int64_t steps);

  private:
    struct Layer : PaddedLayer {
        using PaddedLayer::PaddedLayer;
        // Of the first layer: [atom][output_pitch]; of others: panels. Per Part.
        AlignedVector<float> weights[3], bias[3];
        AlignedVector<float> transposed;  // panels of output_pitch x input_pitch
        AlignedVector<float> weight_gradient, bias_gradient;
        AlignedVector<float> values, gradient;  // of a chunk: outputs, and the loss by what comes before relu
    };
    bool is_first(const Layer& layer) const { return &layer == layers_.data(); }
    size_t place(const Layer& layer, int input, int output) const;
    void check_rows(std::span<const int> rows) const;
    void transpose();
    // Calls work(chunk) for one chunk of rows after the other, after their way through the network.
    template <class Work>
    void for_each_chunk(std::span<const int> rows, const Limits& limits, Work work);
    void forward(std::span<const int> chunk);
    // The sum of the losses of a chunk; fills in the slopes, times `factor`.
    double slopes(std::span<const int> chunk, double factor);
    double slopes_of_pairs(std::span<const int> chunk, double factor);
    void backward(int count, float* first_gradient, bool is_first_chunk);
    double step(std::span<const int> batch, double learning_rate);
    void update(double learning_rate);
    // Which states of the batch have each atom.
    void list_states(std::span<const int> batch);
    void catch_up(int atom);
    void catch_up_all();
    MlpLists lists() const { return {rows_->starts.data(), rows_->atoms.data()}; }

    std::shared_ptr<const TrainingRows> rows_;
    TrainingObjective objective_;
    RowLoss row_loss_;
    MlpKernel kernel_;
    std::vector<Layer> layers_;
    int64_t steps_ = 0;
    AlignedVector<float> first_gradient_;  // of the whole batch
    std::vector<int64_t> state_starts_;    // per atom, and one past the end: the batch's states that have it
    std::vector<int> states_;
    std::vector<int> moved_;         // atoms whose rows the step moves: those that the batch has, or all
    std::vector<char> live_;         // per atom: whether a row with it was ever learned from
    std::vector<int64_t> up_to_;     // per atom: the number of steps that its row has made
    std::vector<AdamStep> history_;  // the last steps, as many as a row may have to make up for
};

}  // namespace hstar
