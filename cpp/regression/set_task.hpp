// A task over sets of facts, for searching backwards from the goal.
//
// A set holds at most one fact per variable and may leave variables open. The value "none of those" is not a
// fact of any set: an operator that assigns it only deletes. The grounder writes "delete this fact" as a
// conditional effect where the precondition does not mention the fact; here it is a plain delete again.
// Operators with other conditional effects are left out.
#pragma once
#include <utility>
#include <vector>

#include "runtime/rows.hpp"
#include "task/task.hpp"

namespace hstar {

struct SetTask {
    explicit SetTask(const Task& task);

    const Task& task;
    std::vector<char> is_fact;                   // per fact of the task: not "none of those"
    std::vector<std::pair<int, int>> negations;  // facts "not a" and "a", where both are facts
    std::vector<char> is_usable;                 // per operator
    int num_left_out = 0;                        // operators with conditional effects
    Rows<int> deletes;  // per operator: facts deleted whatever the state, besides those that effects replace
    Rows<int> achievers;  // per fact: the usable operators that add it, ascending

    // Removes operators that no reachable state satisfies.
    void keep_only(const std::vector<char>& possible);

    // Whether a set that holds these facts contains what the operator needs.
    template <class Holds>  // Holds(fact) -> bool
    bool is_applicable(int op, Holds holds) const {
        for (Assignment needed : task.pre[op])
            if (!holds(task.fact(needed))) return false;
        return true;
    }

  private:
    void index_achievers();
};

}  // namespace hstar
