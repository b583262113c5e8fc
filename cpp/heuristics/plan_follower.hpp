// How far a relaxed plan goes in truth (Vidal, ICAPS 2004).
//
// A relaxed plan often has many steps that can really be taken. Taking them leads far ahead for the price of
// one evaluation. Steps that cost least come first, but one that ruins what another applicable step needs
// waits for it: a truck loads before it leaves. Where no step is applicable, one of them is replaced: a fact
// that it adds and that is needed may come from another operator, which is applicable.
#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "heuristics/relaxed_exploration.hpp"
#include "task/task.hpp"

namespace hstar {

class PlanFollower {
  public:
    PlanFollower(const Task& task, const RelaxedTask& relaxed)
        : task_(task),
          relaxed_(relaxed),
          is_goal_(task.num_facts(), 0),
          needed_by_(task.num_facts(), 0),
          readers_(task.num_variables(), 0),
          asking_(task.num_variables()) {
        for (Assignment a : task.goal) is_goal_[task.fact(a)] = 1;
    }

    // Operators that can be applied one after the other from a state; valid until the next call. The steps
    // of the plan are given in the order in which they are tried.
    const std::vector<int>& follow(const int* values, std::span<const int> plan) {
        values_.assign(values, values + task_.num_variables());
        taken_.clear();
        steps_.clear();
        for (int op : plan) {
            for (Assignment a : task_.pre[op]) {
                ++needed_by_[task_.fact(a)];
                asking_[a.variable].push_back(static_cast<int>(steps_.size()));
            }
            steps_.push_back({op, true, false});
        }
        for (Step& step : steps_) set_applicable(step, is_possible(step.op));
        // Each turn takes one of the steps, or is the last.
        while (!task_.is_goal(values_.data())) {
            const int step = choose();
            if (step >= 0)
                take(step);
            else if (!repair())
                break;
        }
        for (const Step& step : steps_)
            for (Assignment a : task_.pre[step.op]) {
                needed_by_[task_.fact(a)] = 0;
                readers_[a.variable] = 0;
                asking_[a.variable].clear();
            }
        return taken_;
    }

  private:
    static constexpr int kMostTests = 20000;  // of operators that may replace a step, each time

    struct Step {
        int op;
        bool is_left, is_applicable;
    };

    // Which step to take next, or -1.
    int choose() const {
        int first = -1;
        for (size_t i = 0; i < steps_.size(); ++i) {
            const Step& step = steps_[i];
            if (!step.is_left || !step.is_applicable || !is_useful(step)) continue;
            if (!ruins_another(step)) return static_cast<int>(i);
            if (first < 0) first = static_cast<int>(i);
        }
        return first;
    }

    // Takes another operator in place of a step; false if that is of no use anywhere.
    bool repair() {
        // Following a plan must not take longer than finding it.
        int tests = kMostTests;
        for (Step& step : steps_) {
            if (!step.is_left) continue;
            for (Assignment a : task_.effects[step.op]) {
                const int fact = relaxed_.fact_of[task_.fact(a)];
                if (fact < 0 || !is_needed(a)) continue;
                for (int edge : relaxed_.achievers[fact]) {
                    const int op = relaxed_.edge_origin[edge];
                    if (--tests < 0) return false;
                    if (!is_possible(op)) continue;
                    drop(step);
                    steps_.push_back({op, false, false});
                    take(static_cast<int>(steps_.size()) - 1);
                    return true;
                }
            }
        }
        return false;
    }

    void take(int number) {
        const int op = steps_[number].op;
        drop(steps_[number]);
        taken_.push_back(op);
        next_values_.resize(values_.size());
        task_.apply(op, values_.data(), next_values_.data());
        std::swap(values_, next_values_);
        const auto look_where_changed = [&](int variable) {
            if (values_[variable] == next_values_[variable]) return;
            for (int other : asking_[variable])
                if (Step& step = steps_[other]; step.is_left) set_applicable(step, is_possible(step.op));
        };
        for (Assignment a : task_.effects[op]) look_where_changed(a.variable);
        for (const ConditionalEffect& e : task_.conditional[op]) look_where_changed(e.effect.variable);
    }

    void drop(Step& step) {
        if (!step.is_left) return;
        set_applicable(step, false);
        step.is_left = false;
        for (Assignment a : task_.pre[step.op]) --needed_by_[task_.fact(a)];
    }

    bool holds(Assignment a) const { return values_[a.variable] == a.value; }
    bool is_possible(int op) const {
        return Task::all_hold(task_.pre[op], [&](int variable) { return values_[variable]; });
    }
    bool is_needed(Assignment a) const {
        return !holds(a) && (needed_by_[task_.fact(a)] > 0 || is_goal_[task_.fact(a)]);
    }
    // Whether the step brings about something that is missing and needed.
    bool is_useful(const Step& step) const {
        return !task_.conditional[step.op].empty() ||
               std::ranges::any_of(task_.effects[step.op], [&](Assignment a) { return is_needed(a); });
    }

    // Whether another applicable step needs a value that this one changes.
    bool ruins_another(const Step& step) const {
        for (Assignment effect : task_.effects[step.op]) {
            if (holds(effect)) continue;
            int readers = readers_[effect.variable];
            for (Assignment a : task_.pre[step.op]) readers -= a.variable == effect.variable;
            if (readers > 0) return true;
        }
        return false;
    }

    void set_applicable(Step& step, bool is_applicable) {
        if (std::exchange(step.is_applicable, is_applicable) == is_applicable) return;
        for (Assignment a : task_.pre[step.op]) readers_[a.variable] += is_applicable ? 1 : -1;
    }

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
