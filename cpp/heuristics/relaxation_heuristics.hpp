// h^max, h^add and h^FF (Bonet & Geffner 2001; Hoffmann & Nebel 2001), over one state or 32 at a time.
//
// h^FF extracts a relaxed plan from the cheapest supporters under h^add (Keyder & Geffner 2008). Of
// supporters of equal cost it takes those with the fewest free steps (relaxed_exploration.hpp), then the
// first in operator order, so the value depends on the state alone. Its preferred operators are those of the
// relaxed plan that are applicable.
#pragma once
#include <memory>

#include "heuristics/evaluator.hpp"
#include "heuristics/plan_follower.hpp"
#include "heuristics/relaxed_exploration.hpp"
#include "heuristics/wide_exploration.hpp"

namespace hstar {

class WideWorkspace;
struct Relaxation;

class RelaxationHeuristic : public Evaluator {
  public:
    enum class Kind { Max, Add, FF };
    RelaxationHeuristic(const Task& task, CostType type, Kind kind, const Limits& limits = {});
    ~RelaxationHeuristic() override;

    void evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) override;
    bool has_preferred_operators() const override { return kind_ == Kind::FF; }
    void write_ways_to(Rows<int>* ways) override { ways_ = ways; }
    bool has_ways() const override { return kind_ == Kind::FF; }
    int slice() const override { return 32; }

    // Per state: unsatisfied goals, h^FF, facts the relaxed plan's operators delete in total, and per
    // operator (the features of Gomoluch et al. 2017). Infinite h^FF: the last two are zero. Kind::FF only.
    static constexpr int kNumFeatures = 4;
    void plan_features(const StateBatch& batch, float* features);

    // Batches below this size are evaluated one state at a time.
    void set_wide_threshold(int count) { wide_threshold_ = count; }
    // How many states were evaluated side by side so far, not one at a time.
    int64_t states_side_by_side() const { return states_side_by_side_; }

  private:
    float evaluate_one(const int* values, Rows<int>* preferred);
    bool evaluate_wide(const StateBatch& batch, int first, int count, float* h, Rows<int>* preferred);
    void extract_relaxed_plan();
    // One row: the applicable steps of relaxed_plan_. And one of ways_, if wanted: how far the plan goes.
    template <class CostOf>
    void add_preferred(const int* values, Rows<int>& preferred, CostOf cost_of);

    const Task& task_;
    Kind kind_;
    std::shared_ptr<const Relaxation> relaxation_;
    const RelaxedTask& relaxed_;
    RelaxedExploration exploration_;
    std::unique_ptr<WideWorkspace> wide_;
    int wide_threshold_ = 3;
    int64_t states_side_by_side_ = 0;
    std::vector<int> relaxed_plan_, stack_;
    Rows<int>* ways_ = nullptr;
    PlanFollower follower_;
    std::vector<std::pair<int, int>> by_cost_;
    std::vector<uint32_t> needed_at_;  // per fact: which relaxed plan needed it last
    uint32_t clock_ = 0;
};

}  // namespace hstar
