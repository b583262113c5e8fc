// All states seen by a search, each stored once.
//
// A state's id is its position in one logical array of packed rows, cut into chunks so that growing never
// copies. An open-addressing table that holds only ids (4 bytes per slot) finds duplicates; a probe compares
// the row itself. Looking up a batch in two passes, first prefetch() for every state, then insert(), hides
// most cache misses.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/hash.hpp"
#include "task/packing.hpp"

namespace hstar {

using StateId = uint32_t;
constexpr StateId kNoState = 0xffffffffu;

class StateRegistry {
  public:
    explicit StateRegistry(const Packing& packing);

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
    std::pair<StateId, bool> insert(const unsigned char* padded_state, uint64_t hash);

  private:
    static constexpr int kShift = 12;
    static constexpr StateId kRows = 1u << kShift;
    void rehash();

    size_t stride_;
    StateId size_ = 0;
    std::vector<std::unique_ptr<unsigned char[]>> chunks_;
    std::vector<StateId> table_;
    uint64_t mask_;
};

}  // namespace hstar
