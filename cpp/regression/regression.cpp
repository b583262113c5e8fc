#include "regression/regression.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace hstar {

SetTask::SetTask(const Task& task)
    : task(task), is_fact(task.num_facts(), 1), is_usable(task.num_operators(), 1) {
    std::map<std::pair<int, std::vector<int>>, int> positive;
    for (int fact = 0; fact < task.num_facts(); ++fact) {
        is_fact[fact] = task.atoms[fact].predicate >= 0;
        if (is_fact[fact] && !task.atoms[fact].negated)
            positive[{task.atoms[fact].predicate, task.atoms[fact].args}] = fact;
    }
    for (int fact = 0; fact < task.num_facts(); ++fact) {
        auto found = positive.find({task.atoms[fact].predicate, task.atoms[fact].args});
        if (is_fact[fact] && task.atoms[fact].negated && found != positive.end())
            negations.push_back({fact, found->second});
    }
    for (int op = 0; op < task.num_operators(); ++op) {
        for (const ConditionalEffect& effect : task.conditional[op]) {
            const auto condition = task.condition(effect);
            const bool is_delete = condition.size() == 1 && condition[0].variable == effect.effect.variable &&
                                   !is_fact[task.fact(effect.effect)];
            if (is_delete)
                deletes.push(task.fact(condition[0]));
            else
                is_usable[op] = 0;
        }
        deletes.close_row();
    }
    index_achievers();
}

void SetTask::keep_only(const std::vector<char>& possible) {
    for (int op = 0; op < task.num_operators(); ++op) is_usable[op] = is_usable[op] && possible[op];
    index_achievers();
}

void SetTask::index_achievers() {
    Rows<int> added;
    for (int op = 0; op < task.num_operators(); ++op) {
        if (is_usable[op])
            for (Assignment effect : task.effects[op])
                if (is_fact[task.fact(effect)]) added.push(task.fact(effect));
        added.close_row();
    }
    achievers = transpose(added, task.num_facts());
}

Regression::Regression(const SetTask& task, const Mutexes& mutexes)
    : set_task_(task),
      task_(task.task),
      mutexes_(mutexes),
      bits_(mutexes.words()),
      value_(task.task.num_variables(), -1),
      seen_(task.task.num_operators(), 0) {}

void Regression::set(std::span<const int> facts) {
    std::fill(bits_.begin(), bits_.end(), 0);
    std::fill(value_.begin(), value_.end(), -1);
    for (int fact : facts) insert(fact);
}

std::vector<int> Regression::facts() const {
    std::vector<int> result;
    std::ranges::copy_if(value_, std::back_inserter(result), [](int fact) { return fact >= 0; });
    return result;
}

const std::vector<int>& Regression::operators() {
    ops_.clear();
    ++round_;
    for (int fact : value_) {
        if (fact < 0) continue;
        for (int op : set_task_.achievers[fact]) {
            if (seen_[op] == round_) continue;
            seen_[op] = round_;
            if (is_valid(op)) ops_.push_back(op);
        }
    }
    std::sort(ops_.begin(), ops_.end());
    return ops_;
}

bool Regression::meets(int fact) const {
    auto row = mutexes_.row(fact);
    for (size_t w = 0; w < bits_.size(); ++w)
        if (row[w] & bits_[w]) return true;
    return false;
}

bool Regression::is_valid(int op) {
    for (Assignment effect : task_.effects[op]) {
        int held = value_[effect.variable], added = task_.fact(effect);
        if (held == added) continue;
        if (held >= 0) return false;
        if (set_task_.is_fact[added] && meets(added)) return false;
    }
    for (int fact : set_task_.deletes[op])
        if (contains(fact)) return false;
    // What remains of the set must go together with the preconditions.
    removed_.clear();
    for (Assignment effect : task_.effects[op])
        if (int held = value_[effect.variable]; held >= 0) {
            removed_.push_back(held);
            erase(held);
        }
    const bool is_possible = std::ranges::all_of(task_.pre[op], [&](Assignment needed) {
        const int fact = task_.fact(needed);
        return contains(fact) || !meets(fact);
    });
    for (int fact : removed_) insert(fact);
    return is_possible;
}

void Regression::apply(int op) {
    for (Assignment effect : task_.effects[op])
        if (int held = value_[effect.variable]; held >= 0) erase(held);
    for (Assignment needed : task_.pre[op]) insert(task_.fact(needed));
}

}  // namespace hstar
