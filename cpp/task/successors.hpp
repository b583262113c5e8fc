// Finds the operators that are applicable in a state without testing all of them.
//
// A decision tree over variables: an inner node tests one variable and has a child per value plus one for the
// operators that do not mention it; a leaf lists operators whose preconditions are all tested. Each node
// tests the variable that most of its operators mention, so the operators under different values are
// separated early.
#pragma once
#include <algorithm>
#include <numeric>
#include <queue>
#include <vector>

#include "runtime/limits.hpp"
#include "runtime/sort_unique.hpp"
#include "task/packing.hpp"
#include "task/task.hpp"

namespace hstar {

class SuccessorGenerator {
  public:
    // Throws Stopped when a limit is reached.
    explicit SuccessorGenerator(const Task& task, const Limits& limits = {}) : task_(task) {
        std::vector<int> ops(task.num_operators());
        std::iota(ops.begin(), ops.end(), 0);
        tested_.assign(task.num_operators(), 0);
        is_tested_.assign(task.num_variables(), 0);
        mentions_.assign(task.num_variables(), 0);
        WorkMeter meter(limits);
        root_ = build(ops, 0, ops.size(), meter);
    }

    // Appends the applicable operators, in ascending order within each leaf.
    template <class ValueOf>  // ValueOf(variable) -> value
    void applicable(ValueOf value_of, std::vector<int>& ops) const {
        int stack[64];
        int depth = 0;
        std::vector<int> overflow;
        int node = root_;
        while (true) {
            while (node >= 0) {
                const int* n = code_.data() + node;
                int leaf_size = n[0], variable = n[1];
                ops.insert(ops.end(), n + 3, n + 3 + leaf_size);
                int next = -1;
                if (variable >= 0) {
                    int rest = n[2];
                    next = child(n + 3 + leaf_size, value_of(variable));
                    if (rest >= 0) {
                        if (next < 0)
                            next = rest;
                        else if (depth < 64)
                            stack[depth++] = rest;
                        else
                            overflow.push_back(rest);
                    }
                }
                node = next;
            }
            if (!overflow.empty()) {
                node = overflow.back();
                overflow.pop_back();
            } else if (depth > 0) {
                node = stack[--depth];
            } else {
                break;
            }
        }
    }

  private:
    // A node is: leaf size, variable (-1: none), child for operators not mentioning it, leaf operators, then
    // either a jump table (0, child per value) or, where few values have a child, (count, value, child,
    // value, child, ...).
    static int child(const int* children, int value) {
        int count = children[0];
        if (count == 0) return children[1 + value];
        for (int i = 0; i < count; ++i)
            if (children[1 + 2 * i] == value) return children[2 + 2 * i];
        return -1;
    }
    int build(std::vector<int>& ops, size_t begin, size_t end, WorkMeter& meter) {
        int entry = -1;  // the first node of the chain of operators that do not mention a variable
        size_t rest_slot = 0;
        auto is_leaf = [&](int op) { return tested_[op] == static_cast<int>(task_.pre[op].size()); };
        auto leaf_end = static_cast<size_t>(
            std::stable_partition(ops.begin() + begin, ops.begin() + end, is_leaf) - ops.begin());
        size_t first = begin;
        size_t leaf_size = leaf_end - begin;
        begin = leaf_end;
        // How many operators mention each untested variable. Recursive calls share the counters, so save them
        // first.
        std::vector<std::pair<int, int>> saved;
        meter.spend(8 + end - begin);
        for (size_t i = begin; i < end; ++i)
            for (auto [v, value] : task_.pre[ops[i]])
                if (!is_tested_[v]) saved.push_back({v, mentions_[v]});
        sort_unique(saved);
        for (auto [v, old] : saved) mentions_[v] = 0;
        for (size_t i = begin; i < end; ++i)
            for (auto [v, value] : task_.pre[ops[i]]) mentions_[v] += !is_tested_[v];
        std::priority_queue<std::pair<int, int>>
            most_mentioned;  // (count, -variable); counts may be out of date
        for (auto [v, old] : saved) most_mentioned.push({mentions_[v], -v});
        // Each iteration makes one node; operators that do not mention its variable are left for the next
        // one.
        while (true) {
            int variable = -1;
            while (begin < end) {
                auto [count, negated] = most_mentioned.top();
                most_mentioned.pop();
                if (count == mentions_[-negated]) {
                    variable = -negated;
                    break;
                }
                most_mentioned.push({mentions_[-negated], negated});
            }
            int node = static_cast<int>(code_.size());
            if (entry < 0)
                entry = node;
            else
                code_[rest_slot] = node;
            code_.push_back(static_cast<int>(leaf_size));
            code_.push_back(variable);
            code_.push_back(-1);
            rest_slot = static_cast<size_t>(node) + 2;
            code_.insert(code_.end(), ops.begin() + first, ops.begin() + first + leaf_size);
            leaf_size = 0;
            if (variable < 0) break;
            meter.spend(8 + end - begin);

            auto value_in = [&](int op) {
                for (auto [v, value] : task_.pre[op])
                    if (v == variable) return value;
                return -1;
            };
            auto split =
                static_cast<size_t>(std::stable_partition(ops.begin() + begin, ops.begin() + end,
                                                          [&](int op) { return value_in(op) >= 0; }) -
                                    ops.begin());
            std::stable_sort(ops.begin() + begin, ops.begin() + split,
                             [&](int a, int b) { return value_in(a) < value_in(b); });
            std::vector<std::pair<int, size_t>> ranges;  // value, start
            for (size_t i = begin; i < split; ++i) {
                int value = value_in(ops[i]);
                if (ranges.empty() || ranges.back().first != value) ranges.push_back({value, i});
                ++tested_[ops[i]];
                for (auto [v, ignored] : task_.pre[ops[i]]) mentions_[v] -= !is_tested_[v];
            }
            int count = static_cast<int>(ranges.size());
            bool dense = count * 3 >= task_.domain_size[variable] || count > 8;
            size_t table = code_.size();
            if (dense) {
                code_.push_back(0);
                code_.insert(code_.end(), task_.domain_size[variable], -1);
            } else {
                code_.push_back(count);
                code_.insert(code_.end(), 2 * count, -1);
            }
            is_tested_[variable] = 1;
            for (int i = 0; i < count; ++i) {
                size_t stop = i + 1 < count ? ranges[i + 1].second : split;
                int subtree = build(ops, ranges[i].second, stop, meter);
                if (dense) {
                    code_[table + 1 + ranges[i].first] = subtree;
                } else {
                    code_[table + 1 + 2 * i] = ranges[i].first;
                    code_[table + 2 + 2 * i] = subtree;
                }
            }
            for (size_t i = begin; i < split; ++i) --tested_[ops[i]];
            is_tested_[variable] = 0;
            // Operators that do not mention the variable: in the rest chain it stays untested, as none of
            // them needs it.
            begin = split;
            if (begin == end) break;
        }
        for (auto [v, old] : saved) mentions_[v] = old;
        return entry;
    }

    const Task& task_;
    std::vector<int> code_;
    std::vector<int> tested_;      // per operator, while building: how many preconditions are tested above
    std::vector<char> is_tested_;  // per variable, while building
    std::vector<int> mentions_;    // per variable, while building
    int root_;
};

}  // namespace hstar
