#include "task/registry.hpp"

#include <cstring>
#include <stdexcept>

namespace hstar {

StateRegistry::StateRegistry(const Packing& packing)
    : stride_(static_cast<size_t>(packing.num_bytes())), table_(1 << 12, kNoState), mask_((1 << 12) - 1) {}

std::pair<StateId, bool> StateRegistry::insert(const unsigned char* padded_state, uint64_t hash) {
    uint64_t slot = hash & mask_;
    while (table_[slot] != kNoState) {
        if (std::memcmp(row(table_[slot]), padded_state, stride_) == 0) return {table_[slot], false};
        slot = (slot + 1) & mask_;
    }
    if (size_ == kNoState - 1) throw std::length_error("more than four billion states");
    if ((size_ & (kRows - 1)) == 0)
        chunks_.push_back(std::make_unique_for_overwrite<unsigned char[]>(kRows * stride_ + kSlack));
    StateId id = size_++;
    table_[slot] = id;
    std::memcpy(chunks_[id >> kShift].get() + static_cast<size_t>(id & (kRows - 1)) * stride_, padded_state,
                stride_);
    if (size_ > table_.size() / 4 * 3) rehash();
    return {id, true};
}

void StateRegistry::rehash() {
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

}  // namespace hstar
