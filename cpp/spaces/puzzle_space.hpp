// A puzzle as search sees it.
#pragma once
#include <algorithm>
#include <utility>

#include "spaces/puzzle.hpp"
#include "spaces/state_space.hpp"

namespace hstar {

class PuzzleSpace : public StateSpace {
  public:
    PuzzleSpace(const Puzzle& puzzle, std::vector<int> initial_state)
        : StateSpace(puzzle.domain_size, puzzle.move_cost, std::move(initial_state)),
          puzzle_(puzzle),
          values_(puzzle.goal),
          next_(puzzle.goal) {}

    void applicable(const unsigned char* row, std::vector<int>& ops) const override {
        packing_.unpack(row, values_.data());
        ops.clear();
        puzzle_.applicable(values_.data(), ops);
    }
    void apply(const std::vector<int>& ops, const unsigned char* parent, unsigned char* rows,
               size_t stride) const override {
        packing_.unpack(parent, values_.data());
        for (size_t i = 0; i < ops.size(); ++i) {
            puzzle_.apply(ops[i], values_.data(), next_.data());
            packing_.pack(next_.data(), rows + i * stride);
        }
    }
    bool is_goal(const unsigned char* row) const override {
        for (int v = 0; v < num_variables(); ++v)
            if (packing_.get(row, v) != puzzle_.goal[v]) return false;
        return true;
    }

    void successors(const int* values, int last, std::vector<int>& ops,
                    std::vector<int>& states) const override {
        ops.clear();
        puzzle_.applicable(values, ops);
        std::erase_if(ops, [&](int op) { return !puzzle_.may_follow(last, op); });
        states.resize(ops.size() * domain_size_.size());
        int* next = states.data();
        for (int op : ops) puzzle_.apply(op, values, std::exchange(next, next + domain_size_.size()));
    }
    bool is_goal(const int* values) const override {
        return std::equal(puzzle_.goal.begin(), puzzle_.goal.end(), values);
    }

  private:
    const Puzzle& puzzle_;
    mutable std::vector<int> values_, next_;  // a space serves one search at a time
};

}  // namespace hstar
