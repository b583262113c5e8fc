// Relaxed exploration of one state: Dijkstra over facts with a counter per operator.
//
//     cost(f) = 0                                        if f holds
//             = min over operators o adding f of  c(o) + combine over p in pre(o) of cost(p)
//
// combine is max for h^max and the sum for h^add. Stops as soon as all goals are settled.
//
// Each fact has a supporter, which reaches it at this cost. Where operators are free, a fact may have the
// same cost as what its achiever needs, and an arbitrary choice could let two facts support each other. So
// facts of equal cost are ordered by the number of free steps:
//
//     steps(f) = 0                                       if f holds or is reached from facts of lower cost
//              = min over free operators o that reach f at cost(f) of
//                1 + max over p in pre(o) with cost(p) = cost(f) of steps(p)
//
// and the supporter is the first operator that attains both minima. It depends on the state alone.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "runtime/rows.hpp"
#include "task/task.hpp"

namespace hstar {

// Per fact: whether a goal, a precondition or the condition of an effect names it.
std::vector<char> facts_asked_for(const Task& task);

// Calls see(op, needed, wanted) for the unconditional effects of each operator, and for each conditional one:
// the facts that they need, ascending, and those they add, without facts that nothing asks for or that are
// needed. Left out where none is added.
template <class See>
void for_each_relaxed_effect(const Task& task, const Limits& limits, See see) {
    const std::vector<char> asked_for = facts_asked_for(task);
    WorkMeter meter(limits);
    std::vector<int> needed, wanted;
    const auto relax = [&](int op, std::span<const Assignment> condition,
                           std::span<const Assignment> effects) {
        needed.clear();
        wanted.clear();
        for (auto part : {task.pre[op], condition})
            for (auto a : part) needed.push_back(task.fact(a));
        for (auto effect : effects) wanted.push_back(task.fact(effect));
        meter.spend(16 + needed.size() + wanted.size());
        std::ranges::sort(needed);
        std::erase_if(wanted,
                      [&](int fact) { return !asked_for[fact] || std::ranges::binary_search(needed, fact); });
        if (!wanted.empty()) see(op, needed, wanted);
    };
    for (int op = 0; op < task.num_operators(); ++op) {
        relax(op, {}, task.effects[op]);
        for (const ConditionalEffect& effect : task.conditional[op])
            relax(op, task.condition(effect), {&effect.effect, 1});
    }
}

// The delete relaxation as flat arrays, for h^max, h^add and h^FF.
//
// Operators with equal preconditions and cost are one relaxed operator with all their effects: to sail from
// one port to each of fifty others takes one counter, not fifty. A conditional effect is an operator whose
// preconditions include the condition. Facts nothing asks for are left out. Facts and operators are numbered
// in the order in which a first exploration from the initial state reaches them, so that what is used
// together lies together.
struct RelaxedTask {
    RelaxedTask(const Task& task, CostType cost_type, const Limits& limits);

    int num_facts = 0;  // the last one holds in every state: operators without preconditions need it
    int always_true = 0;
    std::vector<int> fact_of;        // per (variable, value) fact of the task: relaxed fact, or -1
    Rows<int> pre;                   // per operator: facts
    Rows<int> eff;                   // per operator: facts
    std::vector<int> edge_origin;    // per entry of eff.data: the task's operator (the first of equals)
    std::vector<int> edge_operator;  // per entry of eff.data: the relaxed operator
    std::vector<int> cost;           // per operator
    Rows<int> consumers;             // per fact: operators that need it
    Rows<int> achievers;             // per fact: entries of eff.data
    std::vector<int> goals;
    std::vector<int> task_cost;  // per operator of the task, adjusted
    bool has_zero_cost = false;
    bool goal_is_false = false;

    int num_operators() const { return static_cast<int>(cost.size()); }
};

// A bucket queue for small keys with a heap behind it for large ones. Keys may not fall below the last one
// taken. Of equal keys the oldest comes first, so that free steps are taken in breadth-first order.
class KeyQueue {
  public:
    void clear() {
        for (int key = low_; key <= high_ && key < static_cast<int>(buckets_.size()); ++key)
            buckets_[key].clear();
        heap_ = {};
        taken_ = size_ = 0;
        pushed_ = low_ = high_ = 0;
    }
    bool empty() const { return size_ == 0; }
    void push(int key, int item) {
        ++size_;
        if (key >= kBuckets) [[unlikely]] {
            heap_.push({key, pushed_++, item});
            return;
        }
        if (key >= static_cast<int>(buckets_.size())) [[unlikely]]
            buckets_.resize(key + 1);
        buckets_[key].push_back(item);
        high_ = std::max(high_, key);
    }
    // The smallest key, and the oldest item that has it.
    std::pair<int, int> pop() {
        --size_;
        while (low_ <= high_ && low_ < static_cast<int>(buckets_.size())) {
            auto& bucket = buckets_[low_];
            if (taken_ < bucket.size()) return {low_, bucket[taken_++]};
            bucket.clear();
            taken_ = 0;
            ++low_;
        }
        const auto [key, order, item] = heap_.top();
        heap_.pop();
        return {key, item};
    }

