// Which goals must hold before which.
//
// Goal b comes before goal a if nothing achieves b while a holds, or keeps a (Koehler and Hoffmann, JAIR 12,
// 2000, call such orders reasonable). Mutex groups say what cannot hold together. An achieved goal is
// premature while some goal that comes before it, directly or over others, is not achieved: it must be undone
// once more.
#pragma once
#include <algorithm>
#include <vector>

#include "runtime/rows.hpp"
#include "runtime/sort_unique.hpp"
#include "task/task.hpp"

namespace hstar {

class GoalOrders {
  public:
    // Of task.goal, in its order.
    explicit GoalOrders(const Task& task) {
        const size_t num_goals = task.goal_is_false ? 0 : task.goal.size();
        std::vector<int> goal_of(task.num_facts(), -1);
        for (size_t g = 0; g < num_goals; ++g) goal_of[task.fact(task.goal[g])] = static_cast<int>(g);
        std::vector<std::vector<Achiever>> achievers(num_goals);
        for (int op = 0; op < task.num_operators(); ++op) {
            for (Assignment effect : task.effects[op])
                if (const int goal = goal_of[task.fact(effect)]; goal >= 0)
                    achievers[goal].push_back({op, nullptr});
            for (const ConditionalEffect& effect : task.conditional[op])
                if (const int goal = goal_of[task.fact(effect.effect)]; goal >= 0)
                    achievers[goal].push_back({op, &effect});
        }
        const Rows<int> groups_of = transpose(task.mutex_groups, task.num_facts());
        int marked = -1;                                     // the goal that is looked at
        std::vector<int> excluded_by(task.num_facts(), -1);  // per fact: the last goal that excludes it
        const auto excludes = [&](std::span<const Assignment> facts) {
            return std::ranges::any_of(facts,
                                       [&](Assignment a) { return excluded_by[task.fact(a)] == marked; });
        };
        // Whether the marked goal is false before or after the achiever, which does not achieve it as well.
        const auto is_blocked = [&](const Achiever& one) {
            const auto effects = task.effects[one.op];
            if (std::ranges::find(effects, task.goal[marked]) != effects.end()) return false;
            return excludes(task.pre[one.op]) || excludes(effects) ||
                   (one.effect && excludes(task.condition(*one.effect)));
        };
        Rows<int> before;  // per goal: the goals that come directly before it
        for (size_t a = 0; a < num_goals; ++a) {
            marked = static_cast<int>(a);
            const int variable = task.goal[a].variable, fact = task.fact(task.goal[a]);
            for (int other = task.first_fact[variable]; other < task.first_fact[variable + 1]; ++other)
                excluded_by[other] = marked;
            for (int group : groups_of[fact])
                for (int other : task.mutex_groups[group]) excluded_by[other] = marked;
            excluded_by[fact] = -1;
            for (size_t b = 0; b < num_goals; ++b)
                if (b != a && !achievers[b].empty() && std::ranges::all_of(achievers[b], is_blocked))
                    before.push(static_cast<int>(b));
            before.close_row();
        }
        after_ = transpose(before, static_cast<int>(num_goals));
        before_ = std::move(before.data);
        sort_unique(before_);
    }

    bool empty() const { return after_.data.empty(); }

    // Which goals are premature, of those that are achieved.
    void find_premature(const std::vector<char>& is_achieved, std::vector<char>& is_premature) const {
        is_premature.assign(is_achieved.size(), 0);
        const auto spread = [&](int goal) {
            for (int next : after_[goal])
                if (is_achieved[next] && !is_premature[next]) {
                    is_premature[next] = 1;
                    stack_.push_back(next);
                }
        };
        for (int goal : before_)
            if (!is_achieved[goal]) spread(goal);
        while (!stack_.empty()) {
            const int goal = stack_.back();
            stack_.pop_back();
            spread(goal);
        }
    }

  private:
    // An operator, or one of its conditional effects, that achieves a goal.
    struct Achiever {
        int op;
        const ConditionalEffect* effect;
    };

    Rows<int> after_;          // per goal: the goals that it comes directly before
    std::vector<int> before_;  // the goals that come before another
    mutable std::vector<int> stack_;
};

}  // namespace hstar
