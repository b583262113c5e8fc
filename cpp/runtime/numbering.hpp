// Numbers distinct keys in the order of their first occurrence. Open addressing over hashes; the caller
// stores the keys and compares them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace hstar {

class Numbering {
    struct Always {
        bool operator()(int) const { return true; }
    };

  public:
    void clear() {
        std::fill(slots_.begin(), slots_.end(), -1);
        hashes_.clear();
    }
    // The number of a key, or -1. `same(number)` compares the key with the one of that number; keys that are
    // hashes themselves need no comparison.
    template <class Same = Always>
    int find(uint64_t hash, Same same = {}) const {
        return slots_[slot_of(hash, same)];
    }
    // The number of a key and whether it is new.
    template <class Same = Always>
    std::pair<int, bool> find_or_add(uint64_t hash, Same same = {}) {
        if (2 * hashes_.size() >= slots_.size()) grow();
        int& number = slots_[slot_of(hash, same)];
        if (number >= 0) return {number, false};
        number = size();
        hashes_.push_back(hash);
        return {number, true};
    }
    int size() const { return static_cast<int>(hashes_.size()); }
    uint64_t hash(int number) const { return hashes_[number]; }

  private:
    template <class Same>
    size_t slot_of(uint64_t hash, Same same) const {
        const size_t mask = slots_.size() - 1;
        size_t slot = hash & mask;
        for (int number; (number = slots_[slot]) >= 0; slot = (slot + 1) & mask)
            if (hashes_[number] == hash && same(number)) break;
        return slot;
    }
    void grow() {
        slots_.assign(slots_.size() * 2, -1);
        for (int number = 0; number < size(); ++number)
            slots_[slot_of(hashes_[number], [](int) { return false; })] = number;
    }
    std::vector<int> slots_ = std::vector<int>(64, -1);
    std::vector<uint64_t> hashes_;
};

}  // namespace hstar
