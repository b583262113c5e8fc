// Which goals must hold before which.
//
// Goal b comes before goal a if nothing achieves b while a holds, or keeps a (Koehler and Hoffmann, JAIR 12,
// 2000, call such orders reasonable). Mutex groups say what cannot hold together. An achieved goal is
// premature while some goal that comes before it, directly or over others, is not achieved: it must be undone
// once more.
#pragma once
#include <vector>

#include "runtime/rows.hpp"
#include "task/task.hpp"

namespace hstar {

class GoalOrders {
  public:
    // Of task.goal, in its order.
    explicit GoalOrders(const Task& task);

    bool empty() const { return after_.data.empty(); }
    // Which goals are premature, of those that are achieved.
    void find_premature(const std::vector<char>& is_achieved, std::vector<char>& is_premature) const;

  private:
    Rows<int> after_;          // per goal: the goals that it comes directly before
    std::vector<int> before_;  // the goals that come before another
    mutable std::vector<int> stack_;
};

}  // namespace hstar
