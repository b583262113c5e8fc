// A cache of a network's values by index: states with the same pattern are computed once.
//
// If there are few indices, all are kept. Otherwise a new index replaces the old one in its slot: depth-first
// search meets an index again soon or not at all.
#pragma once
#include <cstdint>
#include <vector>

namespace hstar {

class ValueCache {
  public:
    explicit ValueCache(uint64_t indices) : entries_(indices <= kMostEntries ? indices : kMostEntries) {}

    const uint32_t* find(uint64_t index) const {
        const Entry& entry = entries_[slot(index)];
        return entry.key == index + 1 ? &entry.value : nullptr;
    }
    void put(uint64_t index, uint32_t value) { entries_[slot(index)] = {index + 1, value}; }

  private:
    static constexpr int kBits = 20;
    static constexpr uint64_t kMostEntries = uint64_t{1} << kBits;
    struct Entry {
        uint64_t key = 0;  // index + 1; 0: empty
        uint32_t value = 0;
    };
    size_t slot(uint64_t index) const {
        return entries_.size() < kMostEntries ? index : (index * 0x9e3779b97f4a7c15u) >> (64 - kBits);
    }
    std::vector<Entry> entries_;
};

}  // namespace hstar
