#include "heuristics/plan_follower.hpp"

#include <algorithm>

namespace hstar {

PlanFollower::PlanFollower(const Task& task, const RelaxedTask& relaxed)
    : task_(task),
      relaxed_(relaxed),
      is_goal_(task.num_facts(), 0),
      needed_by_(task.num_facts(), 0),
      readers_(task.num_variables(), 0),
      asking_(task.num_variables()) {
    for (Assignment a : task.goal) is_goal_[task.fact(a)] = 1;
}

const std::vector<int>& PlanFollower::follow(const int* values, std::span<const int> plan) {
    begin(values, plan);
    // Each turn takes one of the steps, or is the last.
    while (!task_.is_goal(values_.data())) {
        const int step = choose();
        if (step >= 0)
            take(step);
        else if (!repair())
            break;
    }
    clear();
    return taken_;
}

void PlanFollower::begin(const int* values, std::span<const int> plan) {
    values_.assign(values, values + task_.num_variables());
    taken_.clear();
    steps_.clear();
    for (int op : plan) {
        const int number = static_cast<int>(steps_.size());
        steps_.push_back({op, true, false});
        for (Assignment a : task_.pre[op]) {
            ++needed_by_[task_.fact(a)];
            asking_[a.variable].push_back(number);
        }
    }
    for (Step& step : steps_) set_applicable(step, is_possible(step.op));
}

void PlanFollower::clear() {
    for (const Step& step : steps_)
        for (Assignment a : task_.pre[step.op]) {
            needed_by_[task_.fact(a)] = 0;
            readers_[a.variable] = 0;
            asking_[a.variable].clear();
        }
}

int PlanFollower::choose() const {
    int first = -1;
    for (size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        if (!step.is_left || !step.is_applicable || !is_useful(step)) continue;
        if (!ruins_another(step)) return static_cast<int>(i);
        if (first < 0) first = static_cast<int>(i);
    }
    return first;
}

bool PlanFollower::repair() {
    // Following a plan must not take longer than finding it.
    int tests = kMostTests;
    for (size_t i = 0; i < steps_.size(); ++i) {
        Step& step = steps_[i];
        if (!step.is_left) continue;
        for (Assignment a : task_.effects[step.op]) {
            const int fact = relaxed_.fact_of[task_.fact(a)];
            if (fact < 0 || !is_needed(a)) continue;
            for (int edge : relaxed_.achievers[fact]) {
                const int op = relaxed_.edge_origin[edge];
                if (--tests < 0) return false;
                if (!is_possible(op)) continue;
                drop(static_cast<int>(i));
                steps_.push_back({op, false, false});
                take(static_cast<int>(steps_.size()) - 1);
                return true;
            }
        }
    }
    return false;
}

void PlanFollower::take(int number) {
    const int op = steps_[number].op;
    drop(number);
    taken_.push_back(op);
    next_values_.resize(values_.size());
    task_.apply(op, values_.data(), next_values_.data());
    std::swap(values_, next_values_);
    const auto look_again = [&](int variable) {
        if (values_[variable] == next_values_[variable]) return;
        for (int other : asking_[variable])
            if (steps_[other].is_left) set_applicable(steps_[other], is_possible(steps_[other].op));
    };
    for (Assignment a : task_.effects[op]) look_again(a.variable);
    for (const ConditionalEffect& e : task_.conditional[op]) look_again(e.effect.variable);
}

void PlanFollower::drop(int number) {
    Step& step = steps_[number];
    if (!step.is_left) return;
    set_applicable(step, false);
    step.is_left = false;
    for (Assignment a : task_.pre[step.op]) --needed_by_[task_.fact(a)];
}

bool PlanFollower::is_useful(const Step& step) const {
    const auto effects = task_.effects[step.op];
    return !task_.conditional[step.op].empty() ||
           std::any_of(effects.begin(), effects.end(), [&](Assignment a) { return is_needed(a); });
}

bool PlanFollower::ruins_another(const Step& step) const {
    for (Assignment effect : task_.effects[step.op]) {
        if (holds(effect)) continue;
        int readers = readers_[effect.variable];
        for (Assignment a : task_.pre[step.op]) readers -= a.variable == effect.variable;
        if (readers > 0) return true;
    }
    return false;
}

void PlanFollower::set_applicable(Step& step, bool is_applicable) {
    if (step.is_applicable == is_applicable) return;
    step.is_applicable = is_applicable;
    for (Assignment a : task_.pre[step.op]) readers_[a.variable] += is_applicable ? 1 : -1;
}

}  // namespace hstar
