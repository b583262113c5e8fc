// Numbering of partial permutations: where k pieces are among n locations.
//
// Two orders. Myrvold-Ruskey (linear time): the location of piece 0 is the least significant digit, so
// neighbours in the order differ in the location of piece 0. Lexicographic: the location of the last piece is
// the least significant digit, so neighbours share the locations of all earlier pieces.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace hstar {

enum class IndexOrder { MyrvoldRuskey, Lexicographic };

class PartialPermutations {
  public:
    static constexpr int kMaxLocations = 36;

    // Throws std::length_error if there are 2^62 or more of them, or too many locations.
    PartialPermutations(int locations, int pieces, IndexOrder order)
        : n_(locations), k_(pieces), order_(order), size_(1) {
        if (n_ > kMaxLocations) throw std::length_error("more than 36 locations");
        for (int i = 0; i < k_; ++i) {
            size_ *= static_cast<uint64_t>(n_ - i);
            if (size_ >= uint64_t{1} << 56) throw std::length_error("too many permutations to number them");
        }
    }

    uint64_t size() const { return size_; }
    uint64_t rank(const int* location) const {
        return order_ == IndexOrder::MyrvoldRuskey ? rank_myrvold_ruskey(location)
                                                   : rank_lexicographic(location);
    }
    void unrank(uint64_t rank, int* location) const {
        if (order_ == IndexOrder::MyrvoldRuskey) {
            Locations at;
            set_identity(at, n_);
            for (int i = 0; i < k_; ++i) {
                uint64_t radix = static_cast<uint64_t>(n_ - i);
                std::swap(at[i + static_cast<int>(rank % radix)], at[i]);
                rank /= radix;
                location[i] = at[i];
            }
            return;
        }
        int digit[kMaxLocations];
        for (int i = k_ - 1; i >= 0; --i) {
            uint64_t radix = static_cast<uint64_t>(n_ - i);
            digit[i] = static_cast<int>(rank % radix);
            rank /= radix;
        }
        Locations rest;  // free locations in ascending order
        set_identity(rest, n_);
        for (int i = 0; i < k_; ++i) {
            location[i] = rest[digit[i]];
            for (int j = digit[i]; j + 1 < n_ - i; ++j) rest[j] = rest[j + 1];
        }
    }

  private:
    using Locations = uint8_t[kMaxLocations];
    static void set_identity(Locations& items, int n) {
        for (int i = 0; i < n; ++i) items[i] = static_cast<uint8_t>(i);
    }
    uint64_t rank_myrvold_ruskey(const int* location) const {
        Locations at, position;  // at[position[x]] == x
        set_identity(at, n_);
        set_identity(position, n_);
        uint64_t rank = 0, radix = 1;
        for (int i = 0; i < k_; ++i) {
            int from = position[location[i]];
            rank += radix * static_cast<uint64_t>(from - i);
            radix *= static_cast<uint64_t>(n_ - i);
            uint8_t displaced = at[i];
            at[from] = displaced;
            position[displaced] = static_cast<uint8_t>(from);
        }
        return rank;
    }
    uint64_t rank_lexicographic(const int* location) const {
        uint64_t rank = 0, used = 0;
        for (int i = 0; i < k_; ++i) {
            uint64_t bit = uint64_t{1} << location[i];
            int smaller_used = __builtin_popcountll(used & (bit - 1));
            rank = rank * static_cast<uint64_t>(n_ - i) + static_cast<uint64_t>(location[i] - smaller_used);
            used |= bit;
        }
        return rank;
    }

    int n_, k_;
    IndexOrder order_;
    uint64_t size_;
};

}  // namespace hstar
