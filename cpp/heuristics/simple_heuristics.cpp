// Heuristics that need no relaxation, and the registry of all of them.
#include <algorithm>
#include <stdexcept>

#include "heuristics/evaluator.hpp"

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
    void evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) override {
        for (int i = 0; i < batch.count; ++i) {
            h[i] = task_.is_goal(batch.row(i)) ? 0 : cheapest_;
            if (preferred) preferred->close_row();
        }
    }

  private:
    const Task& task_;
    float cheapest_ = 0;
};

// The number of goal facts that do not hold.
class GoalCount : public Evaluator {
  public:
    explicit GoalCount(const Task& task) : task_(task) {}
    void evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) override {
        for (int i = 0; i < batch.count; ++i) {
            const int* values = batch.row(i);
            int open = 0;
            for (auto [variable, value] : task_.goal) open += values[variable] != value;
            h[i] = task_.goal_is_false ? kDeadEnd : static_cast<float>(open);
            if (preferred) preferred->close_row();
        }
    }

  private:
    const Task& task_;
};

struct Entry {
    const char* name;
    std::unique_ptr<Evaluator> (*make)(const Task&, CostType, const Limits&);
};
const Entry kRegistry[] = {
    {"blind", [](const Task& task, CostType type, const Limits&) { return make_blind(task, type); }},
    {"goalcount", [](const Task& task, CostType, const Limits&) { return make_goalcount(task); }},
    {"hmax", make_hmax},
    {"hadd", make_hadd},
    {"ff", make_ff},
    {"lmcut", make_lmcut},
};

}  // namespace

std::unique_ptr<Evaluator> make_blind(const Task& task, CostType type) {
    return std::make_unique<Blind>(task, type);
}
std::unique_ptr<Evaluator> make_goalcount(const Task& task) {
    return std::make_unique<GoalCount>(task);
}

std::unique_ptr<Evaluator> make_evaluator(const std::string& name, const Task& task, CostType type,
                                          const Limits& limits) {
    for (const Entry& entry : kRegistry)
        if (name == entry.name) return entry.make(task, type, limits);
    throw std::invalid_argument("unknown heuristic '" + name + "'");
}

std::vector<std::string> evaluator_names() {
    std::vector<std::string> names;
    for (const Entry& entry : kRegistry) names.push_back(entry.name);
    return names;
}

}  // namespace hstar
