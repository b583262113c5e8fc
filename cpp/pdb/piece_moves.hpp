// Tables of what each move does to the index of a pattern, so that no state is built to follow a move.
//
// The new locations (a permutation rank) depend only on the old locations. The orientations change by a
// vector that depends only on the move and the locations. So one entry per permutation and move holds the
// next permutation and which vector is added. Orientations of edges add by exclusive or; for corners there is
// a table of sums per distinct vector.
#pragma once
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "runtime/cache_aligned.hpp"
#include "runtime/limits.hpp"
#include "spaces/puzzle.hpp"

namespace hstar {

class PieceMoves {
  public:
    // Throws std::length_error if entries would exceed 32 bits.
    PieceMoves(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits)
        : num_moves_(puzzle.num_moves()), base_(index.group.orientations) {
        shift_ = std::bit_width(index.permutations.size() - 1);
        if (shift_ + std::bit_width(index.num_orientations - 1) > 32 || base_ > 3)
            throw std::length_error("the pattern has more than four billion states");
        num_permutations_ = static_cast<uint32_t>(index.permutations.size());
        num_orientations_ = static_cast<uint32_t>(index.num_orientations);
        mask_ = (1u << shift_) - 1;
        int group = 0;
        while (puzzle.groups[group].first != index.group.first) ++group;
        entries_.resize(static_cast<size_t>(num_permutations_) * num_moves_);
        std::unordered_map<uint32_t, uint32_t> vector_ids;  // base 3
        std::vector<uint32_t> vectors;
        int pieces = static_cast<int>(index.variables().size());
        int location[PartialPermutations::kMaxLocations], next[PartialPermutations::kMaxLocations];
        for (uint32_t p = 0; p < num_permutations_; ++p) {
            if (p % 4096 == 0) limits.check();
            index.permutations.unrank(p, location);
            for (int move = 0; move < num_moves_; ++move) {
                const uint8_t* table = puzzle.table(move, group);
                uint32_t added = 0;
                for (int i = 0; i < pieces; ++i) {
                    int value = table[location[i] * base_];
                    next[i] = value / base_;
                    if (i < index.num_digits)
                        added = added * static_cast<uint32_t>(base_) + static_cast<uint32_t>(value % base_);
                }
                if (base_ == 3) {
                    auto [it, is_new] = vector_ids.try_emplace(added, static_cast<uint32_t>(vectors.size()));
                    if (is_new) vectors.push_back(added);
                    added = it->second;
                }
                uint32_t rank = static_cast<uint32_t>(index.permutations.rank(next));
                entries_[static_cast<size_t>(p) * num_moves_ + move] =
                    rank | static_cast<uint32_t>(static_cast<uint64_t>(added) << shift_);
            }
        }
        if (base_ != 3) return;
        sums_.resize(vectors.size() * num_orientations_);
        for (size_t v = 0; v < vectors.size(); ++v)
            for (uint32_t o = 0; o < num_orientations_; ++o)
                sums_[v * num_orientations_ + o] =
                    static_cast<uint16_t>(add_digits(o, vectors[v], index.num_digits));
    }

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
    // Adds two numbers of base-3 digits, digit by digit.
    static uint32_t add_digits(uint32_t a, uint32_t b, int digits) {
        uint32_t sum = 0, radix = 1;
        for (int i = 0; i < digits; ++i, a /= 3, b /= 3, radix *= 3) sum += (a % 3 + b % 3) % 3 * radix;
        return sum;
    }

    int num_moves_, base_, shift_;
    uint32_t num_permutations_, num_orientations_, mask_;
    AlignedVector<uint32_t> entries_;
    AlignedVector<uint16_t> sums_;
};

}  // namespace hstar
