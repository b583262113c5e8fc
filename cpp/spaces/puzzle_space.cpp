#include "spaces/puzzle_space.hpp"

#include <algorithm>

namespace hstar {

PuzzleSpace::PuzzleSpace(const Puzzle& puzzle, std::vector<int> initial_state)
    : StateSpace(puzzle.domain_size, puzzle.move_cost, std::move(initial_state)),
      puzzle_(puzzle),
      values_(puzzle.num_variables()),
      next_(puzzle.num_variables()) {}

void PuzzleSpace::applicable(const unsigned char* row, std::vector<int>& ops) const {
    packing_.unpack(row, values_.data());
    ops.clear();
    puzzle_.applicable(values_.data(), ops);
}

void PuzzleSpace::apply(const std::vector<int>& ops, const unsigned char* parent, unsigned char* rows,
                        size_t stride) const {
    packing_.unpack(parent, values_.data());
    for (size_t i = 0; i < ops.size(); ++i) {
        puzzle_.apply(ops[i], values_.data(), next_.data());
        packing_.pack(next_.data(), rows + i * stride);
    }
}

bool PuzzleSpace::is_goal(const unsigned char* row) const {
    for (int v = 0; v < num_variables(); ++v)
        if (packing_.get(row, v) != puzzle_.goal[v]) return false;
    return true;
}

void PuzzleSpace::successors(const int* values, int last, std::vector<int>& ops,
                             std::vector<int>& states) const {
    ops.clear();
    puzzle_.applicable(values, ops);
    std::erase_if(ops, [&](int op) { return !puzzle_.may_follow(last, op); });
    size_t variables = domain_size_.size();
    states.resize(ops.size() * variables);
    for (size_t i = 0; i < ops.size(); ++i) puzzle_.apply(ops[i], values, states.data() + i * variables);
}

bool PuzzleSpace::is_goal(const int* values) const {
    return std::equal(puzzle_.goal.begin(), puzzle_.goal.end(), values);
}

}  // namespace hstar
