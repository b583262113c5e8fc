// The delete relaxation as flat arrays, for h^max, h^add and h^FF.
//
// Operators with equal preconditions and cost are one relaxed operator with all their effects: to sail from
// one port to each of fifty others takes one counter, not fifty. A conditional effect is an operator whose
// preconditions include the condition. Facts nothing asks for are left out. Facts and operators are numbered
// in the order in which a first exploration from the initial state reaches them, so that what is used
// together lies together.
#pragma once
#include <algorithm>
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
    for (int op = 0; op < task.num_operators(); ++op) {
        const auto begin = [&] {
            needed.clear();
            wanted.clear();
            for (auto a : task.pre[op]) needed.push_back(task.fact(a));
        };
        const auto end = [&] {
            meter.spend(16 + needed.size() + wanted.size());
            std::sort(needed.begin(), needed.end());
            std::erase_if(wanted, [&](int fact) {
                return !asked_for[fact] || std::binary_search(needed.begin(), needed.end(), fact);
            });
            if (!wanted.empty()) see(op, needed, wanted);
        };
        begin();
        for (auto effect : task.effects[op]) wanted.push_back(task.fact(effect));
        end();
        for (const ConditionalEffect& effect : task.conditional[op]) {
            begin();
            for (auto a : task.condition(effect)) needed.push_back(task.fact(a));
            wanted.push_back(task.fact(effect.effect));
            end();
        }
    }
}

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

}  // namespace hstar
