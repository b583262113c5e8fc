// Puzzles: states are the places of pieces, moves permute them. All moves cost 1 and can be undone.
//
// A state has one int per variable, as in a planning task: variable i says where piece i is (location *
// orientations + orientation). So a move acts on each piece independently, and a pattern is a set of
// variables.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "spaces/pattern_index.hpp"

namespace hstar {

class Puzzle {
  public:
    virtual ~Puzzle() = default;

    std::string name;  // "cube3", "tiles-4x4", ...
    std::vector<int> domain_size;
    std::vector<int> goal;
    std::vector<std::string> move_names;
    std::vector<int> inverse;    // per move
    std::vector<int> move_cost;  // per move: 1
    std::vector<PieceGroup> groups;

    int num_variables() const { return static_cast<int>(goal.size()); }
    // The group of a variable.
    const PieceGroup& group_of(int variable) const {
        size_t g = 0;
        while (variable >= groups[g].first + groups[g].count) ++g;
        return groups[g];
    }
    int num_moves() const { return static_cast<int>(move_names.size()); }

    // Appends the moves that can be made, ascending.
    virtual void applicable(const int* state, std::vector<int>& moves) const = 0;
    virtual void apply(int move, const int* state, int* next) const = 0;
    // Whether the goal can be reached from a state whose pieces are in proper places.
    virtual bool is_solvable(const int* state) const = 0;

    // False if `next` after `last` is redundant: another sequence of at most two moves, which is not left
    // out itself, leads to the same state. `last` may be -1.
    bool may_follow(int last, int next) const {
        return last < 0 || may_follow_[static_cast<size_t>(last) * move_names.size() + next];
    }
    // Throws std::invalid_argument that explains what is wrong if this is not a state of the puzzle. Its
    // values must be below the domain sizes.
    void check_state(const int* state) const;

    // A numbering of all states, or null if there are too many. It may contain unreachable states.
    const PatternIndex* index() const { return index_.get(); }
    std::vector<int> unrank(uint64_t rank) const;

    // Random moves without redundant pairs. The same on every machine.
    std::vector<int> random_moves(int count, uint64_t seed) const;

  protected:
    // By so many pieces of the first group, unless there are too many states.
    void number_states(int pieces);
    std::vector<char> may_follow_;
    std::unique_ptr<PatternIndex> index_;
};

// A puzzle whose moves are always possible and act on each piece independently: value -> value.
class PiecePuzzle : public Puzzle {
  public:
    PiecePuzzle(std::string name, std::vector<PieceGroup> groups, std::vector<std::string> move_names,
                std::vector<std::vector<std::vector<uint8_t>>> tables);  // [move][group][value]

    void applicable(const int* state, std::vector<int>& moves) const override;
    void apply(int move, const int* state, int* next) const override;
    bool is_solvable(const int* state) const override;
    const uint8_t* table(int move, int group) const { return tables_[move][group].data(); }

  private:
    void find_pruning();

    std::vector<std::vector<std::vector<uint8_t>>> tables_;
    bool is_even_;  // every move is an even permutation of the pieces of all groups together
};

// Tiles on a board; piece 0 is the blank, and a move shifts it up, down, left or right.
class SlidingTiles : public Puzzle {
  public:
    SlidingTiles(int rows, int columns);
    void applicable(const int* state, std::vector<int>& moves) const override;
    void apply(int move, const int* state, int* next) const override;
    bool is_solvable(const int* state) const override;
    // Where the blank goes; -1: off the board.
    int target(int blank, int move) const { return targets_[static_cast<size_t>(blank) * 4 + move]; }

  private:
    int columns_;
    std::vector<int> targets_;
};

// "cube3", "cube2", "tiles-RxC", "pancake-N", "topspin-N-K". Throws std::invalid_argument.
std::unique_ptr<Puzzle> make_puzzle(const std::string& name);

}  // namespace hstar
