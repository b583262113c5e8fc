// A puzzle as search sees it.
#pragma once
#include "spaces/puzzle.hpp"
#include "spaces/state_space.hpp"

namespace hstar {

class PuzzleSpace : public StateSpace {
  public:
    PuzzleSpace(const Puzzle& puzzle, std::vector<int> initial_state);

    void applicable(const unsigned char* row, std::vector<int>& ops) const override;
    void apply(const std::vector<int>& ops, const unsigned char* parent, unsigned char* rows,
               size_t stride) const override;
    bool is_goal(const unsigned char* row) const override;
    void successors(const int* values, int last, std::vector<int>& ops,
                    std::vector<int>& states) const override;
    bool is_goal(const int* values) const override;

  private:
    const Puzzle& puzzle_;
    mutable std::vector<int> values_, next_;  // a space serves one search at a time
};

}  // namespace hstar
