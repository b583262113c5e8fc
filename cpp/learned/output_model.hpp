// Models as learned heuristics see them: a batch of states in, rows of outputs out.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "networks/mlp/network.hpp"
#include "networks/nlm/batch.hpp"
#include "networks/nlm/shape.hpp"
#include "wl/operators.hpp"

namespace hstar {

class OutputModel {
  public:
    virtual ~OutputModel() = default;
    virtual int num_outputs() const = 0;
    // The name of a heuristic whose values the model computes anyway, or empty. Where it is infinite the
    // model has no outputs.
    virtual std::string known_heuristic() const { return ""; }
    // Called once per batch, before outputs(): fills in the values of the known heuristic, if there is one.
    virtual void prepare(const StateBatch&, float* /*known*/) {}
    // For the listed states of the batch; result: which.size() x num_outputs.
    virtual void outputs(const StateBatch& batch, std::span<const int> which, float* result) = 0;
    // The same for successors of known parents. Models that share work between them override it.
    virtual void outputs_of_expansions(const ExpansionBatch& batch, std::span<const int> which,
                                       float* result) {
        outputs(batch.children, which, result);
    }
    // The ranks of an evaluator (Evaluator::rank_operators). Artificial operators come first.
    virtual void rank_operators(const int* /*values*/, std::span<const int> /*ops*/, float* /*rank*/) {}
    virtual bool ranks_operators() const { return false; }
    // How many states are computed well within the time between two looks at the clock.
    virtual int most_at_once() const { return 32; }
};

// A model that follows the search from state to state, so that a state costs what has changed since the one
// before. Each state becomes a row of numbers: the inputs of a network, or without one the model's only
// output.
class FollowingModel : public OutputModel {
  public:
    explicit FollowingModel(std::optional<MlpNetwork> network) : network_(std::move(network)) {}

    int num_outputs() const override { return network_ ? network_->num_outputs() : 1; }
    void outputs(const StateBatch& batch, std::span<const int> which, float* result) override {
        in_chunks(which, result, [&](int state, float* row) {
            move_to(batch.row(state));
            read(row);
        });
    }
    void outputs_of_expansions(const ExpansionBatch& batch, std::span<const int> which,
                               float* result) override {
        const Expansion* expansion = batch.expansions.data();
        int end = 0;  // one past the last child of the expansion
        in_chunks(which, result, [&](int child, float* row) {
            if (child >= end) {  // children come in order
                while (child >= expansion->first + expansion->count) ++expansion;
                end = expansion->first + expansion->count;
                if (expansion->parent) {
                    parent_.resize(batch.children.num_variables);
                    batch.packing.unpack(expansion->parent, parent_.data());
                    move_to(parent_.data());
                }
            }
            const int* values = batch.children.row(child);
            if (expansion->parent) return read_successor(batch.ops[child], values, row);
            move_to(values);
            read(row);
        });
    }

  protected:
    virtual void move_to(const int* values) = 0;
    // The row of the state itself, and that of its successor by an operator, whose values are given.
    virtual void read(float* row) = 0;
    virtual void read_successor(int op, const int* values, float* row) = 0;

  private:
    template <class Load>
    void in_chunks(std::span<const int> which, float* result, Load load) {
        for (size_t begin = 0; begin < which.size(); begin += kMlpChunk) {
            const int states = static_cast<int>(std::min<size_t>(kMlpChunk, which.size() - begin));
            float* row = network_ ? network_->inputs(states) : result;
            const int pitch = network_ ? network_->input_pitch() : 1;
            for (int s = 0; s < states; ++s, row += pitch) load(which[begin + s], row);
            if (network_) network_->forward_inputs(states, result);
            result += states * num_outputs();
        }
    }

    std::optional<MlpNetwork> network_;
    std::vector<int> parent_;
};

// All throw std::invalid_argument for models that do not fit the task.

// A Neural Logic Machine with these parameters.
std::unique_ptr<OutputModel> make_nlm(const Task& task, const NlmShape& shape,
                                      const std::vector<float>& theta, NlmEncoding encoding);
// A dense network that reads which facts are true. `rows` has the input of each fact of the task, or -1 if it
// has none; `constant` are inputs that are 1 in every state. Precision is that of the layers after the first.
std::unique_ptr<OutputModel> make_fact_network(const Task& task, std::vector<int> rows,
                                               std::span<const int> constant, std::vector<MlpLayer> layers,
                                               MlpPrecision precision);
// A dense network that reads the four features of RelaxationHeuristic::plan_features.
std::unique_ptr<OutputModel> make_plan_network(const Task& task, const std::vector<MlpLayer>& layers,
                                               CostType cost);
// A dense network that reads Weisfeiler-Leman features: how many vertices of the state's graph have each
// colour. A linear function may have a ranking of operators beside it.
std::unique_ptr<OutputModel> make_wl_network(IncrementalWl wl, const std::vector<MlpLayer>& layers,
                                             std::optional<WlRanking> ranking);

}  // namespace hstar
