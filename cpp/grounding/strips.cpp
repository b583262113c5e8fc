#include "grounding/strips.hpp"

#include <algorithm>
#include <utility>

namespace hstar {

StripsTask remove_constant_facts(const StripsTask& task, bool keep_added) {
    std::vector<char> changes(task.num_facts, 0);
    for (const StripsEffect& effect : task.effects.data)
        if (keep_added || !effect.adds) changes[effect.fact] = 1;
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
        for (StripsEffect effect : task.effects[op]) {
            if (constant(effect.fact)) continue;
            if (effect.is_conditional()) {
                const auto condition = task.conditions[effect.condition];
                effect.condition = static_cast<uint32_t>(result.conditions.size());
                if (!copy_condition(condition, result.conditions)) continue;
            }
            result.effects.push(effect);
        }
        result.effects.close_row();
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
    for (auto* literals : {&task.pre.data, &task.conditions.data, &task.goal})
        for (int& literal : *literals) {
            const int fact = literal / 2;
            const bool is_negative = literal & 1;
            if (is_negative && complement[fact] < 0) {
                complement[fact] = num_facts++;
                task.complement_of.push_back(fact);
                task.init.push_back(!task.init[fact]);
            }
            literal = is_negative ? complement[fact] : fact;
        }

    if (num_facts > task.num_facts) {
        Rows<StripsEffect> effects;
        for (int op = 0; op < task.num_operators(); ++op) {
            const auto add_opposite = [&](const StripsEffect& effect) {
                const int opposite = complement[effect.fact];
                if (opposite >= 0) effects.push({opposite, effect.condition, !effect.adds});
            };
            const auto row = task.effects[op];
            const auto conditional = std::ranges::find_if(row, &StripsEffect::is_conditional);
            effects.data.insert(effects.data.end(), row.begin(), conditional);
            std::for_each(row.begin(), conditional, add_opposite);
            for (auto effect = conditional; effect != row.end(); ++effect) {
                effects.push(*effect);
                add_opposite(*effect);
            }
            effects.close_row();
        }
        task.effects = std::move(effects);
    }
    task.num_facts = num_facts;
}

// Marks what matters, backwards from the goal. A fact matters if some relevant operator needs it. An operator
// is relevant if it adds a fact that matters, or deletes one whose absence matters: the conditions of a
// conditional delete, which does harm only while they hold.
Relevance find_relevant(const StripsTask& task) {
    Rows<int> changes;  // per operator: literals that it may make true
    // Per fact: conditional effects and their operators.
    std::vector<std::vector<std::pair<int, const StripsEffect*>>> effects_on(task.num_facts);
    for (int op = 0; op < task.num_operators(); ++op) {
        for (const StripsEffect& effect : task.effects[op]) {
            changes.push(effect.adds ? positive(effect.fact) : negative(effect.fact));
            if (effect.is_conditional()) effects_on[effect.fact].push_back({op, &effect});
        }
        changes.close_row();
    }
    const Rows<int> changers = transpose(changes, 2 * task.num_facts);
    std::vector<char> matters(2 * task.num_facts, 0), uses(task.num_operators(), 0);  // literals, operators
    std::vector<int> queue;                                                           // of literals
    const auto need = [&](int literal) {
        if (!std::exchange(matters[literal], 1)) queue.push_back(literal);
    };
    const auto use_effect = [&](const StripsEffect& effect) {
        for (int fact : task.conditions[effect.condition]) {
            need(positive(fact));
            if (!effect.adds) need(negative(fact));
        }
    };
    for (int fact : task.goal) need(positive(fact));
    while (!queue.empty()) {
        const int literal = queue.back();
        queue.pop_back();
        for (int op : changers[literal]) {
            if (std::exchange(uses[op], 1)) continue;
            for (int fact : task.pre[op]) need(positive(fact));
            for (const StripsEffect& effect : task.effects[op])
                if (matters[positive(effect.fact)]) use_effect(effect);
        }
        if (literal != positive(literal / 2)) continue;
        for (auto [op, effect] : effects_on[literal / 2])
            if (uses[op]) use_effect(*effect);
    }
    Relevance relevant{{}, std::move(uses)};
    for (int fact = 0; fact < task.num_facts; ++fact) relevant.fact.push_back(matters[positive(fact)]);
    return relevant;
}

}  // namespace hstar
