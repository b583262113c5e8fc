#include "learned/learned_heuristic.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "heuristics/relaxation_heuristics.hpp"
#include "learned/truncated_gaussian.hpp"
#include "networks/nlm/batch.hpp"
#include "networks/nlm/network.hpp"
#include "networks/nlm/twins.hpp"
#include "runtime/limits.hpp"

namespace hstar {

namespace {

void require(bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
}

void require_finite(const std::vector<float>& theta) {
    require(std::all_of(theta.begin(), theta.end(), [](float x) { return std::isfinite(x); }),
            "the model has parameters that are not finite numbers; train it again");
}

double sigmoid(double x) {
    const double e = truncated_gaussian::exp_of_negative(-std::fabs(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// What both models share: symbolic heuristics, decoding, and how many states to take at once.
class LearnedHeuristic : public Evaluator {
  public:
    // `known`: the name of a heuristic whose values the model computes anyway.
    LearnedHeuristic(const Task& task, const Decoding& decoding, int outputs, std::string known)
        : decoding_(decoding), known_(std::move(known)) {
        const bool needs_sigma = decoding.decode == Decode::TruncatedMean;
        require(outputs >= (needs_sigma && decoding.sigma == 0 ? 2 : 1),
                "a truncated mean needs a fixed sigma or a second output of the model");
        require(decoding.cap == 0 || (std::isfinite(decoding.cap) && decoding.cap >= 1),
                "a cap must be finite and at least 1, or 0 for none");
        require(decoding.cap == 0 || !(decoding.base.empty() || decoding.lower.empty()),
                "a cap needs a base and a lower bound");
        require(std::isfinite(decoding.sigma) && decoding.sigma >= 0 && std::isfinite(decoding.epsilon) &&
                    decoding.epsilon >= 0,
                "sigma and epsilon must be finite and not negative");
        if (decoding_.decode == Decode::Mean && decoding_.cap == 0) decoding_.lower.clear();  // not looked at
        auto make = [&](const std::string& name) {
            return name.empty() || name == known_ ? nullptr : make_evaluator(name, task, decoding.cost);
        };
        base_ = make(decoding_.base);
        if (decoding_.lower != decoding_.base) lower_ = make(decoding_.lower);
    }

    // Search looks at the clock between slices; the values do not depend on them.
    int slice() const override {
        constexpr double kSeconds = 0.02;
        constexpr int kMost = 32;
        return std::clamp(static_cast<int>(kSeconds / std::max(seconds_per_state_, 1e-9)), 1, kMost);
    }

    bool has_preferred_operators() const override { return base_ && base_->has_preferred_operators(); }

    void evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) override {
        if (batch.count == 0) return;
        const double start = monotonic_seconds();
        const size_t count = static_cast<size_t>(batch.count);
        prepare(batch);
        base_values_.assign(count, 0.0f);
        lower_values_.assign(count, -kDeadEnd);
        if (base_) base_->evaluate(batch, base_values_.data(), preferred);
        if (!base_ && preferred)
            for (int i = 0; i < batch.count; ++i) preferred->close_row();
        if (lower_) lower_->evaluate(batch, lower_values_.data(), nullptr);
        if (!known_.empty() && decoding_.base == known_) base_values_ = known_values_;
        if (!known_.empty() && decoding_.lower == known_) lower_values_ = known_values_;
        if (!decoding_.lower.empty() && decoding_.lower == decoding_.base) lower_values_ = base_values_;
        for (int i = 0; i < batch.count; ++i) {
            const bool is_dead = base_values_[i] == kDeadEnd || lower_values_[i] == kDeadEnd ||
                                 (!known_.empty() && known_values_[i] == kDeadEnd);
            h[i] = is_dead ? kDeadEnd : decode(predict(batch, i), base_values_[i], lower_values_[i]);
        }
        const double seconds = (monotonic_seconds() - start) / batch.count;
        seconds_per_state_ = seconds_per_state_ == 0 ? seconds : 0.5 * (seconds_per_state_ + seconds);
    }

  protected:
    // Called before any predict() of a batch.
    virtual void prepare(const StateBatch&) {}
    virtual const float* predict(const StateBatch& batch, int i) = 0;  // the model's outputs
    std::vector<float> known_values_;

  private:
    float decode(const float* output, float base, float lower) const {
        // In single precision, as in training.
        if (decoding_.cap != 0) base = std::min(base, static_cast<float>(decoding_.cap) * lower);
        const double mu = static_cast<double>(output[0]) + base;
        double sigma = decoding_.sigma;
        if (decoding_.decode == Decode::TruncatedMean && sigma == 0) sigma = 0.1 + 10 * sigmoid(output[1]);
        double value = mu;
        if (decoding_.decode == Decode::Clip) value = std::max(mu, static_cast<double>(lower));
        if (decoding_.decode == Decode::TruncatedMean && std::isfinite(mu) && std::isfinite(sigma))
            value = truncated_gaussian_mean(mu, sigma, lower - decoding_.epsilon,
                                            std::numeric_limits<double>::infinity());
        const float h = static_cast<float>(value);
        if (!std::isfinite(mu) || !std::isfinite(sigma) || !std::isfinite(h))
            throw std::runtime_error(
                "the model's value for a state is not a finite number: its parameters are too large; train "
                "it "
                "again");
        return h;
    }

    Decoding decoding_;
    std::string known_;
    std::unique_ptr<Evaluator> base_, lower_;  // only those whose values come from nowhere else
    std::vector<float> base_values_, lower_values_;
    double seconds_per_state_ = 0;
};

class NlmHeuristic : public LearnedHeuristic {
  public:
    NlmHeuristic(const Task& task, NlmModel model, const Decoding& decoding)
        : LearnedHeuristic(task, decoding, model.shape.outputs, ""),
          task_(task),
          model_(std::move(model)),
          weights_(model_.shape, model_.theta.data(), false),
          twins_(model_.shape),
          builder_(model_.shape),
          network_(model_.shape, nlm_kernels().back().kernel),
          output_(model_.shape.outputs) {
        const NlmShape& shape = model_.shape;
        const int n = model_.num_objects;
        base_signatures_.assign(n, Signature{});
        for (size_t e = 0; e < model_.base_entries.size(); ++e) {
            const auto shares = signature_shares(shape, n, model_.base_entries[e], model_.base_values[e]);
            for (int i = 0; i < shares.count; ++i) base_signatures_[shares.object[i]] += shares.share[i];
        }
        for (const NlmEntry& entry : model_.fact_entries)
            fact_shares_.push_back(entry.arity < 0 ? SignatureShares{}
                                                   : signature_shares(shape, n, entry, 1));
    }

  protected:
    const float* predict(const StateBatch& batch, int i) override {
        const int* state = batch.row(i);
        signatures_ = base_signatures_;
        for (int v = 0; v < batch.num_variables; ++v) {
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
        for (size_t e = 0; e < model_.base_entries.size(); ++e)
            add(model_.base_entries[e], model_.base_values[e]);
        for (int v = 0; v < batch.num_variables; ++v)
            add(model_.fact_entries[task_.first_fact[v] + state[v]], 1.0f);
        arena_.clear();
        network_.forward(weights_, builder_.build(n, entries_, values_, arena_), arena_, output_.data());
        return output_.data();
    }

  private:
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
    std::vector<float> values_, output_;
};

class LinearHeuristic : public LearnedHeuristic {
  public:
    LinearHeuristic(const Task& task, LinearModel model, const Decoding& decoding)
        : LearnedHeuristic(task, decoding, model.outputs, "ff"),
          model_(std::move(model)),
          relaxation_(task, decoding.cost, RelaxationHeuristic::Kind::FF),
          output_(model_.outputs) {}

  protected:
    static constexpr int kFeatures = RelaxationHeuristic::kNumFeatures;
    static constexpr int kRelaxedPlanCost = 1;  // the feature that is h^FF

    void prepare(const StateBatch& batch) override {
        features_.resize(static_cast<size_t>(batch.count) * kFeatures);
        relaxation_.plan_features(batch, features_.data());
        known_values_.resize(batch.count);
        for (int i = 0; i < batch.count; ++i)
            known_values_[i] = features_[static_cast<size_t>(i) * kFeatures + kRelaxedPlanCost];
    }
    const float* predict(const StateBatch&, int i) override {
        const float* features = features_.data() + static_cast<size_t>(i) * kFeatures;
        for (int o = 0; o < model_.outputs; ++o) {
            float sum = model_.theta[model_.outputs * kFeatures + o];
            for (int f = 0; f < kFeatures; ++f)
                sum = __builtin_fmaf(model_.theta[o * kFeatures + f], features[f], sum);
            output_[o] = sum;
        }
        return output_.data();
    }

  private:
    LinearModel model_;
    RelaxationHeuristic relaxation_;
    std::vector<float> features_, output_;
};

}  // namespace

std::unique_ptr<Evaluator> make_learned(const Task& task, NlmModel model, const Decoding& decoding) {
    const NlmShape& shape = model.shape;
    require(model.theta.size() == shape.num_parameters,
            "theta must have " + std::to_string(shape.num_parameters) + " numbers, not " +
                std::to_string(model.theta.size()));
    require_finite(model.theta);
    require(model.base_entries.size() == model.base_values.size(),
            "there must be one base value per base entry");
    require(model.fact_entries.size() == static_cast<size_t>(task.num_facts()),
            "there must be one entry per fact of the task (" + std::to_string(task.num_facts()) + ")");
    check_entries(shape, model.num_objects, model.base_entries, model.base_values);
    for (const NlmEntry& entry : model.fact_entries) {
        if (entry.arity == -1 && entry.index == -1) continue;
        const float one = 1.0f;
        check_entries(shape, model.num_objects, {&entry, 1}, {&one, 1});
    }
    return std::make_unique<NlmHeuristic>(task, std::move(model), decoding);
}

std::unique_ptr<Evaluator> make_learned(const Task& task, LinearModel model, const Decoding& decoding) {
    require(model.outputs >= 1, "a linear model needs at least one output");
    const size_t expected = static_cast<size_t>(model.outputs) * (RelaxationHeuristic::kNumFeatures + 1);
    require(model.theta.size() == expected, "theta must have " + std::to_string(expected) + " numbers, not " +
                                                std::to_string(model.theta.size()));
    require_finite(model.theta);
    return std::make_unique<LinearHeuristic>(task, std::move(model), decoding);
}

}  // namespace hstar
