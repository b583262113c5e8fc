#include "spaces/task_space.hpp"

#include <algorithm>
#include <cstring>

namespace hstar {

TaskSpace::TaskSpace(const Task& task, const SuccessorGenerator& generator, std::vector<int> initial_state)
    : StateSpace(task.domain_size, task.cost, std::move(initial_state)), task_(task), generator_(generator) {}

void TaskSpace::applicable(const unsigned char* row, std::vector<int>& ops) const {
    ops.clear();
    generator_.applicable([&](int variable) { return packing_.get(row, variable); }, ops);
    std::sort(ops.begin(), ops.end());
}

void TaskSpace::apply(const std::vector<int>& ops, const unsigned char* parent, unsigned char* rows,
                      size_t stride) const {
    for (size_t i = 0; i < ops.size(); ++i) {
        unsigned char* row = rows + i * stride;
        std::memcpy(row, parent, stride);
        apply_one(ops[i], parent, row);
    }
}

void TaskSpace::apply_one(int op, const unsigned char* parent, unsigned char* row) const {
    for (auto [variable, value] : task_.effects[op]) packing_.set(row, variable, value);
    for (const ConditionalEffect& e : task_.conditional[op]) {
        bool fires = true;
        for (uint32_t i = e.condition_begin; i < e.condition_end && fires; ++i)
            fires =
                packing_.get(parent, task_.effect_conditions[i].variable) == task_.effect_conditions[i].value;
        if (fires) packing_.set(row, e.effect.variable, e.effect.value);
    }
}

bool TaskSpace::is_goal(const unsigned char* row) const {
    if (task_.goal_is_false) return false;
    for (auto [variable, value] : task_.goal)
        if (packing_.get(row, variable) != value) return false;
    return true;
}

bool TaskSpace::commute(int a, int b) const {
    if (!task_.conditional[a].empty() || !task_.conditional[b].empty()) return false;
    auto touches = [](auto effects, auto others) {
        for (auto [variable, value] : effects)
            for (auto [other, wanted] : others)
                if (variable == other) return true;
        return false;
    };
    return !touches(task_.effects[a], task_.pre[b]) && !touches(task_.effects[b], task_.pre[a]) &&
           !touches(task_.effects[a], task_.effects[b]);
}

void TaskSpace::successors(const int* values, int last, std::vector<int>& ops,
                           std::vector<int>& states) const {
    ops.clear();
    generator_.applicable([&](int variable) { return values[variable]; }, ops);
    std::erase_if(ops, [&](int op) { return op < last && commute(op, last); });
    std::sort(ops.begin(), ops.end());
    size_t variables = domain_size_.size();
    states.resize(ops.size() * variables);
    for (size_t i = 0; i < ops.size(); ++i) task_.apply(ops[i], values, states.data() + i * variables);
}

}  // namespace hstar
