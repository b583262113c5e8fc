#include <algorithm>
#include <cmath>

#include "heuristics/relaxation_heuristics.hpp"
#include "learned/output_model.hpp"
#include "networks/nlm/worker.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

class NlmOutputs : public OutputModel {
  public:
    NlmOutputs(const Task& task, const NlmShape& shape, const float* theta, NlmEncoding encoding)
        : task_(task),
          shape_(shape),
          encoding_(std::move(encoding)),
          weights_(shape_, theta, false),
          worker_(shape_),
          base_signatures_(worker_.twins.signatures_of(encoding_.num_objects, encoding_.base_entries,
                                                       encoding_.base_values)) {
        for (const NlmEntry& entry : encoding_.fact_entries)
            fact_shares_.push_back(entry.arity < 0
                                       ? SignatureShares{}
                                       : signature_shares(shape_, encoding_.num_objects, entry, 1));
    }

    int num_outputs() const override { return shape_.outputs; }
    void outputs(const StateBatch& batch, std::span<const int> which, float* result) override {
        for (int state : which) {
            forward(batch.row(state), batch.num_variables, result);
            result += shape_.outputs;
        }
    }

  private:
    void forward(const int* state, int num_variables, float* result) {
        signatures_ = base_signatures_;
        entries_ = encoding_.base_entries;
        for (int v = 0; v < num_variables; ++v) {
            const int fact = task_.first_fact[v] + state[v];
            const SignatureShares& shares = fact_shares_[fact];
            for (int s = 0; s < shares.count; ++s) signatures_[shares.object[s]] += shares.share[s];
            if (encoding_.fact_entries[fact].arity >= 0) entries_.push_back(encoding_.fact_entries[fact]);
        }
        values_ = encoding_.base_values;
        values_.resize(entries_.size(), 1.0f);
        worker_.forward(weights_, signatures_, entries_, values_, result);
    }

    const Task& task_;
    NlmShape shape_;
    NlmEncoding encoding_;
    NlmWeights weights_;
    NlmWorker worker_;
    std::vector<Signature> base_signatures_, signatures_;
    std::vector<SignatureShares> fact_shares_;
    std::vector<NlmEntry> entries_;
    std::vector<float> values_;
};

class RelaxedPlanMlp : public OutputModel {
  public:
    RelaxedPlanMlp(const Task& task, const std::vector<MlpLayer>& layers, CostType cost)
        : relaxation_(task, cost, RelaxationHeuristic::Kind::FF), network_(kFeatures, layers) {}
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
        network_.forward(chosen_.data(), static_cast<int>(which.size()), result);
    }

  private:
    static constexpr int kFeatures = RelaxationHeuristic::kNumFeatures;
    static constexpr int kRelaxedPlanCost = 1;  // the feature that is h^FF
    RelaxationHeuristic relaxation_;
    MlpNetwork network_;
    std::vector<float> features_, chosen_;
};

}  // namespace

std::unique_ptr<OutputModel> make_nlm(const Task& task, const NlmShape& shape,
                                      const std::vector<float>& theta, NlmEncoding encoding) {
    require(theta.size() == shape.num_parameters, "theta must have ", shape.num_parameters, " numbers, not ",
            theta.size());
    require(std::ranges::all_of(theta, [](float x) { return std::isfinite(x); }),
            "the model has parameters that are not finite numbers; train it again");
    encoding.check(shape, task.num_facts());
    return std::make_unique<NlmOutputs>(task, shape, theta.data(), std::move(encoding));
}

std::unique_ptr<OutputModel> make_plan_network(const Task& task, const std::vector<MlpLayer>& layers,
                                               CostType cost) {
    return std::make_unique<RelaxedPlanMlp>(task, layers, cost);
}

}  // namespace hstar
