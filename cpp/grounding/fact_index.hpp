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
        auto [number, is_new] =
            numbering_.find_or_add(hash(key_.data()), [&](int group) { return matches(group, key_.data()); });
        int entry = static_cast<int>(entries_.size());
        entries_.push_back({fact, -1});
        if (is_new)
            groups_.push_back({entry, entry});
        else
            entries_[std::exchange(groups_[number].last, entry)].next = entry;
    }

    int first(const int* key) const {
        int group = numbering_.find(hash(key), [&](int group) { return matches(group, key); });
        return group < 0 ? -1 : groups_[group].first;
    }
    int fact(int entry) const { return entries_[entry].fact; }
    int next(int entry) const { return entries_[entry].next; }
    const std::vector<int>& positions() const { return positions_; }
    double mean_group_size() const {
        return static_cast<double>(entries_.size()) /
               static_cast<double>(std::max<size_t>(1, groups_.size()));
    }

  private:
    struct Entry {
        int fact, next;
    };
    struct Group {
        int first, last;
    };

    uint64_t hash(const int* key) const { return hash_ints(key, positions_.size(), 7); }
    bool matches(int group, const int* key) const {
        auto args = facts_.args(entries_[groups_[group].first].fact);
        for (size_t i = 0; i < positions_.size(); ++i)
            if (args[positions_[i]] != key[i]) return false;
        return true;
    }

    const FactTable& facts_;
    std::vector<int> positions_;
    std::vector<int> key_;
    std::vector<Group> groups_;
    std::vector<Entry> entries_;
    Numbering numbering_;
};

}  // namespace hstar
