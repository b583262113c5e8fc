// A planning task as search sees it.
#pragma once
#include "spaces/state_space.hpp"
#include "task/successors.hpp"
#include "task/task.hpp"

namespace hstar {

class TaskSpace : public StateSpace {
  public:
    // Searched from `initial_state`.
    TaskSpace(const Task& task, const SuccessorGenerator& generator, std::vector<int> initial_state);

    void applicable(const unsigned char* row, std::vector<int>& ops) const override;
    void apply(const std::vector<int>& ops, const unsigned char* parent, unsigned char* rows,
               size_t stride) const override;
    bool is_goal(const unsigned char* row) const override;
    void successors(const int* values, int last, std::vector<int>& ops,
                    std::vector<int>& states) const override;
    bool is_goal(const int* values) const override { return task_.is_goal(values); }

  private:
    // Two operators commute if neither changes what the other reads or writes: both orders are possible and
    // lead to the same state. Take the shortest of the cheapest plans, and of those the first in operator
    // order: it has no commuting pair in descending order, so searches without a registry need not try one.
    bool commute(int a, int b) const;
    void apply_one(int op, const unsigned char* parent, unsigned char* row) const;

    const Task& task_;
    const SuccessorGenerator& generator_;
};

}  // namespace hstar
