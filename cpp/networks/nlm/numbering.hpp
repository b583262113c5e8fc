// Numbers distinct keys in the order of their first occurrence. Open addressing over hashes; the caller
// stores the keys and compares them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace hstar {

class Numbering {
  public:
    void clear() {
        if (slots_.empty()) slots_.resize(64);
        std::fill(slots_.begin(), slots_.end(), -1);
        hashes_.clear();
    }
    // The number of a key and whether it is new. `same(number)` compares the key with the one of that number.
    template <class Same>
    std::pair<int, bool> find_or_add(uint64_t hash, Same same) {
        if (2 * hashes_.size() >= slots_.size()) grow();
        size_t slot = hash & (slots_.size() - 1);
        for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1))
            if (hashes_[slots_[slot]] == hash && same(slots_[slot])) return {slots_[slot], false};
        slots_[slot] = static_cast<int>(hashes_.size());
        hashes_.push_back(hash);
        return {slots_[slot], true};
    }
    int size() const { return static_cast<int>(hashes_.size()); }

  private:
    void grow() {
        slots_.assign(slots_.size() * 2, -1);
        for (size_t i = 0; i < hashes_.size(); ++i) {
            size_t slot = hashes_[i] & (slots_.size() - 1);
            while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = static_cast<int>(i);
        }
    }
    std::vector<int> slots_;
    std::vector<uint64_t> hashes_;
};

}  // namespace hstar
