// How far a relaxed plan goes in truth (Vidal, ICAPS 2004).
//
// A relaxed plan often has many steps that can really be taken. Taking them leads far ahead for the price of
// one evaluation. Steps that cost least come first, but one that ruins what another applicable step needs
// waits for it: a truck loads before it leaves. Where no step is applicable, one of them is replaced: a fact
// that it adds and that is needed may come from another operator, which is applicable.
#pragma once
#include <span>
#include <vector>

#include "heuristics/relaxed_task.hpp"
#include "task/task.hpp"

namespace hstar {

class PlanFollower {
  public:
    PlanFollower(const Task& task, const RelaxedTask& relaxed);

    // Operators that can be applied one after the other from a state; valid until the next call. The steps
    // of the plan are given in the order in which they are tried.
    const std::vector<int>& follow(const int* values, std::span<const int> plan);

  private:
    static constexpr int kMostTests = 20000;  // of operators that may replace a step, each time

    struct Step {
        int op;
        bool is_left, is_applicable;
    };

    void begin(const int* values, std::span<const int> plan);
    void clear();
    // Which step to take next, or -1.
    int choose() const;
    // Replaces a step by another operator; false if that is of no use anywhere.
    bool repair();
    void take(int step);
    void drop(int step);

    bool holds(Assignment a) const { return values_[a.variable] == a.value; }
    bool is_possible(int op) const {
        return Task::all_hold(task_.pre[op], [&](int variable) { return values_[variable]; });
    }
    // Whether the step brings about something that is missing and needed.
    bool is_useful(const Step& step) const;
    bool is_needed(Assignment a) const {
        return !holds(a) && (needed_by_[task_.fact(a)] > 0 || is_goal_[task_.fact(a)]);
    }
    // Whether another applicable step needs a value that this one changes.
    bool ruins_another(const Step& step) const;
    void set_applicable(Step& step, bool is_applicable);

    const Task& task_;
    const RelaxedTask& relaxed_;
    std::vector<char> is_goal_;  // per fact
    std::vector<int> values_, next_values_;
    std::vector<Step> steps_;
    std::vector<int> taken_;
    std::vector<int> needed_by_;            // per fact: how many steps that are left need it
    std::vector<int> readers_;              // per variable: how many applicable steps need its value
    std::vector<std::vector<int>> asking_;  // per variable: steps that need one of its values
};

}  // namespace hstar
