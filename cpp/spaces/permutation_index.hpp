// Numbering of partial permutations: where k pieces are among n locations.
//
// Two orders. Myrvold-Ruskey (linear time): the location of piece 0 is the least significant digit, so
// neighbours in the order differ in the location of piece 0. Lexicographic: the location of the last piece is
// the least significant digit, so neighbours share the locations of all earlier pieces.
#pragma once
#include <cstdint>

namespace hstar {

enum class IndexOrder { MyrvoldRuskey, Lexicographic };

class PartialPermutations {
  public:
    static constexpr int kMaxLocations = 36;

    // Throws std::length_error if there are 2^62 or more of them, or too many locations.
    PartialPermutations(int locations, int pieces, IndexOrder order);

    uint64_t size() const { return size_; }
    uint64_t rank(const int* location) const {
        return order_ == IndexOrder::MyrvoldRuskey ? rank_myrvold_ruskey(location)
                                                   : rank_lexicographic(location);
    }
    void unrank(uint64_t rank, int* location) const;

  private:
    uint64_t rank_myrvold_ruskey(const int* location) const;
    uint64_t rank_lexicographic(const int* location) const;

    int n_, k_;
    IndexOrder order_;
    uint64_t size_;
};

}  // namespace hstar
