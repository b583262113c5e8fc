// Tables of what each move does to the index of a pattern, so that no state is built to follow a move.
//
// The new locations (a permutation rank) depend only on the old locations. The orientations change by a
// vector that depends only on the move and the locations. So one entry per permutation and move holds the
// next permutation and which vector is added. Orientations of edges add by exclusive or; for corners there is
// a table of sums per distinct vector.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/huge_pages.hpp"
#include "runtime/limits.hpp"
#include "spaces/puzzle.hpp"

namespace hstar {

class PieceMoves {
  public:
    // The index must be in Myrvold-Ruskey order. Throws std::length_error if entries would exceed 32 bits.
    PieceMoves(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits);

    int num_moves() const { return num_moves_; }
    uint32_t num_permutations() const { return num_permutations_; }
    uint32_t num_orientations() const { return num_orientations_; }

    // The entries of all moves from a permutation.
    const uint32_t* row(uint32_t permutation) const {
        return entries_.data() + static_cast<size_t>(permutation) * num_moves_;
    }
    uint32_t permutation(uint32_t entry) const { return entry & mask_; }
    uint32_t vector(uint32_t entry) const { return entry >> shift_; }
    // The orientations after adding a vector.
    uint32_t orientation(uint32_t orientation, uint32_t vector) const {
        return base_ == 2   ? orientation ^ vector
               : base_ == 1 ? 0
                            : sums_[static_cast<size_t>(vector) * num_orientations_ + orientation];
    }
    // Base 3: the sums with a vector, per orientation.
    const uint16_t* sums(uint32_t vector) const {
        return sums_.data() + static_cast<size_t>(vector) * num_orientations_;
    }

  private:
    int num_moves_, base_, shift_;
    uint32_t num_permutations_, num_orientations_, mask_;
    HugeVector<uint32_t> entries_;
    HugeVector<uint16_t> sums_;
};

}  // namespace hstar
