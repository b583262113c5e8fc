// A planning task as search sees it.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "spaces/state_space.hpp"
#include "task/successors.hpp"
#include "task/task.hpp"

namespace hstar {

class TaskSpace : public StateSpace {
    auto values_in(const unsigned char* row) const {
        return [this, row](int variable) { return packing_.get(row, variable); };
    }

  public:
    TaskSpace(const Task& task, const SuccessorGenerator& generator, std::vector<int> initial_state)
        : StateSpace(task.domain_size, task.cost, std::move(initial_state)),
          task_(task),
          generator_(generator) {}

    bool is_artificial(int op) const override { return task_.is_artificial(op); }
    void applicable(const unsigned char* row, std::vector<int>& ops) const override {
        ops.clear();
        generator_.applicable(values_in(row), ops);
        std::sort(ops.begin(), ops.end());
    }
    void apply(const std::vector<int>& ops, const unsigned char* parent, unsigned char* rows,
               size_t stride) const override {
        for (size_t i = 0; i < ops.size(); ++i) {
            unsigned char* row = rows + i * stride;
            std::memcpy(row, parent, stride);
            for (auto [variable, value] : task_.effects[ops[i]]) packing_.set(row, variable, value);
            for (const ConditionalEffect& e : task_.conditional[ops[i]])
                if (Task::all_hold(task_.condition(e), values_in(parent)))
                    packing_.set(row, e.effect.variable, e.effect.value);
        }
    }
    bool is_goal(const unsigned char* row) const override {
        return !task_.goal_is_false && Task::all_hold(task_.goal, values_in(row));
    }

    void successors(const int* values, int last, std::vector<int>& ops,
                    std::vector<int>& states) const override {
        ops.clear();
        generator_.applicable([&](int variable) { return values[variable]; }, ops);
        std::erase_if(ops, [&](int op) { return op < last && commute(op, last); });
        std::sort(ops.begin(), ops.end());
        states.resize(ops.size() * domain_size_.size());
        int* next = states.data();
        for (int op : ops) task_.apply(op, values, std::exchange(next, next + domain_size_.size()));
    }
    bool is_goal(const int* values) const override { return task_.is_goal(values); }

  private:
    // Two operators commute if neither changes what the other reads or writes: both orders are possible and
    // lead to the same state. Take the shortest of the cheapest plans, and of those the first in operator
    // order: it has no commuting pair in descending order, so searches without a registry need not try one.
    bool commute(int a, int b) const {
        auto touches = [](auto effects, auto others) {
            for (auto [variable, value] : effects)
                for (auto [other, wanted] : others)
                    if (variable == other) return true;
            return false;
        };
        return task_.conditional[a].empty() && task_.conditional[b].empty() &&
               !touches(task_.effects[a], task_.pre[b]) && !touches(task_.effects[b], task_.pre[a]) &&
               !touches(task_.effects[a], task_.effects[b]);
    }

    const Task& task_;
    const SuccessorGenerator& generator_;
};

}  // namespace hstar
