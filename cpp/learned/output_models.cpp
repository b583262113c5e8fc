#include <algorithm>
#include <cmath>

#include "heuristics/relaxation_heuristics.hpp"
#include "learned/output_model.hpp"
#include "networks/nlm/batch.hpp"
#include "networks/nlm/network.hpp"
#include "networks/nlm/twins.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

class NlmOutputs : public OutputModel {
  public:
    NlmOutputs(const Task& task, NlmModel model)
        : task_(task),
          model_(std::move(model)),
          weights_(model_.shape, model_.theta.data(), false),
          twins_(model_.shape),
          builder_(model_.shape),
          network_(model_.shape, nlm_kernels().back().kernel) {
        const NlmShape& shape = model_.shape;
        const int n = model_.encoding.num_objects;
        base_signatures_.assign(n, Signature{});
        for (size_t e = 0; e < model_.encoding.base_entries.size(); ++e) {
            const auto shares =
                signature_shares(shape, n, model_.encoding.base_entries[e], model_.encoding.base_values[e]);
            for (int i = 0; i < shares.count; ++i) base_signatures_[shares.object[i]] += shares.share[i];
        }
        for (const NlmEntry& entry : model_.encoding.fact_entries)
            fact_shares_.push_back(entry.arity < 0 ? SignatureShares{}
                                                   : signature_shares(shape, n, entry, 1));
    }

    int num_outputs() const override { return model_.shape.outputs; }
    void outputs(const StateBatch& batch, std::span<const int> which, float* result) override {
        for (size_t i = 0; i < which.size(); ++i)
            forward(batch.row(which[i]), batch.num_variables, result + i * model_.shape.outputs);
    }

  private:
    void forward(const int* state, int num_variables, float* result) {
        signatures_ = base_signatures_;
        for (int v = 0; v < num_variables; ++v) {
            const SignatureShares& shares = fact_shares_[task_.first_fact[v] + state[v]];
            for (int s = 0; s < shares.count; ++s) signatures_[shares.object[s]] += shares.share[s];
        }
        const int n = twins_.choose(signatures_);
        entries_.clear();
        values_.clear();
        auto add = [&](NlmEntry entry, float value) {
            if (entry.arity < 0 || !twins_.renumber(entry)) return;
            entries_.push_back(entry);
            values_.push_back(value);
        };
        for (size_t e = 0; e < model_.encoding.base_entries.size(); ++e)
            add(model_.encoding.base_entries[e], model_.encoding.base_values[e]);
        for (int v = 0; v < num_variables; ++v)
            add(model_.encoding.fact_entries[task_.first_fact[v] + state[v]], 1.0f);
        arena_.clear();
        NlmInput input = builder_.build(n, entries_, values_, arena_);
        input.weights = twins_.weights();
        network_.forward(weights_, input, arena_, result);
    }

    const Task& task_;
    NlmModel model_;
    NlmWeights weights_;
    TwinReduction twins_;
    NlmInputBuilder builder_;
    NlmNetwork network_;
    Arena arena_;
    std::vector<Signature> base_signatures_, signatures_;
    std::vector<SignatureShares> fact_shares_;
    std::vector<NlmEntry> entries_;
    std::vector<float> values_;
};

class DigitMlp : public OutputModel {
  public:
    explicit DigitMlp(MlpModel model)
        : digits_(std::move(model.digits)),
          network_(model.inputs, static_cast<int>(digits_.size()), model.layers, "") {}
    int num_outputs() const override { return network_.num_outputs(); }
    void outputs(const StateBatch& batch, std::span<const int> which, float* result) override {
        rows_.clear();
        for (int i : which)
            for (const auto& [variable, first_row] : digits_)
                rows_.push_back(first_row + batch.row(i)[variable]);
        network_.forward(rows_.data(), nullptr, static_cast<int>(which.size()), result);
    }

  private:
    std::vector<MlpModel::Digit> digits_;
    MlpNetwork network_;
    std::vector<int> rows_;
};

class RelaxedPlanMlp : public OutputModel {
  public:
    RelaxedPlanMlp(const Task& task, MlpModel model, CostType cost)
        : relaxation_(task, cost, RelaxationHeuristic::Kind::FF), network_(kFeatures, 0, model.layers, "") {}
    int num_outputs() const override { return network_.num_outputs(); }
    std::string known_heuristic() const override { return "ff"; }
    void prepare(const StateBatch& batch, float* known) override {
        features_.resize(static_cast<size_t>(batch.count) * kFeatures);
        relaxation_.plan_features(batch, features_.data());
        for (int i = 0; i < batch.count; ++i)
            known[i] = features_[static_cast<size_t>(i) * kFeatures + kRelaxedPlanCost];
    }
    void outputs(const StateBatch&, std::span<const int> which, float* result) override {
        chosen_.clear();
        for (int i : which) {
            const auto first = features_.begin() + static_cast<int64_t>(i) * kFeatures;
            chosen_.insert(chosen_.end(), first, first + kFeatures);
        }
        network_.forward(nullptr, chosen_.data(), static_cast<int>(which.size()), result);
    }

  private:
    static constexpr int kFeatures = RelaxationHeuristic::kNumFeatures;
    static constexpr int kRelaxedPlanCost = 1;  // the feature that is h^FF
    RelaxationHeuristic relaxation_;
    MlpNetwork network_;
    std::vector<float> features_, chosen_;
};

}  // namespace

std::unique_ptr<OutputModel> make_output_model(const Task& task, NlmModel model) {
    const NlmShape& shape = model.shape;
    require(model.theta.size() == shape.num_parameters, "theta must have ", shape.num_parameters,
            " numbers, not ", model.theta.size());
    require(std::all_of(model.theta.begin(), model.theta.end(), [](float x) { return std::isfinite(x); }),
            "the model has parameters that are not finite numbers; train it again");
    model.encoding.check(shape, task.num_facts());
    return std::make_unique<NlmOutputs>(task, std::move(model));
}

std::unique_ptr<OutputModel> make_output_model(const Task& task, MlpModel model, CostType cost) {
    if (model.digits.empty()) return std::make_unique<RelaxedPlanMlp>(task, std::move(model), cost);
    for (const auto& [variable, first_row] : model.digits) {
        require(variable >= 0 && variable < task.num_variables(), "a digit is of no variable of the task");
        require(first_row >= 0 && first_row <= model.inputs - task.domain_size[variable],
                "the network knows too few values of a variable");
    }
    return std::make_unique<DigitMlp>(std::move(model));
}

}  // namespace hstar