  private:
    static constexpr int kBuckets = 1 << 14;
    std::vector<std::vector<int>> buckets_;
    using Item = std::array<int, 3>;  // key, order of arrival, item
    std::priority_queue<Item, std::vector<Item>, std::greater<>> heap_;
    size_t taken_ = 0;  // of bucket low_
    int pushed_ = 0;
    int low_ = 0, high_ = 0;
    size_t size_ = 0;
};

class RelaxedExploration {
  public:
    static constexpr int kUnreached = 1'000'000'000, kLargest = 100'000'000;

    explicit RelaxedExploration(const RelaxedTask& relaxed) : relaxed_(relaxed) {
        for (int op = 0; op < relaxed.num_operators(); ++op)
            initial_counters_.push_back({static_cast<int>(relaxed.pre[op].size()), relaxed.cost[op]});
        counters_ = initial_counters_;
        cost_.resize(relaxed.num_facts);
        supporter_.resize(relaxed.num_facts);
        free_steps_.resize(relaxed.num_facts);
        is_goal_.assign(relaxed.num_facts, 0);
        for (int fact : relaxed.goals) is_goal_[fact] = 1;
    }

    // Combines costs by their sum, or else by the largest. Returns false if some goal is unreachable.
    template <bool sum>
    bool run(const Task& task, const int* values) {
        std::copy(initial_counters_.begin(), initial_counters_.end(), counters_.begin());
        std::fill(cost_.begin(), cost_.end(), kUnreached);
        std::fill(supporter_.begin(), supporter_.end(), kHolds);
        queue_.clear();
        auto seed = [&](int fact) {
            cost_[fact] = 0;
            free_steps_[fact] = 0;
            queue_.push(0, fact);
        };
        seed(relaxed_.always_true);
        for (int v = 0; v < task.num_variables(); ++v) {
            int fact = relaxed_.fact_of[task.first_fact[v] + values[v]];
            if (fact >= 0) seed(fact);
        }
        size_t open_goals = relaxed_.goals.size();
        if (open_goals == 0) return true;
        const int* eff_data = relaxed_.eff.data.data();
        while (!queue_.empty()) {
            auto [key, fact] = queue_.pop();
            if (key > cost_[fact]) continue;
            if (is_goal_[fact] && --open_goals == 0) return true;
            for (int op : relaxed_.consumers[fact]) {
                Counter& counter = counters_[op];
                int value = sum ? std::min(counter.cost + key, kLargest) : counter.cost;
                counter.cost = value;
                if (--counter.unsatisfied > 0) continue;
                // Facts are settled in order of cost, so the last precondition is the most expensive one.
                if (!sum) value = std::min(value + key, kLargest);
                const int free_steps = value == key ? free_steps_[fact] + 1 : 0;
                uint32_t end = relaxed_.eff.offset[op + 1];
                for (uint32_t edge = relaxed_.eff.offset[op]; edge < end; ++edge) {
                    int reached = eff_data[edge];
                    if (value < cost_[reached]) {
                        cost_[reached] = value;
                        supporter_[reached] = static_cast<int>(edge);
                        free_steps_[reached] = free_steps;
                        queue_.push(value, reached);
                    } else if (value == cost_[reached] && static_cast<int>(edge) < supporter_[reached] &&
                               free_steps == free_steps_[reached]) {
                        supporter_[reached] = static_cast<int>(edge);
                    }
                }
            }
        }
        return false;
    }

    int cost(int fact) const { return cost_[fact]; }
    // The effect that reaches the fact, as above; after sums only.
    int supporter(int fact) const { return supporter_[fact]; }
    static constexpr int kHolds = -1;

  private:
    struct Counter {
        int unsatisfied, cost;
    };
    const RelaxedTask& relaxed_;
    std::vector<Counter> initial_counters_, counters_;
    std::vector<int> cost_, supporter_, free_steps_;
    std::vector<char> is_goal_;
    KeyQueue queue_;
};

}  // namespace hstar
