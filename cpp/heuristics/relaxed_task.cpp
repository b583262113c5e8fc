#include <algorithm>
#include <ranges>

#include "heuristics/relaxed_exploration.hpp"
#include "runtime/hash.hpp"
#include "runtime/numbering.hpp"

namespace hstar {

std::vector<char> facts_asked_for(const Task& task) {
    std::vector<char> asked_for(task.num_facts(), 0);
    for (const auto* assignments : {&task.goal, &task.pre.data, &task.effect_conditions})
        for (auto a : *assignments) asked_for[task.fact(a)] = 1;
    return asked_for;
}

RelaxedTask::RelaxedTask(const Task& task, CostType cost_type, const Limits& limits) {
    task_cost = adjusted_costs(task, cost_type);
    goal_is_false = task.goal_is_false;
    const std::vector<char> asked_for = facts_asked_for(task);
    const int true_fact = task.num_facts();
    struct Edge {
        int fact, origin;
    };
    struct {  // relaxed operators before they are numbered by use
        Rows<int> pre;
        std::vector<std::vector<Edge>> eff;
        std::vector<int> cost;
        Numbering numbering;
    } draft;
    for_each_relaxed_effect(task, limits, [&](int op, std::vector<int>& needed, std::vector<int>& wanted) {
        if (needed.empty()) needed.push_back(true_fact);
        const int op_cost = task_cost[op];
        const uint64_t hash = hash_ints(needed.data(), needed.size(), static_cast<uint64_t>(op_cost));
        const auto [number, is_new] = draft.numbering.find_or_add(hash, [&](int other) {
            return draft.cost[other] == op_cost && std::ranges::equal(draft.pre[other], needed);
        });
        if (is_new) {
            draft.pre.add_row(needed);
            draft.eff.emplace_back();
            draft.cost.push_back(op_cost);
        }
        for (int fact : wanted) draft.eff[number].push_back({fact, op});
    });
    WorkMeter meter(limits);
    for (auto& edges : draft.eff) {
        meter.spend(1 + 8 * edges.size());
        std::ranges::stable_sort(edges, {}, &Edge::fact);
        const auto repeated = std::ranges::unique(edges, {}, &Edge::fact);
        edges.erase(repeated.begin(), repeated.end());
    }

    // Number facts and operators by a breadth-first exploration from the initial state.
    std::vector<int> number(task.num_facts() + 1, -1);
    std::vector<int> order, op_order, unsatisfied;
    for (int op = 0; op < draft.pre.size(); ++op)
        unsatisfied.push_back(static_cast<int>(draft.pre[op].size()));
    auto draft_consumers = transpose(draft.pre, task.num_facts() + 1);
    auto reach = [&](int fact) {
        if (number[fact] >= 0) return;
        number[fact] = static_cast<int>(order.size());
        order.push_back(fact);
    };
    reach(true_fact);
    for (int v = 0; v < task.num_variables(); ++v) {
        int fact = task.first_fact[v] + task.initial_state[v];
        if (asked_for[fact]) reach(fact);
    }
    for (size_t head = 0; head < order.size(); ++head)
        for (int op : draft_consumers[order[head]]) {
            meter.spend();
            if (--unsatisfied[op] == 0) {
                op_order.push_back(op);
                for (Edge edge : draft.eff[op]) reach(edge.fact);
            }
        }
    for (int fact = 0; fact < task.num_facts(); ++fact)
        if (asked_for[fact]) reach(fact);  // not reachable from here, but states and goals may name it
    for (int op = 0; op < draft.pre.size(); ++op)
        if (unsatisfied[op] > 0) op_order.push_back(op);

    num_facts = static_cast<int>(order.size());
    always_true = number[true_fact];
    fact_of.assign(number.begin(), number.end() - 1);
    for (int op : op_order) {
        meter.spend(8 + draft.pre[op].size() + 8 * draft.eff[op].size());
        for (int fact : draft.pre[op]) pre.push(number[fact]);
        std::sort(pre.data.begin() + pre.offset.back(), pre.data.end());
        pre.close_row();
        std::vector<Edge>& edges = draft.eff[op];
        std::ranges::sort(edges, {}, [&](Edge edge) { return number[edge.fact]; });
        for (Edge edge : edges) {
            eff.push(number[edge.fact]);
            edge_origin.push_back(edge.origin);
            edge_operator.push_back(static_cast<int>(cost.size()));
        }
        eff.close_row();
        cost.push_back(draft.cost[op]);
        has_zero_cost |= draft.cost[op] == 0;
    }
    consumers = transpose(pre, num_facts);
    const auto alone = [](const int& fact) { return std::span(&fact, 1); };
    achievers = transpose(std::views::transform(eff.data, alone), num_facts);
    for (auto a : task.goal) goals.push_back(number[task.fact(a)]);
}

}  // namespace hstar
