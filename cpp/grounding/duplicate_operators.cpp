#include "grounding/duplicate_operators.hpp"

#include <algorithm>
#include <span>

#include "runtime/hash.hpp"

namespace hstar {

uint64_t DuplicateOperators::hash_operator(int op) const {
    uint64_t h = 1;
    auto mix = [&](auto row) { h = hash_ints(reinterpret_cast<const int*>(row.data()), row.size() * 2, h); };
    mix(task_.pre[op]);
    mix(task_.effects[op]);
    for (const auto& e : task_.conditional[op]) {
        mix(std::span(task_.effect_conditions)
                .subspan(e.condition_begin, e.condition_end - e.condition_begin));
        mix(std::span(&e.effect, 1));
    }
    return h;
}

bool DuplicateOperators::same_operator(int a, int b) const {
    auto equal = [](auto left, auto right) {
        return std::equal(left.begin(), left.end(), right.begin(), right.end());
    };
    if (!equal(task_.pre[a], task_.pre[b]) || !equal(task_.effects[a], task_.effects[b])) return false;
    auto left = task_.conditional[a], right = task_.conditional[b];
    if (left.size() != right.size()) return false;
    auto conditions = [&](const ConditionalEffect& e) {
        return std::span(task_.effect_conditions)
            .subspan(e.condition_begin, e.condition_end - e.condition_begin);
    };
    for (size_t i = 0; i < left.size(); ++i)
        if (left[i].effect != right[i].effect || !equal(conditions(left[i]), conditions(right[i])))
            return false;
    return true;
}

void DuplicateOperators::merge_last() {
    int op = task_.num_operators() - 1;
    if (table_.size() < 2 * static_cast<size_t>(op + 1)) {
        table_.assign(std::max<size_t>(1024, table_.size() * 4), -1);
        for (int i = 0; i < op; ++i) {
            size_t slot = hashes_[i] & (table_.size() - 1);
            while (table_[slot] >= 0) slot = (slot + 1) & (table_.size() - 1);
            table_[slot] = i;
        }
    }
    uint64_t hash = hash_operator(op);
    size_t slot = hash & (table_.size() - 1);
    while (table_[slot] >= 0) {
        int other = table_[slot];
        if (hashes_[other] == hash && same_operator(op, other)) {
            if (task_.cost[op] < task_.cost[other]) {
                task_.cost[other] = task_.cost[op];
                task_.op_schema[other] = task_.op_schema[op];
                task_.op_tuple[other] = task_.op_tuple[op];
            }
            drop_last_operator();
            return;
        }
        slot = (slot + 1) & (table_.size() - 1);
    }
    table_[slot] = op;
    hashes_.push_back(hash);
}

void DuplicateOperators::drop_last_operator() {
    auto pop = [](auto& rows) {
        rows.offset.pop_back();
        rows.data.resize(rows.offset.back());
    };
    if (!task_.conditional[task_.num_operators() - 1].empty())
        task_.effect_conditions.resize(task_.conditional[task_.num_operators() - 1][0].condition_begin);
    pop(task_.pre);
    pop(task_.effects);
    pop(task_.conditional);
    task_.cost.pop_back();
    task_.op_schema.pop_back();
    task_.op_tuple.pop_back();
}

}  // namespace hstar
