// Patterns of pieces with two or three orientations each: edges and corners.
#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "pdb/build.hpp"
#include "pdb/piece_moves.hpp"

namespace hstar {

namespace {

// Bit i of the result is bit i ^ x of the word; x < 64.
inline uint64_t exclusive_or_bits(uint64_t word, uint32_t x) {
    auto stage = [&](uint32_t bit, uint64_t mask) {
        uint64_t swapped = (word & mask) << bit | (word >> bit & mask);
        word = x & bit ? swapped : word;
    };
    stage(1, 0x5555555555555555ull);
    stage(2, 0x3333333333333333ull);
    stage(4, 0x0f0f0f0f0f0f0f0full);
    stage(8, 0x00ff00ff00ff00ffull);
    stage(16, 0x0000ffff0000ffffull);
    stage(32, 0x00000000ffffffffull);
    return word;
}

// Patterns of edges: k pieces with two orientations each.
//
// All states that share the locations of the pieces are one line of 2^k bits. A move maps a line to another
// line, with its bits permuted by an exclusive or on their numbers. So breadth-first search on lines handles
// up to 64 states with a few instructions, and the frontier takes one bit per state.
template <int Words>
class LineSearch {
    using Line = std::array<uint64_t, Words>;

  public:
    LineSearch(const PieceMoves& moves, Table& table, const Limits& limits)
        : moves_(moves), table_(table), limits_(limits), lines_(moves.num_permutations()) {
        full_.fill(0);
        for (uint32_t o = 0; o < moves.num_orientations(); ++o) full_[o / 64] |= uint64_t{1} << (o % 64);
        seen_.assign(lines_, Line{});
        frontier_.assign(lines_, Line{});
        next_.assign(lines_, Line{});
    }

    void run(uint32_t goal_line, uint32_t goal_orientation) {
        frontier_[goal_line][goal_orientation / 64] |= uint64_t{1} << (goal_orientation % 64);
        seen_[goal_line] = frontier_[goal_line];
        record(goal_line, frontier_[goal_line], 0);
        for (uint32_t depth = 1;; ++depth) {
            uint32_t sources = 0, targets = 0;
            for (uint32_t p = 0; p < lines_; ++p) {
                sources += frontier_[p] != Line{};
                targets += seen_[p] != full_;
            }
            if (sources == 0 || targets == 0) return;
            if (depth > table_.largest()) throw std::length_error("distances exceed the table");
            // Push the frontier forward while it is small; later, let the open lines search for it.
            if (sources < targets)
                push();
            else
                pull();
            for (uint32_t p = 0; p < lines_; ++p) {
                if (p % 4096 == 0) limits_.check();
                Line fresh = next_[p];
                for (int w = 0; w < Words; ++w) {
                    fresh[w] &= ~seen_[p][w];
                    seen_[p][w] |= fresh[w];
                }
                next_[p] = Line{};
                frontier_[p] = fresh;
                record(p, fresh, depth);
            }
        }
    }

  private:
    static void merge(Line& into, const Line& from, uint32_t x) {
        for (uint32_t w = 0; w < Words; ++w) into[w] |= exclusive_or_bits(from[w ^ (x >> 6)], x & 63);
    }

    void push() {
        for (uint32_t p = 0; p < lines_; ++p) {
            if (p % 4096 == 0) limits_.check();
            if (frontier_[p] == Line{}) continue;
            const uint32_t* row = moves_.row(p);
            for (int move = 0; move < moves_.num_moves(); ++move)
                merge(next_[moves_.permutation(row[move])], frontier_[p], moves_.vector(row[move]));
        }
    }

    // Every move has an inverse, so the lines that moves lead to are also those that moves come from.
    void pull() {
        for (uint32_t p = 0; p < lines_; ++p) {
            if (p % 4096 == 0) limits_.check();
            if (seen_[p] == full_) continue;
            const uint32_t* row = moves_.row(p);
            if (p + 4 < lines_) prefetch(moves_.row(p + 4));
            Line found = seen_[p];
            for (int move = 0; move < moves_.num_moves(); ++move)
                merge(found, frontier_[moves_.permutation(row[move])], moves_.vector(row[move]));
            next_[p] = found;
        }
    }

    void prefetch(const uint32_t* row) const {
        for (int move = 0; move < moves_.num_moves(); ++move)
            __builtin_prefetch(&frontier_[moves_.permutation(row[move])]);
    }

    void record(uint32_t p, const Line& line, uint32_t depth) {
        for (uint32_t w = 0; w < Words; ++w)
            for (uint64_t bits = line[w]; bits; bits &= bits - 1) {
                uint64_t orientation = 64 * w + static_cast<uint32_t>(std::countr_zero(bits));
                table_.set(orientation * lines_ + p, depth);
            }
    }

    const PieceMoves& moves_;
    Table& table_;
    const Limits& limits_;
    uint32_t lines_;
    Line full_;
    AlignedVector<Line> seen_, frontier_, next_;
};

constexpr uint8_t kUnset = 255;

// Patterns of corners: k pieces with three orientations each.
//
// The working table has one line of orientations per permutation: a move maps all states of a line to one
// other line, and adding a vector of twists is one look-up. The final table is transposed: orientations
// first.
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

Table build_oriented(const PiecePuzzle& puzzle, const PieceIndex& index, const Limits& limits) {
    PieceMoves moves(puzzle, index, limits);
    Table table(index.size(), 4);  // every pattern of edges or corners is within 14 moves of its goal
    const auto goal_permutation = static_cast<uint32_t>(index.rank_permutation(puzzle.goal.data()));
    const auto goal_orientation = static_cast<uint32_t>(index.rank_orientation(puzzle.goal.data()));
    const uint32_t permutations = moves.num_permutations(), orientations = moves.num_orientations();
    if (index.group.orientations == 2) {
        if (orientations > 128) throw std::length_error("patterns of more than seven edges are too large");
        if (orientations > 64)
            LineSearch<2>(moves, table, limits).run(goal_permutation, goal_orientation);
        else
            LineSearch<1>(moves, table, limits).run(goal_permutation, goal_orientation);
        return table;
    }
    TwistSearch search(moves, limits);
    search.run(goal_permutation, goal_orientation);
    // Transpose in blocks, so that both sides stay in the cache.
    constexpr uint32_t kBlock = 64;
    for (uint32_t p0 = 0; p0 < permutations; p0 += kBlock)
        for (uint32_t o = 0; o < orientations; ++o)
            for (uint32_t p = p0; p < std::min(p0 + kBlock, permutations); ++p)
                table.set(static_cast<uint64_t>(o) * permutations + p, search.line(p)[o]);
    return table;
}

}  // namespace hstar
