// Networks on Weisfeiler-Leman features. The features follow the search from state to state
// (wl/incremental.hpp). A linear function follows them: it costs one addition for each vertex that changes
// its colour.
//
// Its weights are whole numbers with one power of two as their unit, so sums are exact: a sum that follows a
// state from one to the next equals one made from scratch, bit for bit. The unit is so small that a weight
// keeps all its bits, unless it is tiny beside the largest.
#include <algorithm>
#include <cmath>

#include "learned/output_model.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

class WlLinear : public OutputModel {
  public:
    WlLinear(IncrementalWl wl, const MlpLayer& layer, std::optional<WlRanking> ranking)
        : wl_(std::move(wl)), ranking_(std::move(ranking)), weights_(wl_.num_features()) {
        double most = std::fabs(layer.bias[0]);
        for (float weight : layer.weights) most = std::max<double>(most, std::fabs(weight));
        const WlGraph& graph = wl_.graph();
        const double most_vertices = static_cast<double>(graph.most_vertices()) * (graph.rounds() + 1);
        // No state has a sum above this; each rounding adds at most a half.
        const double largest = (most + 1e-300) * (most_vertices + 1);
        const int exponent = std::ilogb(largest) - 60;
        const auto fixed = [&](float x) {
            return std::llrint(std::ldexp(static_cast<double>(x), -exponent));
        };
        unit_ = std::ldexp(1.0, exponent);
        sum_ = fixed(layer.bias[0]);
        std::transform(layer.weights.begin(), layer.weights.end(), weights_.begin(), fixed);
    }
    int num_outputs() const override { return 1; }
    int most_at_once() const override { return 1024; }

    void outputs(const StateBatch& batch, std::span<const int> which, float* result) override {
        for (size_t i = 0; i < which.size(); ++i) {
            move_to(batch.row(which[i]));
            result[i] = value(sum_);
        }
    }
    void outputs_of_expansions(const ExpansionBatch& batch, std::span<const int> which,
                               float* result) override {
        ExpansionWalk walk(batch, parent_);
        for (size_t i = 0; i < which.size(); ++i) {
            const int child = which[i];
            int64_t sum = 0;
            if (walk.enter(child, [&](const int* values) { move_to(values); }))
                sum = change(wl_.successor(batch.ops[child], batch.children.row(child)));
            result[i] = value(sum_ + sum);
        }
    }

    bool ranks_operators() const override { return ranking_.has_value(); }
    void rank_operators(const int* values, std::span<const int> ops, float* rank) override {
        move_to(values);
        const Task& task = wl_.graph().task();
        for (size_t i = 0; i < ops.size(); ++i)
            rank[i] = task.is_artificial(ops[i]) ? -INFINITY : ranking_->value(wl_, ops[i]);
    }

  private:
    void move_to(const int* values) { sum_ += change(wl_.move_to(values)); }
    int64_t change(const IncrementalWl::Difference& difference) const {
        int64_t sum = 0;
        for (int feature : difference.gained) sum += weights_[feature];
        for (int feature : difference.lost) sum -= weights_[feature];
        return sum;
    }
    float value(int64_t sum) const { return static_cast<float>(static_cast<double>(sum) * unit_); }

    IncrementalWl wl_;
    std::optional<WlRanking> ranking_;
    std::vector<int64_t> weights_;
    double unit_;
    int64_t sum_;  // of the present state
    std::vector<int> parent_;
};

class WlNetwork : public OutputModel {
  public:
    WlNetwork(IncrementalWl wl, const std::vector<MlpLayer>& layers)
        : wl_(std::move(wl)), network_(static_cast<size_t>(wl_.num_features()), layers) {}
    int num_outputs() const override { return network_.num_outputs(); }

    void outputs(const StateBatch& batch, std::span<const int> which, float* result) override {
        counts_.clear();
        for (int state : which) {
            wl_.move_to(batch.row(state));
            append_counts();
        }
        network_.forward(counts_.data(), static_cast<int>(which.size()), result);
    }
    void outputs_of_expansions(const ExpansionBatch& batch, std::span<const int> which,
                               float* result) override {
        counts_.clear();
        ExpansionWalk walk(batch, parent_);
        for (int child : which) {
            const bool has_parent = walk.enter(child, [&](const int* values) { wl_.move_to(values); });
            append_counts();
            if (!has_parent) continue;
            const auto& [lost, gained] = wl_.successor(batch.ops[child], batch.children.row(child));
            float* counts = counts_.data() + counts_.size() - wl_.num_features();
            for (int feature : gained) ++counts[feature];
            for (int feature : lost) --counts[feature];
        }
        network_.forward(counts_.data(), static_cast<int>(which.size()), result);
    }

  private:
    void append_counts() { counts_.insert(counts_.end(), wl_.counts().begin(), wl_.counts().end()); }

    IncrementalWl wl_;
    MlpNetwork network_;
    std::vector<float> counts_;  // states x features
    std::vector<int> parent_;
};

}  // namespace

std::unique_ptr<OutputModel> make_wl_network(IncrementalWl wl, const std::vector<MlpLayer>& layers,
                                             std::optional<WlRanking> ranking) {
    check_layers(layers, static_cast<size_t>(wl.num_features()));
    const MlpLayer& first = layers[0];
    if (layers.size() == 1 && first.bias.size() == 1 && !first.is_relu)
        return std::make_unique<WlLinear>(std::move(wl), first, std::move(ranking));
    require(!ranking, "only a linear function can have weights of operators beside it");
    return std::make_unique<WlNetwork>(std::move(wl), layers);
}

}  // namespace hstar
