#include "heuristics/relaxed_task.hpp"

#include <algorithm>
#include <unordered_map>

#include "hash.hpp"

namespace hstar {

namespace {

struct Edge {
    int fact, origin;
};

// Relaxed operators before they are numbered by use.
struct Draft {
    Rows<int> pre;
    std::vector<std::vector<Edge>> eff;
    std::vector<int> cost;
    std::unordered_multimap<uint64_t, int> by_precondition;

    void add(std::vector<int> pre_facts, int op_cost, int fact, int origin) {
        uint64_t hash = hash_ints(pre_facts.data(), pre_facts.size(), static_cast<uint64_t>(op_cost));
        auto [begin, end] = by_precondition.equal_range(hash);
        int op = -1;
        for (auto it = begin; it != end; ++it) {
            auto other = pre[it->second];
            if (cost[it->second] == op_cost &&
                std::equal(other.begin(), other.end(), pre_facts.begin(), pre_facts.end()))
                op = it->second;
        }
        if (op < 0) {
            op = static_cast<int>(cost.size());
            by_precondition.emplace(hash, op);
            pre.add_row(pre_facts);
            eff.emplace_back();
            cost.push_back(op_cost);
        }
        eff[op].push_back({fact, origin});
    }
};

}  // namespace

RelaxedTask::RelaxedTask(const Task& task, CostType cost_type) {
    task_cost = adjusted_costs(task, cost_type);
    goal_is_false = task.goal_is_false;
    std::vector<char> asked_for(task.num_facts(), 0);
    for (auto a : task.goal) asked_for[task.fact(a)] = 1;
    for (auto a : task.pre.data) asked_for[task.fact(a)] = 1;
    for (auto a : task.effect_conditions) asked_for[task.fact(a)] = 1;

    const int true_fact = task.num_facts();
    Draft draft;
    for (int op = 0; op < task.num_operators(); ++op) {
        std::vector<int> pre_facts;
        for (auto a : task.pre[op]) pre_facts.push_back(task.fact(a));
        auto add_effect = [&](std::vector<int> needed, Assignment effect) {
            int fact = task.fact(effect);
            if (!asked_for[fact]) return;
            std::sort(needed.begin(), needed.end());
            if (std::binary_search(needed.begin(), needed.end(), fact)) return;
            if (needed.empty()) needed.push_back(true_fact);
            draft.add(std::move(needed), task_cost[op], fact, op);
        };
        for (auto effect : task.effects[op]) add_effect(pre_facts, effect);
        for (const auto& effect : task.conditional[op]) {
            auto needed = pre_facts;
            for (uint32_t i = effect.condition_begin; i < effect.condition_end; ++i)
                needed.push_back(task.fact(task.effect_conditions[i]));
            add_effect(needed, effect.effect);
        }
    }
    for (auto& edges : draft.eff) {
        std::stable_sort(edges.begin(), edges.end(), [](Edge a, Edge b) { return a.fact < b.fact; });
        edges.erase(std::unique(edges.begin(), edges.end(), [](Edge a, Edge b) { return a.fact == b.fact; }), edges.end());
    }

    // Number facts and operators by a breadth-first exploration from the initial state.
    std::vector<int> number(task.num_facts() + 1, -1);
    std::vector<int> order, op_order, unsatisfied;
    for (int op = 0; op < draft.pre.size(); ++op) unsatisfied.push_back(static_cast<int>(draft.pre[op].size()));
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
        for (int op : draft_consumers[order[head]])
            if (--unsatisfied[op] == 0) {
                op_order.push_back(op);
                for (Edge edge : draft.eff[op]) reach(edge.fact);
            }
    for (int fact = 0; fact < task.num_facts(); ++fact)
        if (asked_for[fact]) reach(fact);  // not reachable, but states and goals may name it

    num_facts = static_cast<int>(order.size());
    always_true = number[true_fact];
    fact_of.assign(number.begin(), number.end() - 1);
    for (int op : op_order) {
        for (int fact : draft.pre[op]) pre.push(number[fact]);
        std::sort(pre.data.begin() + pre.offset.back(), pre.data.end());
        pre.close_row();
        std::vector<Edge> edges = draft.eff[op];
        std::sort(edges.begin(), edges.end(), [&](Edge a, Edge b) { return number[a.fact] < number[b.fact]; });
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
    Rows<int> edge_facts;
    for (int fact : eff.data) {
        edge_facts.push(fact);
        edge_facts.close_row();
    }
    achievers = transpose(edge_facts, num_facts);
    for (auto a : task.goal) goals.push_back(number[task.fact(a)]);
}

}  // namespace hstar
