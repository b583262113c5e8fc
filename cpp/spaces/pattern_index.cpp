#include "spaces/pattern_index.hpp"

#include <stdexcept>

namespace hstar {

PieceIndex::PieceIndex(const PieceGroup& group, std::vector<int> variables, IndexOrder order)
    : PatternIndex(std::move(variables)),
      group(group),
      order(order),
      permutations(group.locations, static_cast<int>(variables_.size()), order) {
    int pieces = static_cast<int>(variables_.size());
    num_digits = group.orientations == 1 ? 0 : pieces == group.count ? pieces - 1 : pieces;
    num_orientations = 1;
    for (int i = 0; i < num_digits; ++i) num_orientations *= static_cast<uint64_t>(group.orientations);
}

uint64_t PieceIndex::rank_permutation(const int* state) const {
    int location[PartialPermutations::kMaxLocations];
    int divisor = group.orientations;
    for (size_t i = 0; i < variables_.size(); ++i) location[i] = state[variables_[i]] / divisor;
    return permutations.rank(location);
}

uint64_t PieceIndex::rank_orientation(const int* state) const {
    uint64_t orientation = 0;
    for (int i = 0; i < num_digits; ++i)
        orientation = orientation * static_cast<uint64_t>(group.orientations) +
                      static_cast<uint64_t>(state[variables_[i]] % group.orientations);
    return orientation;
}

uint64_t PieceIndex::rank(const int* state) const {
    return rank_orientation(state) * permutations.size() + rank_permutation(state);
}

void PieceIndex::unrank_parts(uint64_t permutation, uint64_t orientation, int* state) const {
    int location[PartialPermutations::kMaxLocations];
    permutations.unrank(permutation, location);
    uint64_t base = static_cast<uint64_t>(group.orientations);
    int sum = 0;
    for (int i = static_cast<int>(variables_.size()) - 1; i >= 0; --i) {
        int digit = 0;
        if (i < num_digits) {
            digit = static_cast<int>(orientation % base);
            orientation /= base;
        }
        sum += digit;
        state[variables_[i]] = location[i] * group.orientations + digit;
    }
    if (num_digits > 0 && num_digits < static_cast<int>(variables_.size())) {
        int implied = (group.orientations - sum % group.orientations) % group.orientations;
        state[variables_.back()] += implied;
    }
}

void PieceIndex::unrank(uint64_t rank, int* state) const {
    unrank_parts(rank % permutations.size(), rank / permutations.size(), state);
}

}  // namespace hstar
