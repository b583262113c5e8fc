// The 3x3x3 cube as points in space: the positions of its stickers, and how turns and symmetries move them.
//
// A corner sticker is number location * 3 + i, an edge sticker location * 2 + i, with i = 0 for the sticker
// that defines the orientation. The place of a piece is that of its sticker 0. So turns and symmetries are
// permutations of sticker numbers, and there is no hand-written table of twists. The numbering is that of the
// common pattern databases, so that their published statistics can be compared.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hstar::cube {

constexpr int kCorners = 8, kEdges = 12, kStickers = 24, kSymmetries = 48;

// The faces of the stickers of each place, in order.
inline const std::vector<std::string> kCornerNames{"ULF", "UFR", "URB", "UBL", "DFL", "DRF", "DBR", "DLB"};
inline const std::vector<std::string> kEdgeNames{"UL", "LF", "UF", "FR", "UR", "RB",
                                                 "UB", "LB", "LD", "FD", "RD", "BD"};

using Permutation = std::array<uint8_t, kStickers>;  // sticker -> sticker

// A quarter turn of a face, clockwise as seen from outside, of the corners or edges.
Permutation quarter_turn(const std::vector<std::string>& places, char face);

// The rotations and reflections of the whole cube, identity first.
std::vector<Permutation> corner_symmetries();

}  // namespace hstar::cube
