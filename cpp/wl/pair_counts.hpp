// How often each key occurs, with steps that can be taken back. For set hashing: a key is an object together
// with what a neighbour adds to its sum, which counts once however many neighbours add the same.
#pragma once
#include <cstdint>
#include <vector>

namespace hstar {

class PairCounts {
  public:
    // Whether the key did not occur before.
    bool add(uint64_t key) { return step(key, 1) == 1; }
    // Whether the key does not occur any more.
    bool remove(uint64_t key) { return step(key, -1) == 0; }
    // Takes back all steps since the last call of this or of keep().
    void undo() {
        for (size_t i = steps_.size(); i-- > 0;) {
            const Step& step = steps_[i];
            slots_[step.builds == builds_ ? step.place : place_of(step.key)].count -= step.change;
        }
        steps_.clear();
    }
    void keep() { steps_.clear(); }

  private:
    struct Slot {
        uint64_t key = 0;
        int count = 0;
        bool is_used = false;  // slots stay in use when their count falls to 0, until the table is rebuilt
    };
    struct Step {
        uint64_t key;
        uint32_t place, builds;
        int change;
    };
    int step(uint64_t key, int change) {
        const uint32_t place = place_of(key);
        steps_.push_back({key, place, builds_, change});
        return slots_[place].count += change;
    }
    uint32_t place_of(uint64_t key) {
        const uint32_t place = find(key);
        if (slots_[place].is_used) return place;
        if (2 * ++num_used_ <= slots_.size()) {
            slots_[place].key = key;
            slots_[place].is_used = true;
            return place;
        }
        rebuild();
        return place_of(key);
    }
    uint32_t find(uint64_t key) const {
        const size_t mask = slots_.size() - 1;
        size_t place = key & mask;
        while (slots_[place].is_used && slots_[place].key != key) place = (place + 1) & mask;
        return static_cast<uint32_t>(place);
    }
    void rebuild() {
        size_t occurring = 0, size = 64;
        for (const Slot& slot : slots_) occurring += slot.count != 0;
        while (size < 4 * (occurring + 1)) size *= 2;
        const std::vector<Slot> old = std::move(slots_);
        slots_.assign(size, {});
        for (const Slot& slot : old)
            if (slot.count != 0) slots_[find(slot.key)] = slot;
        num_used_ = occurring;
        ++builds_;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::vector<Step> steps_;
    size_t num_used_ = 0;
    uint32_t builds_ = 0;
};

}  // namespace hstar
