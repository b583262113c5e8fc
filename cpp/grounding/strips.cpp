#include "grounding/strips.hpp"

#include <algorithm>

namespace hstar {

StripsTask remove_constant_facts(const StripsTask& task, bool keep_added) {
    std::vector<char> changes(task.num_facts, 0);
    for (int fact : task.del.data) changes[fact] = 1;
    for (int effect = 0; effect < task.effects.size(); ++effect)
        if (keep_added || !task.effects.adds[effect]) changes[task.effects.fact[effect]] = 1;
    if (keep_added)
        for (int fact : task.add.data) changes[fact] = 1;
    auto constant = [&](int fact) { return task.init[fact] && !changes[fact]; };
    // Copies a condition; false if it can never hold.
    auto copy_condition = [&](std::span<const int> condition, Rows<int>& target) {
        size_t start = target.data.size();
        for (int literal : condition) {
            if (!constant(literal / 2)) {
                target.push(literal);
            } else if (literal & 1) {
                target.data.resize(start);
                return false;
            }
        }
        target.close_row();
        return true;
    };
    StripsTask result;
    result.num_facts = task.num_facts;
    result.init = task.init;
    result.goal_is_false = task.goal_is_false;
    for (int op = 0; op < task.num_operators(); ++op) {
        if (!copy_condition(task.pre[op], result.pre)) continue;
        for (int fact : task.add[op])
            if (!constant(fact)) result.add.push(fact);
        result.add.close_row();
        result.del.add_row(task.del[op]);
        for (int effect : task.conditional[op]) {
            int fact = task.effects.fact[effect];
            if (constant(fact)) continue;
            if (!copy_condition(task.effects.condition[effect], result.effects.condition)) continue;
            result.conditional.push(result.effects.size());
            result.effects.fact.push_back(fact);
            result.effects.adds.push_back(task.effects.adds[effect]);
        }
        result.conditional.close_row();
        result.cost.push_back(task.cost[op]);
        result.origin.push_back(task.origin[op]);
    }
    for (int literal : task.goal) {
        if (!constant(literal / 2))
            result.goal.push_back(literal);
        else if (literal & 1)
            result.goal_is_false = true;
    }
    return result;
}

void compile_away_negation(StripsTask& task) {
    std::vector<int> complement(task.num_facts, -1);
    int num_facts = task.num_facts;
    task.complement_of.assign(num_facts, -1);
    auto require = [&](int literal) {
        int fact = literal / 2;
        if ((literal & 1) && complement[fact] < 0) {
            complement[fact] = num_facts++;
            task.complement_of.push_back(fact);
            task.init.push_back(!task.init[fact]);
        }
    };
    for (int literal : task.pre.data) require(literal);
    for (int literal : task.effects.condition.data) require(literal);
    for (int literal : task.goal) require(literal);

    auto translate = [&](int& literal) { literal = (literal & 1) ? complement[literal / 2] : literal / 2; };
    for (int& literal : task.pre.data) translate(literal);
    for (int& literal : task.effects.condition.data) translate(literal);
    for (int& literal : task.goal) translate(literal);

    if (num_facts > task.num_facts) {
        Rows<int> add, del, conditional;
        for (int op = 0; op < task.num_operators(); ++op) {
            for (int fact : task.add[op]) add.push(fact);
            for (int fact : task.del[op]) {
                del.push(fact);
                if (complement[fact] >= 0) add.push(complement[fact]);
            }
            for (int fact : task.add[op])
                if (complement[fact] >= 0) del.push(complement[fact]);
            add.close_row();
            del.close_row();
            for (int effect : task.conditional[op]) {
                conditional.push(effect);
                int fact = task.effects.fact[effect];
                if (complement[fact] < 0) continue;
                conditional.push(task.effects.size());
                task.effects.fact.push_back(complement[fact]);
                task.effects.adds.push_back(!task.effects.adds[effect]);
                auto condition = task.effects.condition[effect];
                std::vector<int> copy(condition.begin(), condition.end());
                task.effects.condition.add_row(copy);
            }
            conditional.close_row();
        }
        task.add = std::move(add);
        task.del = std::move(del);
        task.conditional = std::move(conditional);
    }
    task.num_facts = num_facts;
}

namespace {

// Marks what matters, backwards from the goal. A fact matters if some relevant operator needs it. An operator
// is relevant if it adds a fact that matters, or deletes one whose absence matters: the conditions of a
// conditional delete, which does harm only while they hold.
class RelevanceMarker {
  public:
    explicit RelevanceMarker(const StripsTask& task) : task_(task) {
        Rows<int> adds, deletes, changed;
        effect_operator_.resize(task.effects.size());
        for (int op = 0; op < task.num_operators(); ++op) {
            for (int fact : task.add[op]) adds.push(fact);
            for (int fact : task.del[op]) deletes.push(fact);
            for (int effect : task.conditional[op]) {
                (task.effects.adds[effect] ? adds : deletes).push(task.effects.fact[effect]);
                effect_operator_[effect] = op;
            }
            adds.close_row();
            deletes.close_row();
        }
        for (int fact : task.effects.fact) {
            changed.push(fact);
            changed.close_row();
        }
        adders_ = transpose(adds, task.num_facts);
        deleters_ = transpose(deletes, task.num_facts);
        effects_on_ = transpose(changed, task.num_facts);
        absence_matters_.assign(task.num_facts, 0);
        relevant_ = {std::vector<char>(task.num_facts, 0), std::vector<char>(task.num_operators(), 0)};
    }

    Relevance run() {
        for (int fact : task_.goal) need(fact);
        while (!queue_.empty()) {
            int fact = queue_.back();
            queue_.pop_back();
            for (int op : adders_[fact]) use_operator(op);
            for (int effect : effects_on_[fact])
                if (relevant_.op[effect_operator_[effect]]) use_effect(effect);
        }
        return std::move(relevant_);
    }

  private:
    void need(int fact) {
        if (relevant_.fact[fact]) return;
        relevant_.fact[fact] = 1;
        queue_.push_back(fact);
    }
    void need_absence(int fact) {
        if (absence_matters_[fact]) return;
        absence_matters_[fact] = 1;
        for (int op : deleters_[fact]) use_operator(op);
    }
    void use_operator(int op) {
        if (relevant_.op[op]) return;
        relevant_.op[op] = 1;
        for (int fact : task_.pre[op]) need(fact);
        for (int effect : task_.conditional[op])
            if (relevant_.fact[task_.effects.fact[effect]]) use_effect(effect);
    }
    void use_effect(int effect) {
        for (int fact : task_.effects.condition[effect]) {
            need(fact);
            if (!task_.effects.adds[effect]) need_absence(fact);
        }
    }

    const StripsTask& task_;
    Rows<int> adders_, deleters_, effects_on_;
    std::vector<int> effect_operator_;
    std::vector<char> absence_matters_;
    std::vector<int> queue_;
    Relevance relevant_;
};

}  // namespace

Relevance find_relevant(const StripsTask& task) {
    return RelevanceMarker(task).run();
}

}  // namespace hstar
