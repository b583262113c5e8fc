// Models as learned heuristics see them: a batch of states in, rows of outputs out.
#pragma once
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

// Leads something that follows states from parent to parent of a batch of successors.
class ExpansionWalk {
  public:
    // `buffer` is room for the values of a parent.
    ExpansionWalk(const ExpansionBatch& batch, std::vector<int>& buffer)
        : batch_(batch), buffer_(buffer), expansion_(batch.expansions.data()) {}

    // Calls `move_to` with the values of the child's parent, unless it is there already, and returns true;
    // for a child without one, calls it with those of the child and returns false. Children must come in
    // order.
    template <class MoveTo>
    bool enter(int child, MoveTo move_to) {
        if (child >= end_) {
            while (child >= expansion_->first + expansion_->count) ++expansion_;
            end_ = expansion_->first + expansion_->count;
            if (expansion_->parent) {
                buffer_.resize(batch_.children.num_variables);
                batch_.packing.unpack(expansion_->parent, buffer_.data());
                move_to(buffer_.data());
            }
        }
        if (!expansion_->parent) move_to(batch_.children.row(child));
        return expansion_->parent != nullptr;
    }

  private:
    const ExpansionBatch& batch_;
    std::vector<int>& buffer_;
    const Expansion* expansion_;
    int end_ = 0;  // one past the last child of the expansion
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
