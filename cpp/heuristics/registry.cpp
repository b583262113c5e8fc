// Heuristics that need no relaxation, and the registry of all of them.
#include <algorithm>

#include "heuristics/relaxation_heuristics.hpp"
#include "runtime/require.hpp"

namespace hstar {

std::vector<int> adjusted_costs(const Task& task, CostType type) {
    std::vector<int> cost = task.cost;
    for (int op = 0; op < task.num_operators(); ++op) {
        if (task.is_artificial(op)) continue;  // costs nothing: it is not part of the plan
        if (type == CostType::One) cost[op] = 1;
        if (type == CostType::PlusOne) cost[op] += 1;
    }
    return cost;
}

namespace {

// 0 at goals, the cheapest operator's cost elsewhere.
class Blind : public Evaluator {
  public:
    Blind(const Task& task, CostType type) : task_(task) {
        auto cost = adjusted_costs(task, type);
        if (!cost.empty()) cheapest_ = to_float_below(*std::min_element(cost.begin(), cost.end()));
    }
    bool is_trivial() const override { return true; }
    void evaluate(const StateBatch& batch, float* h, Rows<int>*) override {
        for (int i = 0; i < batch.count; ++i) h[i] = task_.is_goal(batch.row(i)) ? 0 : cheapest_;
    }

  private:
    const Task& task_;
    float cheapest_ = 0;
};

// The number of goal facts that do not hold.
class GoalCount : public Evaluator {
  public:
    explicit GoalCount(const Task& task) : task_(task) {}
    void evaluate(const StateBatch& batch, float* h, Rows<int>*) override {
        for (int i = 0; i < batch.count; ++i) {
            const int* values = batch.row(i);
            int open = 0;
            for (auto [variable, value] : task_.goal) open += values[variable] != value;
            h[i] = task_.goal_is_false ? kDeadEnd : static_cast<float>(open);
        }
    }

  private:
    const Task& task_;
};

}  // namespace

std::unique_ptr<Evaluator> make_evaluator(const std::string& name, const Task& task, CostType type,
                                          const Limits& limits) {
    using Kind = RelaxationHeuristic::Kind;
    auto relaxation = [&](Kind kind) {
        return std::make_unique<RelaxationHeuristic>(task, type, kind, limits);
    };
    if (name == "blind") return std::make_unique<Blind>(task, type);
    if (name == "goalcount") return std::make_unique<GoalCount>(task);
    if (name == "hmax") return relaxation(Kind::Max);
    if (name == "hadd") return relaxation(Kind::Add);
    if (name == "ff") return relaxation(Kind::FF);
    if (name == "lmcut") return make_lmcut(task, type, limits);
    refuse("unknown heuristic '", name, "'");
}

}  // namespace hstar
