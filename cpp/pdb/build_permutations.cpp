// Patterns of pieces without orientations: pancakes, TopSpin, tiles.
#include <stdexcept>

#include "pdb/build.hpp"

namespace hstar {

Table build_pieces(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits) {
    return index.group.orientations == 1 ? build_unoriented(puzzle, index, limits)
                                         : build_oriented(puzzle, index, limits);
}

Table build_unoriented(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits) {
    Table table(index.size(), 8);
    int pieces = static_cast<int>(index.variables().size());
    int location[PartialPermutations::kMaxLocations], next[PartialPermutations::kMaxLocations];
    uint8_t* distance = table.bytes();
    distance[index.rank(puzzle.goal.data())] = 0;
    uint64_t found = 1;
    for (uint32_t depth = 0; found > 0; ++depth) {
        if (depth == table.largest()) throw std::length_error("distances exceed a byte");
        found = 0;
        for (uint64_t i = 0; i < index.size(); ++i) {
            if (i % 65536 == 0) limits.check();
            if (distance[i] != depth) continue;
            index.permutations.unrank(i, location);
            for (int move = 0; move < puzzle.num_moves(); ++move) {
                const uint8_t* to = puzzle.table(move, 0);
                for (int j = 0; j < pieces; ++j) next[j] = to[location[j]];
                uint8_t& entry = distance[index.permutations.rank(next)];
                if (entry != 255) continue;
                entry = static_cast<uint8_t>(depth + 1);
                ++found;
            }
        }
    }
    return narrowed(std::move(table));
}

Table build_tiles(const SlidingTiles& puzzle, const PieceIndex& index, bool additive, const Limits& limits) {
    // The search always knows where the blank is: piece 0 of the wide index.
    std::vector<int> pieces = index.variables();
    if (additive) pieces.insert(pieces.begin(), 0);
    PieceIndex wide(index.group, pieces, IndexOrder::MyrvoldRuskey);
    Table distance(wide.size(), 8);
    std::vector<int> state = puzzle.goal;
    std::vector<uint64_t> level{wide.rank(state.data())}, next;
    uint8_t* entries = distance.bytes();
    entries[level[0]] = 0;
    for (uint32_t depth = 0; !level.empty(); ++depth) {
        if (depth == distance.largest()) throw std::length_error("distances exceed a byte");
        next.clear();
        // Free moves lead to more states of the same level, which are appended to it during the loop.
        for (size_t at = 0; at < level.size(); ++at) {
            if (at % 4096 == 0) limits.check();
            if (entries[level[at]] != depth) continue;  // reached for free after it was added here
            wide.unrank(level[at], state.data());
            for (int move = 0; move < 4; ++move) {
                int blank = state[0], to = puzzle.target(blank, move);
                if (to < 0) continue;
                int shifted = 0;
                for (int piece : pieces)
                    if (piece != 0 && state[piece] == to) shifted = piece;
                bool counts = !additive || shifted != 0;
                if (shifted) state[shifted] = blank;
                state[0] = to;
                uint64_t i = wide.rank(state.data());
                state[0] = blank;
                if (shifted) state[shifted] = to;
                uint32_t reached = depth + (counts ? 1 : 0);
                if (entries[i] <= reached) continue;
                entries[i] = static_cast<uint8_t>(reached);
                (counts ? next : level).push_back(i);
            }
        }
        level.swap(next);
    }
    if (!additive) return narrowed(std::move(distance));
    Table smallest(index.size(), 8);
    uint8_t* minima = smallest.bytes();
    for (uint64_t i = 0; i < wide.size(); ++i) {
        if (i % 65536 == 0) limits.check();
        if (entries[i] == 255) continue;
        wide.unrank(i, state.data());
        uint8_t& minimum = minima[index.rank(state.data())];
        minimum = std::min(minimum, entries[i]);
    }
    return narrowed(std::move(smallest));
}

Table narrowed(Table table) {
    uint32_t largest = 0;
    TableView view = table.view();
    for (uint64_t i = 0; i < table.size(); ++i) {
        uint32_t value = view.get(i);
        if (value != kUnreached) largest = std::max(largest, value);
    }
    const int bits = largest < 15 ? 4 : largest < 255 ? 8 : largest < 65535 ? 16 : 32;
    if (bits >= table.bits()) return table;
    Table narrow(table.size(), bits);
    for (uint64_t i = 0; i < table.size(); ++i) narrow.set(i, view.get(i));
    return narrow;
}

}  // namespace hstar
