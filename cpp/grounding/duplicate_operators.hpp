// Operators that differ only in name and cost: the cheapest stays, the first one if several cost the same.
#pragma once
#include <algorithm>
#include <span>

#include "runtime/hash.hpp"
#include "runtime/numbering.hpp"
#include "task/task.hpp"

namespace hstar {

class DuplicateOperators {
  public:
    explicit DuplicateOperators(Task& task) : task_(task) {}

    // Merges the operator added last with its duplicate among the operators before it, if there is one.
    void merge_last() {
        const int op = task_.num_operators() - 1;
        const auto [other, is_new] =
            numbering_.find_or_add(hash_operator(op), [&](int other) { return is_same(op, other); });
        if (is_new) return;
        if (task_.cost[op] < task_.cost[other]) {
            task_.cost[other] = task_.cost[op];
            task_.op_schema[other] = task_.op_schema[op];
            task_.op_tuple[other] = task_.op_tuple[op];
        }
        drop_last_operator();
    }

  private:
    uint64_t hash_operator(int op) const {
        uint64_t h = 1;
        auto mix = [&](auto row) {
            h = hash_ints(reinterpret_cast<const int*>(row.data()), row.size() * 2, h);
        };
        mix(task_.pre[op]);
        mix(task_.effects[op]);
        for (const auto& e : task_.conditional[op]) {
            mix(task_.condition(e));
            mix(std::span(&e.effect, 1));
        }
        return h;
    }

    bool is_same(int a, int b) const {
        using std::ranges::equal;
        auto same_effect = [&](const ConditionalEffect& left, const ConditionalEffect& right) {
            return left.effect == right.effect && equal(task_.condition(left), task_.condition(right));
        };
        return equal(task_.pre[a], task_.pre[b]) && equal(task_.effects[a], task_.effects[b]) &&
               equal(task_.conditional[a], task_.conditional[b], same_effect);
    }

    void drop_last_operator() {
        auto pop = [](auto& rows) {
            rows.offset.pop_back();
            rows.data.resize(rows.offset.back());
        };
        auto conditional = task_.conditional[task_.num_operators() - 1];
        if (!conditional.empty()) task_.effect_conditions.resize(conditional[0].condition_begin);
        pop(task_.pre);
        pop(task_.effects);
        pop(task_.conditional);
        task_.cost.pop_back();
        task_.op_schema.pop_back();
        task_.op_tuple.pop_back();
    }

    Task& task_;
    Numbering numbering_;
};

}  // namespace hstar
