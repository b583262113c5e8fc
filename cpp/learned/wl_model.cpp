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

class WlLinear : public FollowingModel {
  public:
    WlLinear(IncrementalWl wl, const MlpLayer& layer, std::optional<WlRanking> ranking)
        : FollowingModel(std::nullopt),
          wl_(std::move(wl)),
          ranking_(std::move(ranking)),
          weights_(wl_.num_features()) {
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
    int most_at_once() const override { return 1024; }

    bool ranks_operators() const override { return ranking_.has_value(); }
    void rank_operators(const int* values, std::span<const int> ops, float* rank) override {
        move_to(values);
        const Task& task = wl_.graph().task();
        for (size_t i = 0; i < ops.size(); ++i)
            rank[i] = task.is_artificial(ops[i]) ? -INFINITY : ranking_->value(wl_, ops[i]);
    }

  private:
    void move_to(const int* values) override { sum_ += change(wl_.move_to(values)); }
    void read(float* row) override { *row = value(sum_); }
    void read_successor(int op, const int* values, float* row) override {
        *row = value(sum_ + change(wl_.successor(op, values)));
    }
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
};

class WlNetwork : public FollowingModel {
  public:
    WlNetwork(IncrementalWl wl, const std::vector<MlpLayer>& layers)
        : FollowingModel(MlpNetwork(static_cast<size_t>(wl.num_features()), layers)), wl_(std::move(wl)) {}

  private:
    void move_to(const int* values) override { wl_.move_to(values); }
    void read(float* counts) override { std::ranges::copy(wl_.counts(), counts); }
    void read_successor(int op, const int* values, float* counts) override {
        read(counts);
        const auto& [lost, gained] = wl_.successor(op, values);
        for (int feature : gained) ++counts[feature];
        for (int feature : lost) --counts[feature];
    }

    IncrementalWl wl_;
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
