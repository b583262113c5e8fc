// Facts of one predicate by their arguments at some positions, for the joins of the reachability analysis.
#pragma once
#include <vector>

#include "grounding/fact_table.hpp"
#include "runtime/hash.hpp"

namespace hstar {

// Facts of one predicate, grouped by their arguments at the key positions.
class FactIndex {
  public:
    FactIndex(const FactTable& facts, std::vector<int> key_positions)
        : facts_(facts), positions_(std::move(key_positions)), table_(64, -1) {}

    void add(int fact) {
        size_t slot = find_slot(key_of(fact));
        int entry = static_cast<int>(entries_.size());
        entries_.push_back({fact, -1});
        if (table_[slot] < 0) {
            table_[slot] = static_cast<int>(groups_.size());
            groups_.push_back({entry, entry});
            if (groups_.size() * 2 > table_.size()) grow();
        } else {
            Group& group = groups_[table_[slot]];
            entries_[group.last].next = entry;
            group.last = entry;
        }
    }

    int first(const int* key) const {
        int group = table_[find_slot(key)];
        return group < 0 ? -1 : groups_[group].first;
    }
    int fact(int entry) const { return entries_[entry].fact; }
    int next(int entry) const { return entries_[entry].next; }
    const std::vector<int>& positions() const { return positions_; }
    double mean_group_size() const {
        return groups_.empty() ? 0.0
                               : static_cast<double>(entries_.size()) / static_cast<double>(groups_.size());
    }

  private:
    struct Entry {
        int fact, next;
    };
    struct Group {
        int first, last;
    };

    const int* key_of(int fact) {
        auto args = facts_.args(fact);
        key_.resize(positions_.size());
        for (size_t i = 0; i < positions_.size(); ++i) key_[i] = args[positions_[i]];
        return key_.data();
    }
    size_t find_slot(const int* key) const {
        size_t mask = table_.size() - 1;
        size_t slot = hash_ints(key, positions_.size(), 7) & mask;
        while (table_[slot] >= 0 && !matches(groups_[table_[slot]].first, key)) slot = (slot + 1) & mask;
        return slot;
    }
    bool matches(int entry, const int* key) const {
        auto args = facts_.args(entries_[entry].fact);
        for (size_t i = 0; i < positions_.size(); ++i)
            if (args[positions_[i]] != key[i]) return false;
        return true;
    }
    void grow() {
        table_.assign(table_.size() * 2, -1);
        for (size_t group = 0; group < groups_.size(); ++group)
            table_[find_slot(key_of(entries_[groups_[group].first].fact))] = static_cast<int>(group);
    }

    const FactTable& facts_;
    std::vector<int> positions_;
    std::vector<int> key_;
    std::vector<int> table_;
    std::vector<Group> groups_;
    std::vector<Entry> entries_;
};

}  // namespace hstar
