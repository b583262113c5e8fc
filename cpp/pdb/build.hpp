// Building pattern databases: breadth-first search from the goal over all abstract states.
#pragma once
#include "pdb/table.hpp"
#include "runtime/limits.hpp"
#include "spaces/puzzle.hpp"

namespace hstar {

// The distance of every index to the goal. Entries are as narrow as the values allow, at least 4 bits.
Table build_pieces(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits);

// Tiles. The pattern holds the blank (variable 0) unless `additive`; then only moves of pattern tiles count,
// so that the values of disjoint patterns can be added, and an entry is the minimum over all places of the
// blank.
Table build_tiles(const SlidingTiles& puzzle, const PieceIndex& index, bool additive, const Limits& limits);

// The engines behind build_pieces: for one orientation, and for more. `index` is in Myrvold-Ruskey order.
Table build_unoriented(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits);
Table build_oriented(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits);

// A table with the same entries of 4, 8, 16 or 32 bits, whatever is enough.
Table narrowed(Table table);

}  // namespace hstar
