// Facts of one predicate, grouped by their arguments at some positions, for the joins of the reachability
// analysis.
#pragma once
#include <utility>
#include <vector>

#include "grounding/fact_table.hpp"

namespace hstar {

class FactIndex {
  public:
    FactIndex(const FactTable& facts, std::vector<int> key_positions)
        : facts_(facts), positions_(std::move(key_positions)) {}

    void add(int fact) {
        auto args = facts_.args(fact);
        key_.clear();
        for (int position : positions_) key_.push_back(args[position]);
        auto [group, is_new] =
            numbering_.find_or_add(hash(key_.data()), [&](int group) { return matches(group, key_.data()); });
        if (is_new) groups_.emplace_back();
        groups_[group].push_back(fact);
        ++size_;
    }

    // The facts with these arguments at the key positions; valid until the next one is added.
    std::span<const int> find(const int* key) const {
        const int group = numbering_.find(hash(key), [&](int group) { return matches(group, key); });
        return group < 0 ? std::span<const int>() : groups_[group];
    }
    const std::vector<int>& positions() const { return positions_; }
    double mean_group_size() const {
        return static_cast<double>(size_) / static_cast<double>(std::max<size_t>(1, groups_.size()));
    }

  private:
    uint64_t hash(const int* key) const { return hash_ints(key, positions_.size(), 7); }
    bool matches(int group, const int* key) const {
        auto args = facts_.args(groups_[group][0]);
        for (size_t i = 0; i < positions_.size(); ++i)
            if (args[positions_[i]] != key[i]) return false;
        return true;
    }

    const FactTable& facts_;
    std::vector<int> positions_;
    std::vector<int> key_;
    std::vector<std::vector<int>> groups_;
    size_t size_ = 0;  // of all groups
    Numbering numbering_;
};

}  // namespace hstar
