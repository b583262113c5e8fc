// Patterns of corners: k pieces with three orientations each.
//
// The working table has one line of orientations per permutation: a move maps all states of a line to one
// other line, and adding a vector of twists is one look-up. The final table is transposed: orientations
// first.
#include <algorithm>
#include <stdexcept>

#include "pdb/build.hpp"
#include "pdb/piece_moves.hpp"

namespace hstar {

namespace {

constexpr uint8_t kUnset = 255;

class TwistSearch {
  public:
    TwistSearch(const PieceMoves& moves, const Limits& limits)
        : moves_(moves),
          limits_(limits),
          width_(moves.num_orientations()),
          distance_(static_cast<size_t>(moves.num_permutations()) * width_, kUnset) {}

    void run(uint32_t goal_permutation, uint32_t goal_orientation) {
        line(goal_permutation)[goal_orientation] = 0;
        uint64_t open = distance_.size() - 1, frontier = 1;
        for (uint8_t depth = 0; frontier > 0; ++depth) {
            if (depth == kUnset - 1) throw std::length_error("distances exceed a byte");
            // Near the end few states are left, so let them search for the frontier.
            if (frontier < open)
                push(depth);
            else
                pull(depth);
            frontier = static_cast<uint64_t>(
                std::count(distance_.begin(), distance_.end(), static_cast<uint8_t>(depth + 1)));
            open -= frontier;
        }
    }

    uint8_t* line(uint32_t p) { return distance_.data() + static_cast<size_t>(p) * width_; }

  private:
    void push(uint8_t depth) {
        std::vector<uint16_t> found(width_);
        for (uint32_t p = 0; p < moves_.num_permutations(); ++p) {
            if (p % 256 == 0) limits_.check();
            size_t count = collect(line(p), depth, found);
            if (count == 0) continue;
            const uint32_t* row = moves_.row(p);
            for (int move = 0; move < moves_.num_moves(); ++move) {
                uint8_t* target = line(moves_.permutation(row[move]));
                const uint16_t* sums = moves_.sums(moves_.vector(row[move]));
                uint8_t next = static_cast<uint8_t>(depth + 1);
                for (size_t i = 0; i < count; ++i) {
                    uint8_t& entry = target[sums[found[i]]];
                    entry = std::min(entry, next);
                }
            }
        }
    }

    void pull(uint8_t depth) {
        std::vector<uint16_t> open(width_);
        for (uint32_t p = 0; p < moves_.num_permutations(); ++p) {
            if (p % 256 == 0) limits_.check();
            uint8_t* entries = line(p);
            size_t count = collect(entries, kUnset, open);
            const uint32_t* row = moves_.row(p);
            for (int move = 0; move < moves_.num_moves() && count > 0; ++move) {
                const uint8_t* source = line(moves_.permutation(row[move]));
                const uint16_t* sums = moves_.sums(moves_.vector(row[move]));
                size_t kept = 0;
                for (size_t i = 0; i < count; ++i) {
                    uint16_t o = open[i];
                    bool found = source[sums[o]] == depth;
                    if (found) entries[o] = static_cast<uint8_t>(depth + 1);
                    open[kept] = o;
                    kept += !found;
                }
                count = kept;
            }
        }
    }

    // The orientations of a line at a given distance.
    size_t collect(const uint8_t* entries, uint8_t distance, std::vector<uint16_t>& found) const {
        size_t count = 0;
        for (uint32_t o = 0; o < width_; ++o) {
            found[count] = static_cast<uint16_t>(o);
            count += entries[o] == distance;
        }
        return count;
    }

    const PieceMoves& moves_;
    const Limits& limits_;
    uint32_t width_;
    AlignedVector<uint8_t> distance_;
};

}  // namespace

Table build_twists(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits) {
    PieceMoves moves(puzzle, index, limits);
    TwistSearch search(moves, limits);
    search.run(static_cast<uint32_t>(index.rank_permutation(puzzle.goal.data())),
               static_cast<uint32_t>(index.rank_orientation(puzzle.goal.data())));
    // Transpose in blocks, so that both sides stay in the cache.
    constexpr uint32_t kBlock = 64;
    Table table(index.size(), 4);  // every pattern of corners is within 14 moves of its goal
    uint32_t permutations = moves.num_permutations(), orientations = moves.num_orientations();
    for (uint32_t p0 = 0; p0 < permutations; p0 += kBlock)
        for (uint32_t o = 0; o < orientations; ++o)
            for (uint32_t p = p0; p < std::min(p0 + kBlock, permutations); ++p)
                table.set(static_cast<uint64_t>(o) * permutations + p, search.line(p)[o]);
    return table;
}

}  // namespace hstar
