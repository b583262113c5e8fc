#include "spaces/puzzle.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "runtime/random.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

// Whether the pieces of a group are an odd permutation of the locations.
bool is_odd(const PieceGroup& group, const int* state) {
    uint64_t seen = 0;
    bool odd = false;
    for (int i = 0; i < group.count; ++i) {
        int length = 0;
        for (int j = i; !(seen >> j & 1); j = state[group.first + j] / group.orientations, ++length)
            seen |= uint64_t{1} << j;
        odd ^= length > 0 && length % 2 == 0;
    }
    return odd;
}

}  // namespace

void Puzzle::check_state(const int* state) const {
    for (const PieceGroup& group : groups) {
        uint64_t seen = 0;
        int sum = 0;
        for (int i = 0; i < group.count; ++i) {
            int value = state[group.first + i];
            uint64_t bit = uint64_t{1} << value / group.orientations;
            if (seen & bit) refuse("two ", group.name, " are in place ", value / group.orientations);
            seen |= bit;
            sum += value % group.orientations;
        }
        if (sum % group.orientations) refuse("a single one of the ", group.name, " is turned");
    }
    if (!is_solvable(state)) refuse("two pieces are swapped: no moves lead from there to the goal");
}

void Puzzle::number_states(int pieces) {
    try {
        index_ =
            std::make_unique<PieceIndex>(groups[0], groups[0].variables(pieces), IndexOrder::MyrvoldRuskey);
    } catch (const std::length_error&) {
    }
}

std::vector<int> Puzzle::unrank(uint64_t rank) const {
    std::vector<int> state = goal;
    index_->unrank(rank, state.data());
    if (index_->variables().size() == goal.size()) return state;
    // The last two pieces are implied: they take the free places, in the order that can be solved.
    uint64_t used = 0;
    for (int variable : index_->variables()) used |= uint64_t{1} << state[variable];
    int* last = state.data() + state.size() - 2;
    int place = 0;
    for (int i = 0; i < 2; ++i, ++place) {
        while (used >> place & 1) ++place;
        last[i] = place;
    }
    if (!is_solvable(state.data())) std::swap(last[0], last[1]);
    return state;
}

std::vector<int> Puzzle::random_moves(int count, uint64_t seed) const {
    Random random(seed);
    std::vector<int> moves, choices, state = goal, next = goal;
    for (int i = 0; i < count; ++i) {
        choices.clear();
        applicable(state.data(), choices);
        int last = moves.empty() ? -1 : moves.back();
        std::erase_if(choices, [&](int move) { return !may_follow(last, move); });
        if (choices.empty()) break;
        moves.push_back(choices[random.bits() % choices.size()]);
        apply(moves.back(), state.data(), next.data());
        state.swap(next);
    }
    return moves;
}

PiecePuzzle::PiecePuzzle(std::string puzzle_name, std::vector<PieceGroup> piece_groups,
                         std::vector<std::string> names,
                         std::vector<std::vector<std::vector<uint8_t>>> tables)
    : tables_(std::move(tables)) {
    name = std::move(puzzle_name);
    groups = std::move(piece_groups);
    move_names = std::move(names);
    for (size_t g = 0; g < groups.size(); ++g)
        for (int i = 0; i < groups[g].count; ++i) {
            domain_size.push_back(groups[g].locations * groups[g].orientations);
            goal.push_back(i * groups[g].orientations);
        }
    move_cost.assign(move_names.size(), 1);
    std::vector<int> state(goal.size());
    is_even_ = true;
    for (int move = 0; move < num_moves(); ++move) {
        apply(move, goal.data(), state.data());
        is_even_ &= !is_odd(groups[0], state.data());
    }
    find_pruning();
    if (groups.size() == 1) {
        // An even permutation is determined by all but two of its places.
        int pieces = groups[0].count - (is_even_ ? 2 : 0);
        number_states(pieces);
    }
}

void PiecePuzzle::find_pruning() {
    // Two moves in a row are left out if a shorter sequence, or one earlier in the order of moves, leads to
    // the same state. The first shortest sequence to each state survives, because every part of it is itself
    // a first shortest sequence.
    std::set<std::vector<int>> reached{goal};
    std::vector<int> once(goal.size()), twice(goal.size());
    int moves = num_moves();
    for (int a = 0; a < moves; ++a) {
        apply(a, goal.data(), once.data());
        reached.insert(once);
    }
    may_follow_.assign(static_cast<size_t>(moves) * moves, 0);
    inverse.assign(moves, 0);
    for (int a = 0; a < moves; ++a)
        for (int b = 0; b < moves; ++b) {
            apply(a, goal.data(), once.data());
            apply(b, once.data(), twice.data());
            may_follow_[static_cast<size_t>(a) * moves + b] = reached.insert(twice).second;
            if (twice == goal) inverse[a] = b;
        }
}

void PiecePuzzle::applicable(const int*, std::vector<int>& moves) const {
    for (int move = 0; move < num_moves(); ++move) moves.push_back(move);
}

void PiecePuzzle::apply(int move, const int* state, int* next) const {
    for (size_t g = 0; g < groups.size(); ++g) {
        const uint8_t* to = table(move, static_cast<int>(g));
        int last = groups[g].first + groups[g].count;
        for (int v = groups[g].first; v < last; ++v) next[v] = to[state[v]];
    }
}

bool PiecePuzzle::is_solvable(const int* state) const {
    // Every move has the same parity in all groups.
    bool odd = is_odd(groups[0], state);
    for (const PieceGroup& group : groups)
        if (is_odd(group, state) != odd) return false;
    return !(is_even_ && odd);
}

SlidingTiles::SlidingTiles(int rows, int columns) : columns_(columns) {
    name = "tiles-" + std::to_string(rows) + "x" + std::to_string(columns);
    int places = rows * columns;
    groups = {{"tiles", 0, places, places, 1}};
    domain_size.assign(places, places);
    goal = groups[0].variables(places);
    move_names = {"up", "down", "left", "right"};
    inverse = {1, 0, 3, 2};
    move_cost.assign(4, 1);
    may_follow_.assign(16, 1);
    for (int move = 0; move < 4; ++move) may_follow_[move * 4 + inverse[move]] = 0;
    for (int place = 0; place < places; ++place) {
        int row = place / columns, column = place % columns;
        targets_.push_back(row > 0 ? place - columns : -1);
        targets_.push_back(row < rows - 1 ? place + columns : -1);
        targets_.push_back(column > 0 ? place - 1 : -1);
        targets_.push_back(column < columns - 1 ? place + 1 : -1);
    }
    number_states(places - 2);
}

void SlidingTiles::applicable(const int* state, std::vector<int>& moves) const {
    for (int move = 0; move < 4; ++move)
        if (target(state[0], move) >= 0) moves.push_back(move);
}

void SlidingTiles::apply(int move, const int* state, int* next) const {
    int blank = state[0], to = target(blank, move);
    for (int i = 1; i < num_variables(); ++i) next[i] = state[i] == to ? blank : state[i];
    next[0] = to;
}

bool SlidingTiles::is_solvable(const int* state) const {
    // Each move swaps two pieces and takes the blank to the other colour of the chessboard.
    bool other_colour = (state[0] / columns_ + state[0] % columns_) % 2;
    return is_odd(groups[0], state) == other_colour;
}

}  // namespace hstar
