#include "learned/learned_heuristic.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "runtime/limits.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

class LearnedHeuristic : public Evaluator {
  public:
    LearnedHeuristic(const Task& task, std::unique_ptr<OutputModel> model, const Correction& correction,
                     const DecodeSpec& decode)
        : model_(std::move(model)),
          known_(model_->known_heuristic()),
          correction_(correction),
          decode_(make_decode(decode, model_->num_outputs())) {
        const double cap = correction.cap;
        require(cap == 0 || (std::isfinite(cap) && cap >= 1),
                "a cap must be finite and at least 1, or 0 for none");
        require(cap == 0 || !(correction.base.empty() || correction.lower.empty()),
                "a cap needs a base and a lower bound");
        auto make = [&](const std::string& name) {
            return name.empty() || name == known_ ? nullptr : make_evaluator(name, task, correction.cost);
        };
        base_ = make(correction_.base);
        if (correction_.lower != correction_.base) lower_ = make(correction_.lower);
    }

    // Search looks at the clock between slices; the values do not depend on them.
    int slice() const override {
        constexpr double kSeconds = 0.02;
        return std::clamp(static_cast<int>(kSeconds / std::max(seconds_per_state_, 1e-9)), 1,
                          model_->most_at_once());
    }

    double seconds_spent() const override { return seconds_spent_; }
    bool has_preferred_operators() const override { return base_ && base_->has_preferred_operators(); }

    void evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) override {
        fill(batch, h, preferred, [&] { model_->outputs(batch, alive_, outputs_.data()); });
    }

    void evaluate_expansions(const ExpansionBatch& batch, float* h, Rows<int>* preferred) override {
        fill(batch.children, h, preferred,
             [&] { model_->outputs_of_expansions(batch, alive_, outputs_.data()); });
    }

    void rank_operators(const int* values, std::span<const int> ops, float* rank) override {
        model_->rank_operators(values, ops, rank);
    }
    bool ranks_operators() const override { return model_->ranks_operators(); }

  private:
    // `compute` fills outputs_ for the states that are alive_.
    template <class Compute>
    void fill(const StateBatch& batch, float* h, Rows<int>* preferred, Compute compute) {
        if (batch.count == 0) return;
        const double start = monotonic_seconds();
        correct(batch, preferred);
        alive_.clear();
        for (int i = 0; i < batch.count; ++i) {
            h[i] = kDeadEnd;
            if (base_values_[i] != kDeadEnd && lower_values_[i] != kDeadEnd && known_values_[i] != kDeadEnd)
                alive_.push_back(i);
        }
        const size_t num_outputs = static_cast<size_t>(model_->num_outputs());
        outputs_.resize(alive_.size() * num_outputs);
        compute();
        for (size_t a = 0; a < alive_.size(); ++a) {
            const int i = alive_[a];
            h[i] = decode(outputs_.data() + a * num_outputs, base_values_[i], lower_values_[i]);
        }
        const double spent = monotonic_seconds() - start, seconds = spent / batch.count;
        seconds_spent_ += spent;
        seconds_per_state_ = seconds_per_state_ == 0 ? seconds : 0.5 * (seconds_per_state_ + seconds);
    }

    // Fills in the values of the symbolic heuristics.
    void correct(const StateBatch& batch, Rows<int>* preferred) {
        const size_t count = static_cast<size_t>(batch.count);
        known_values_.assign(count, 0.0f);
        base_values_.assign(count, 0.0f);
        lower_values_.assign(count, -kDeadEnd);
        model_->prepare(batch, known_values_.data());
        if (preferred && !has_preferred_operators())
            for (int i = 0; i < batch.count; ++i) preferred->close_row();
        if (base_)
            base_->evaluate(batch, base_values_.data(), has_preferred_operators() ? preferred : nullptr);
        if (lower_) lower_->evaluate(batch, lower_values_.data(), nullptr);
        const auto& [cost, base, lower, cap] = correction_;
        if (!base.empty() && base == known_) base_values_ = known_values_;
        if (!lower.empty() && lower == known_) lower_values_ = known_values_;
        if (!lower.empty() && lower == base) lower_values_ = base_values_;
    }

    float decode(const float* outputs, float base, float lower) const {
        // In single precision, as in training.
        if (correction_.cap != 0) base = std::min(base, static_cast<float>(correction_.cap) * lower);
        const bool is_finite =
            std::all_of(outputs, outputs + model_->num_outputs(), [](float x) { return std::isfinite(x); });
        const float h = is_finite ? static_cast<float>(decode_(outputs, base, lower)) : NAN;
        if (!std::isfinite(h))
            throw std::runtime_error(
                "the model's value for a state is not a finite number: its parameters are too large; train "
                "it again");
        return h;
    }

    std::unique_ptr<OutputModel> model_;
    std::string known_;
    Correction correction_;
    Decode decode_;
    std::unique_ptr<Evaluator> base_, lower_;  // only those whose values come from nowhere else
    std::vector<float> known_values_, base_values_, lower_values_, outputs_;
    std::vector<int> alive_;
    double seconds_per_state_ = 0, seconds_spent_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_learned(const Task& task, std::unique_ptr<OutputModel> model,
                                        const Correction& correction, const DecodeSpec& decode) {
    return std::make_unique<LearnedHeuristic>(task, std::move(model), correction, decode);
}

}  // namespace hstar
