// Numbering of abstract states: maps the values of some variables of a state to an index into a table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "spaces/permutation_index.hpp"

namespace hstar {

// Variables that are places of pieces of one sort: the value of piece i is location * orientations +
// orientation, no two pieces share a location, and the orientations of all pieces together sum to zero.
struct PieceGroup {
    const char* name;
    int first;  // variable of the first piece
    int count;
    int locations;
    int orientations;
};

class PatternIndex {
  public:
    virtual ~PatternIndex() = default;
    virtual uint64_t size() const = 0;
    // From the values of all variables of a state.
    virtual uint64_t rank(const int* state) const = 0;
    // Writes the variables of the pattern into a state and leaves the others alone.
    virtual void unrank(uint64_t rank, int* state) const = 0;
    const std::vector<int>& variables() const { return variables_; }
    // The values of the pattern's variables; if symmetric states share an index, those of the state that
    // unrank() returns.
    virtual void representative(const int* state, int* values) const {
        for (std::size_t v = 0; v < variables_.size(); ++v) values[v] = state[variables_[v]];
    }
    // Index i stands for multiplicities()[i % size] states.
    virtual std::vector<uint32_t> multiplicities() const { return {1}; }

  protected:
    explicit PatternIndex(std::vector<int> variables) : variables_(std::move(variables)) {}
    std::vector<int> variables_;
};

// index = orientations * permutations.size() + rank of the locations. The orientations are a number with the
// first piece as its most significant digit; if the pattern holds all pieces of the group, the last digit is
// implied and left out.
class PieceIndex : public PatternIndex {
  public:
    PieceIndex(const PieceGroup& group, std::vector<int> variables, IndexOrder order)
        : PatternIndex(std::move(variables)),
          group(group),
          order(order),
          permutations(group.locations, static_cast<int>(variables_.size()), order) {
        int pieces = static_cast<int>(variables_.size());
        num_digits = group.orientations == 1 ? 0 : pieces == group.count ? pieces - 1 : pieces;
        num_orientations = 1;
        for (int i = 0; i < num_digits; ++i) num_orientations *= static_cast<uint64_t>(group.orientations);
    }

    uint64_t size() const override { return permutations.size() * num_orientations; }
    uint64_t rank(const int* state) const override {
        return rank_orientation(state) * permutations.size() + rank_permutation(state);
    }
    void unrank(uint64_t rank, int* state) const override {
        unrank_parts(rank % permutations.size(), rank / permutations.size(), state);
    }

    const PieceGroup group;
    const IndexOrder order;
    const PartialPermutations permutations;
    int num_digits;             // orientations that are stored
    uint64_t num_orientations;  // group.orientations ^ num_digits

    // The same in two parts.
    uint64_t rank_permutation(const int* state) const {
        int location[PartialPermutations::kMaxLocations];
        int divisor = group.orientations;
        for (size_t i = 0; i < variables_.size(); ++i) location[i] = state[variables_[i]] / divisor;
        return permutations.rank(location);
    }
    uint64_t rank_orientation(const int* state) const {
        uint64_t orientation = 0;
        for (int i = 0; i < num_digits; ++i)
            orientation = orientation * static_cast<uint64_t>(group.orientations) +
                          static_cast<uint64_t>(state[variables_[i]] % group.orientations);
        return orientation;
    }
    void unrank_parts(uint64_t permutation, uint64_t orientation, int* state) const {
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
};

}  // namespace hstar
