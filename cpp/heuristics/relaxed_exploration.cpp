#include "heuristics/relaxed_exploration.hpp"

#include <algorithm>
#include <cstring>

namespace hstar {

void KeyQueue::clear() {
    for (int key = low_; key <= high_ && key < static_cast<int>(buckets_.size()); ++key)
        buckets_[key].clear();
    heap_.clear();
    taken_ = 0;
    pushed_ = 0;
    low_ = 0;
    high_ = 0;
    size_ = 0;
}

RelaxedExploration::RelaxedExploration(const RelaxedTask& relaxed) : relaxed_(relaxed) {
    for (int op = 0; op < relaxed.num_operators(); ++op)
        initial_counters_.push_back({static_cast<int>(relaxed.pre[op].size()), relaxed.cost[op]});
    counters_ = initial_counters_;
    cost_.resize(relaxed.num_facts);
    supporter_.resize(relaxed.num_facts);
    free_steps_.resize(relaxed.num_facts);
    is_goal_.assign(relaxed.num_facts, 0);
    for (int fact : relaxed.goals) is_goal_[fact] = 1;
}

template <RelaxedExploration::Combine combine>
bool RelaxedExploration::run(const int* values, int num_variables, const std::vector<int>& first_fact) {
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
    for (int v = 0; v < num_variables; ++v) {
        int fact = relaxed_.fact_of[first_fact[v] + values[v]];
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
            int value = combine == Combine::Sum ? std::min(counter.cost + key, kLargest) : counter.cost;
            counter.cost = value;
            if (--counter.unsatisfied > 0) continue;
            // Facts are settled in order of cost, so the last precondition is the most expensive one.
            if (combine == Combine::Max) value = std::min(value + key, kLargest);
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

template bool RelaxedExploration::run<RelaxedExploration::Combine::Max>(const int*, int,
                                                                        const std::vector<int>&);
template bool RelaxedExploration::run<RelaxedExploration::Combine::Sum>(const int*, int,
                                                                        const std::vector<int>&);

}  // namespace hstar
