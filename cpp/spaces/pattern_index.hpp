// Numbering of abstract states: maps the values of some variables of a state to an index into a table.
#pragma once
#include <cstddef>
#include <cstdint>
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
    PieceIndex(const PieceGroup& group, std::vector<int> variables, IndexOrder order);

    uint64_t size() const override { return permutations.size() * num_orientations; }
    uint64_t rank(const int* state) const override;
    void unrank(uint64_t rank, int* state) const override;

    const PieceGroup group;
    const IndexOrder order;
    const PartialPermutations permutations;
    int num_digits;             // orientations that are stored
    uint64_t num_orientations;  // group.orientations ^ num_digits

    // The same in two parts.
    uint64_t rank_permutation(const int* state) const;
    uint64_t rank_orientation(const int* state) const;
    void unrank_parts(uint64_t permutation, uint64_t orientation, int* state) const;
};

}  // namespace hstar
