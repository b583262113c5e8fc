// All states seen by a search, each stored once.
//
// A state's id is its position in one logical array of packed rows, cut into chunks so that growing never
// copies. An open-addressing table that holds only ids (4 bytes per slot) finds duplicates; a probe compares
// the row itself. Looking up a batch in two passes, first prefetch() for every state, then insert(), hides
// most cache misses.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/hash.hpp"
#include "task/packing.hpp"

namespace hstar {

using StateId = uint32_t;
constexpr StateId kNoState = 0xffffffffu;

class StateRegistry {
  public:
    explicit StateRegistry(const Packing& packing) : stride_(static_cast<size_t>(packing.num_bytes())) {}

    StateId size() const { return size_; }
    const unsigned char* row(StateId id) const {
        return chunks_[id >> kShift].get() + static_cast<size_t>(id & (kRows - 1)) * stride_;
    }
    uint64_t hash(const unsigned char* padded_state) const {
        return hash_padded_bytes(padded_state, stride_);
    }
    void prefetch_slot(uint64_t hash) const { __builtin_prefetch(&table_[hash & mask_]); }
    void prefetch_row(uint64_t hash) const {
        StateId id = table_[hash & mask_];
        if (id != kNoState) __builtin_prefetch(row(id));
    }
    // Returns the id of the state and whether it was new. `padded_state`: see Packing::buffer_bytes().
    std::pair<StateId, bool> insert(const unsigned char* padded_state, uint64_t hash) {
        uint64_t slot = hash & mask_;
        for (; table_[slot] != kNoState; slot = (slot + 1) & mask_)
            if (std::memcmp(row(table_[slot]), padded_state, stride_) == 0) return {table_[slot], false};
        if (size_ == kNoState - 1) throw std::length_error("more than four billion states");
        if ((size_ & (kRows - 1)) == 0)
            chunks_.push_back(std::make_unique_for_overwrite<unsigned char[]>(kRows * stride_ + kSlack));
        StateId id = size_++;
        table_[slot] = id;
        std::memcpy(const_cast<unsigned char*>(row(id)), padded_state, stride_);
        if (size_ > table_.size() / 4 * 3) rehash();
        return {id, true};
    }

  private:
    static constexpr int kShift = 12;
    static constexpr StateId kRows = 1u << kShift;
    void rehash() {
        std::vector<StateId>().swap(table_);
        mask_ = 2 * (mask_ + 1) - 1;
        table_.assign(mask_ + 1, kNoState);
        std::vector<unsigned char> padded((stride_ + 7) / 8 * 8 + kSlack, 0);
        for (StateId id = 0; id < size_; ++id) {
            std::memcpy(padded.data(), row(id), stride_);
            uint64_t slot = hash(padded.data()) & mask_;
            while (table_[slot] != kNoState) slot = (slot + 1) & mask_;
            table_[slot] = id;
        }
    }

    size_t stride_;
    StateId size_ = 0;
    std::vector<std::unique_ptr<unsigned char[]>> chunks_;
    uint64_t mask_ = (1 << 12) - 1;
    std::vector<StateId> table_ = std::vector<StateId>(mask_ + 1, kNoState);
};

}  // namespace hstar
