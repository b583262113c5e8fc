// Puzzles whose moves act on each piece independently, and the list of puzzles by name.
#include <charconv>

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
    for (char letter : faces) {
        int face = static_cast<int>(std::string(cube::kFaces).find(letter));
        cube::Permutation turns[] = {cube::turn_corners(face), cube::turn_edges(face)};
        std::vector<Table> quarter, half, inverse;
        for (size_t g = 0; g < groups.size(); ++g) {
            quarter.push_back(table_of(turns[g], groups[g].locations * groups[g].orientations));
            half.push_back(after(quarter[g], quarter[g]));
            inverse.push_back(after(half[g], quarter[g]));
        }
        tables.insert(tables.end(), {quarter, inverse, half});
        for (const char* suffix : {"", "'", "2"}) names.push_back(std::string(1, letter) + suffix);
    }
    return std::make_unique<PiecePuzzle>(name, std::move(groups), std::move(names), std::move(tables));
}

int parse_number(const std::string& text, size_t& position) {
    int value = -1;
    auto [end, error] = std::from_chars(text.data() + position, text.data() + text.size(), value);
    if (error != std::errc()) return -1;
    position = static_cast<size_t>(end - text.data());
    return value;
}

}  // namespace

std::unique_ptr<Puzzle> make_cube3() {
    return make_cube("cube3", {{"corners", 0, 8, 8, 3}, {"edges", 8, 12, 12, 2}}, "UDFBLR");
}

// The corner DBL stays where it is, so the other seven move by turns of the three faces it is not on.
std::unique_ptr<Puzzle> make_cube2() {
    return make_cube("cube2", {{"corners", 0, 7, 7, 3}}, "UFR");
}

std::unique_ptr<Puzzle> make_pancake(int pancakes) {
    std::vector<std::string> names;
    std::vector<std::vector<Table>> tables;
    for (int flipped = 2; flipped <= pancakes; ++flipped) {
        Table table;
        for (int place = 0; place < pancakes; ++place)
            table.push_back(static_cast<uint8_t>(place < flipped ? flipped - 1 - place : place));
        tables.push_back({table});
        names.push_back("flip" + std::to_string(flipped));
    }
    return std::make_unique<PiecePuzzle>("pancake-" + std::to_string(pancakes),
                                         std::vector<PieceGroup>{{"pancakes", 0, pancakes, pancakes, 1}},
                                         std::move(names), std::move(tables));
}

std::unique_ptr<Puzzle> make_topspin(int tokens, int turnstile) {
    std::vector<std::string> names;
    std::vector<std::vector<Table>> tables;
    for (int first = 0; first < tokens; ++first) {
        Table table(tokens);
        for (int place = 0; place < tokens; ++place) table[place] = static_cast<uint8_t>(place);
        for (int i = 0; i < turnstile; ++i)
            table[(first + i) % tokens] = static_cast<uint8_t>((first + turnstile - 1 - i) % tokens);
        tables.push_back({table});
        names.push_back("turn" + std::to_string(first));
    }
    return std::make_unique<PiecePuzzle>(
        "topspin-" + std::to_string(tokens) + "-" + std::to_string(turnstile),
        std::vector<PieceGroup>{{"tokens", 0, tokens, tokens, 1}}, std::move(names), std::move(tables));
}

std::unique_ptr<Puzzle> make_puzzle(const std::string& name) {
    if (name == "cube3") return make_cube3();
    if (name == "cube2") return make_cube2();
    size_t position = name.find('-');
    std::string kind = name.substr(0, position);
    std::vector<int> numbers;
    while (position < name.size()) {
        ++position;  // the separator
        numbers.push_back(parse_number(name, position));
    }
    auto expect = [&](size_t count, bool holds, const char* what) {
        if (numbers.size() != count || !holds) refuse("'", name, "' is not a puzzle; ", what);
    };
    int a = numbers.empty() ? 0 : numbers[0], b = numbers.size() < 2 ? 0 : numbers[1];
    if (kind == "tiles") {
        expect(2, a >= 2 && b >= 2 && a <= 6 && b <= 6, "write tiles-3x3 with rows and columns from 2 to 6");
        if (name != "tiles-" + std::to_string(a) + "x" + std::to_string(b))
            expect(0, false, "write tiles-3x3");
        return std::make_unique<SlidingTiles>(a, b);
    }
    if (kind == "pancake") {
        expect(1, a >= 2 && a <= 36, "write pancake-10 with 2 to 36 pancakes");
        return make_pancake(a);
    }
    if (kind == "topspin") {
        expect(
            2, a <= 36 && b >= 2 && b <= a - 2,
            "write topspin-12-4 with at most 36 tokens and a turnstile of at least 2, two less than tokens");
        expect(2, b % 2 == 0 || a % 2 == 1,
               "an odd turnstile on an even ring never moves a token to a place of other parity");
        return make_topspin(a, b);
    }
    refuse("unknown puzzle '", name, "'; choose cube3, cube2, tiles-RxC, pancake-N or topspin-N-K");
}

}  // namespace hstar
