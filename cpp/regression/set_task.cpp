#include "regression/set_task.hpp"

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
            const Assignment only = task.effect_conditions[effect.condition_begin];
            const bool is_delete = effect.condition_end - effect.condition_begin == 1 &&
                                   only.variable == effect.effect.variable &&
                                   !is_fact[task.fact(effect.effect)];
            if (is_delete)
                deletes.push(task.fact(only));
            else
                is_usable[op] = 0;
        }
        deletes.close_row();
        num_left_out += !is_usable[op];
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

}  // namespace hstar
