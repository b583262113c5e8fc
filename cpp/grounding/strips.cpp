#include "grounding/strips.hpp"

#include <algorithm>

namespace hstar {

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

Relevance find_relevant(const StripsTask& task) {
    // Backwards from the goal: an operator is relevant if it adds a relevant fact, and then all it needs is.
    Rows<int> adders;
    {
        Rows<int> adds;
        for (int op = 0; op < task.num_operators(); ++op) {
            for (int fact : task.add[op]) adds.push(fact);
            for (int effect : task.conditional[op])
                if (task.effects.adds[effect]) adds.push(task.effects.fact[effect]);
            adds.close_row();
        }
        adders = transpose(adds, task.num_facts);
    }
    Relevance relevant{std::vector<char>(task.num_facts, 0), std::vector<char>(task.num_operators(), 0)};
    std::vector<int> queue;
    auto need = [&](int fact) {
        if (!relevant.fact[fact]) {
            relevant.fact[fact] = 1;
            queue.push_back(fact);
        }
    };
    for (int fact : task.goal) need(fact);
    while (!queue.empty()) {
        int fact = queue.back();
        queue.pop_back();
        for (int op : adders[fact]) {
            if (!relevant.op[op]) {
                relevant.op[op] = 1;
                for (int condition : task.pre[op]) need(condition);
            }
            // Of a conditional effect only those that change something relevant matter.
            for (int effect : task.conditional[op])
                if (relevant.fact[task.effects.fact[effect]])
                    for (int condition : task.effects.condition[effect]) need(condition);
        }
    }
    // Conditional deletes of facts found relevant later bring in their conditions too: iterate to a fixpoint.
    bool changed = true;
    while (changed) {
        changed = false;
        for (int op = 0; op < task.num_operators(); ++op) {
            if (!relevant.op[op]) continue;
            for (int effect : task.conditional[op])
                if (relevant.fact[task.effects.fact[effect]])
                    for (int condition : task.effects.condition[effect])
                        if (!relevant.fact[condition]) {
                            need(condition);
                            changed = true;
                        }
        }
        while (!queue.empty()) {
            int fact = queue.back();
            queue.pop_back();
            for (int op : adders[fact])
                if (!relevant.op[op]) {
                    relevant.op[op] = 1;
                    changed = true;
                    for (int condition : task.pre[op]) need(condition);
                }
        }
    }
    return relevant;
}

}  // namespace hstar
