// The corners of the cube up to the 48 symmetries of space.
//
// Turning or mirroring the whole cube, and renaming its faces accordingly, maps a state to one at the same
// distance from the goal. The 40320 permutations of the corners fall into 984 classes, so 984 x 3^7 entries
// replace 40320 x 3^7. Orientations have no classes of their own: once the permutation is the representative
// of its class, they can be anything.
#pragma once
#include <algorithm>
#include <array>

#include "spaces/cube_geometry.hpp"
#include "spaces/pattern_index.hpp"

namespace hstar {

class CornerSymmetryIndex : public PatternIndex {
  public:
    // `corners` is the group of the cube's corners.
    explicit CornerSymmetryIndex(const PieceGroup& corners)
        : PatternIndex(corners.variables(corners.count)),
          all_(corners, variables_, IndexOrder::MyrvoldRuskey),
          symmetries_(cube::corner_symmetries()) {
        for (const cube::Permutation& symmetry : symmetries_) {
            cube::Permutation inverse;
            for (int i = 0; i < cube::kStickers; ++i) inverse[symmetry[i]] = static_cast<uint8_t>(i);
            const auto found = std::ranges::find(symmetries_, inverse);
            inverse_.push_back(static_cast<uint8_t>(found - symmetries_.begin()));
        }
        constexpr uint16_t kNone = 0xffff;
        uint64_t permutations = all_.permutations.size();
        class_of_.assign(permutations, kNone);
        to_class_.assign(permutations, 0);
        std::vector<int> state(corners.first + corners.count), image(state.size());
        for (uint64_t p = 0; p < permutations; ++p) {
            if (class_of_[p] != kNone) continue;
            auto number = static_cast<uint16_t>(classes_.size());
            classes_.push_back(static_cast<uint32_t>(p));
            class_sizes_.push_back(0);
            all_.unrank_parts(p, 0, state.data());
            for (int s = 0; s < cube::kSymmetries; ++s) {
                transform(s, state.data(), image.data());
                uint64_t q = all_.rank_permutation(image.data());
                if (class_of_[q] != kNone) continue;
                class_of_[q] = number;
                ++class_sizes_.back();
                to_class_[q] = inverse_[s];  // the way back from q to p
            }
        }
    }

    // orientations * classes + class
    uint64_t size() const override { return classes_.size() * all_.num_orientations; }
    uint64_t rank(const int* state) const override {
        std::array<int, cube::kCorners> image;  // the corners are the first variables of a state
        uint64_t p = all_.rank_permutation(state);
        transform(to_class_[p], state, image.data());
        return all_.rank_orientation(image.data()) * classes_.size() + class_of_[p];
    }
    // The representative, so rank(unrank(i)) == i where i is the index of some state.
    void unrank(uint64_t rank, int* state) const override {
        all_.unrank_parts(classes_[rank % classes_.size()], rank / classes_.size(), state);
    }
    void representative(const int* state, int* values) const override {
        transform(to_class_[all_.rank_permutation(state)], state, values);
    }
    std::vector<uint32_t> multiplicities() const override { return class_sizes_; }
    // The indices of all states with a given permutation, by orientation; like rank(), but faster.
    void rank_all(uint64_t permutation, std::vector<uint64_t>& ranks) const {
        // The orientation of each corner of the image depends on one corner, so the orientation part of the
        // index is a sum over corners. Three images, with all corners turned alike, show what each corner
        // adds.
        constexpr int kLast = cube::kCorners - 1;  // its orientation is implied
        const int symmetry = to_class_[permutation];
        std::array<std::array<uint64_t, 3>, cube::kCorners> adds{};
        std::array<int, cube::kCorners> state, image;
        all_.unrank_parts(permutation, 0, state.data());
        for (int turned = 0; turned < 3; ++turned) {
            transform(symmetry, state.data(), image.data());
            uint64_t unit = all_.num_orientations;
            for (int piece = 0; piece < kLast; ++piece) {
                unit /= 3;
                adds[symmetries_[inverse_[symmetry]][piece * 3] / 3][turned] =
                    unit * static_cast<uint64_t>(image[piece] % 3);
            }
            for (int& value : state) ++value;
        }
        ranks.resize(all_.num_orientations);
        std::array<int, kLast> digits{};
        for (uint64_t& rank : ranks) {
            int sum = 0;
            rank = 0;
            for (int piece = 0; piece < kLast; ++piece) {
                rank += adds[piece][digits[piece]];
                sum += digits[piece];
            }
            rank = (rank + adds[kLast][(3 - sum % 3) % 3]) * classes_.size() + class_of_[permutation];
            for (int piece = kLast - 1; piece >= 0 && ++digits[piece] == 3; --piece) digits[piece] = 0;
        }
    }

  private:
    void transform(int symmetry, const int* state, int* image) const {
        // If a state has sticker x at y, its image has sticker sigma(x) at sigma(y).
        const cube::Permutation& sigma = symmetries_[symmetry];
        const cube::Permutation& inverse = symmetries_[inverse_[symmetry]];
        for (int piece = 0; piece < cube::kCorners; ++piece) {
            int sticker = inverse[piece * 3];
            int value = state[variables_[sticker / 3]];
            int place = value / 3 * 3 + (value % 3 + sticker % 3) % 3;
            image[variables_[piece]] = sigma[place];
        }
    }

    PieceIndex all_;
    std::vector<cube::Permutation> symmetries_;
    std::vector<uint8_t> inverse_;    // per symmetry
    std::vector<uint16_t> class_of_;  // per permutation
    std::vector<uint8_t> to_class_;   // per permutation: a symmetry that leads to the representative
    std::vector<uint32_t> classes_;   // the representatives: the first permutation of each class
    std::vector<uint32_t> class_sizes_;
};

}  // namespace hstar
