// The corners of the cube up to the 48 symmetries of space.
//
// Turning or mirroring the whole cube, and renaming its faces accordingly, maps a state to one at the same
// distance from the goal. The 40320 permutations of the corners fall into 984 classes, so 984 x 3^7 entries
// replace 40320 x 3^7. Orientations have no classes of their own: once the permutation is the representative
// of its class, they can be anything.
#pragma once
#include "spaces/cube_geometry.hpp"
#include "spaces/pattern_index.hpp"

namespace hstar {

class CornerSymmetryIndex : public PatternIndex {
  public:
    // `corners` is the group of the cube's corners.
    explicit CornerSymmetryIndex(const PieceGroup& corners);

    // orientations * classes + class
    uint64_t size() const override { return classes_.size() * all_.num_orientations; }
    uint64_t rank(const int* state) const override;
    // The representative, so rank(unrank(i)) == i where i is the index of some state.
    void unrank(uint64_t rank, int* state) const override;
    void representative(const int* state, int* values) const override;
    std::vector<uint32_t> multiplicities() const override { return class_sizes_; }
    // The indices of all states with a given permutation, by orientation; like rank(), but faster.
    void rank_all(uint64_t permutation, std::vector<uint64_t>& ranks) const;

  private:
    void transform(int symmetry, const int* state, int* image) const;

    PieceIndex all_;
    std::vector<cube::Permutation> symmetries_, inverses_;
    std::vector<uint16_t> class_of_;  // per permutation
    std::vector<uint8_t> to_class_;   // per permutation: a symmetry that leads to the representative
    std::vector<uint32_t> classes_;   // the representatives: the first permutation of each class
    std::vector<uint32_t> class_sizes_;
};

}  // namespace hstar
