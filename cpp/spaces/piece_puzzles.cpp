// Puzzles whose moves act on each piece independently, and the list of puzzles by name.
#include <cstdio>
#include <numeric>

#include "runtime/require.hpp"
#include "spaces/cube_geometry.hpp"
#include "spaces/puzzle.hpp"

namespace hstar {

namespace {

using Table = std::vector<uint8_t>;

Table table_of(const cube::Permutation& permutation, int size) {
    return {permutation.begin(), permutation.begin() + size};
}

Table after(const Table& first, const Table& second) {
    Table result;
    for (uint8_t value : first) result.push_back(second[value]);
    return result;
}

// Face turns, as move = 3 * face + {clockwise quarter, counter-clockwise quarter, half}.
std::unique_ptr<Puzzle> make_cube(const std::string& name, std::vector<PieceGroup> groups,
                                  const std::string& faces) {
    std::vector<std::string> names;
    std::vector<std::vector<Table>> tables;
    for (char face : faces) {
        cube::Permutation turns[] = {cube::quarter_turn(cube::kCornerNames, face),
                                     cube::quarter_turn(cube::kEdgeNames, face)};
        std::vector<Table> quarter, half, inverse;
        for (size_t g = 0; g < groups.size(); ++g) {
            quarter.push_back(table_of(turns[g], groups[g].locations * groups[g].orientations));
            half.push_back(after(quarter[g], quarter[g]));
            inverse.push_back(after(half[g], quarter[g]));
        }
        tables.insert(tables.end(), {quarter, inverse, half});
        for (const char* suffix : {"", "'", "2"}) names.push_back(std::string(1, face) + suffix);
    }
    return std::make_unique<PiecePuzzle>(name, std::move(groups), std::move(names), std::move(tables));
}

// Pieces without orientations: the moves are permutations of the places.
std::unique_ptr<Puzzle> make_unoriented(const std::string& name, const char* pieces, const char* move,
                                        int first_move, const std::vector<Table>& permutations) {
    std::vector<std::string> names;
    std::vector<std::vector<Table>> tables;
    for (const Table& permutation : permutations) {
        names.push_back(move + std::to_string(first_move + static_cast<int>(names.size())));
        tables.push_back({permutation});
    }
    const int count = static_cast<int>(permutations[0].size());
    return std::make_unique<PiecePuzzle>(name, std::vector<PieceGroup>{{pieces, 0, count, count, 1}},
                                         std::move(names), std::move(tables));
}

// Turns over `count` places from `first` on, on a ring.
Table reversal(int places, int first, int count) {
    Table table(places);
    std::iota(table.begin(), table.end(), uint8_t{0});
    for (int i = 0; i < count; ++i)
        table[(first + i) % places] = static_cast<uint8_t>((first + count - 1 - i) % places);
    return table;
}

}  // namespace

std::unique_ptr<Puzzle> make_puzzle(const std::string& name) {
    if (name == "cube3") return make_cube(name, {{"corners", 0, 8, 8, 3}, {"edges", 8, 12, 12, 2}}, "UDFBLR");
    // The corner DBL stays where it is, so the other seven move by turns of the three faces it is not on.
    if (name == "cube2") return make_cube(name, {{"corners", 0, 7, 7, 3}}, "UFR");
    const std::string kind = name.substr(0, name.find('-'));
    int a = 0, b = 0;
    std::sscanf(name.c_str() + kind.size(), "-%d%*[x-]%d", &a, &b);
    const std::string first = kind + "-" + std::to_string(a), second = std::to_string(b);
    auto expect = [&](bool holds, const char* what) {
        if (!holds) refuse("'", name, "' is not a puzzle; ", what);
    };
    if (kind == "tiles") {
        expect(name == first + "x" + second && a >= 2 && b >= 2 && a <= 6 && b <= 6,
               "write tiles-3x3 with rows and columns from 2 to 6");
        return std::make_unique<SlidingTiles>(a, b);
    }
    std::vector<Table> moves;
    if (kind == "pancake") {
        expect(name == first && a >= 2 && a <= 36, "write pancake-10 with 2 to 36 pancakes");
        for (int flipped = 2; flipped <= a; ++flipped) moves.push_back(reversal(a, 0, flipped));
        return make_unoriented(name, "pancakes", "flip", 2, moves);
    }
    if (kind == "topspin") {
        expect(
            name == first + "-" + second && a <= 36 && b >= 2 && b <= a - 2,
            "write topspin-12-4 with at most 36 tokens and a turnstile of at least 2, two less than tokens");
        expect(b % 2 == 0 || a % 2 == 1,
               "an odd turnstile on an even ring never moves a token to a place of other parity");
        for (int turned = 0; turned < a; ++turned) moves.push_back(reversal(a, turned, b));
        return make_unoriented(name, "tokens", "turn", 0, moves);
    }
    refuse("unknown puzzle '", name, "'; choose cube3, cube2, tiles-RxC, pancake-N or topspin-N-K");
}

}  // namespace hstar
