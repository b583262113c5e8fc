#include "grounding/finite_domain.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "grounding/strips.hpp"
#include "runtime/hash.hpp"
#include "runtime/numbering.hpp"
#include "runtime/require.hpp"
#include "runtime/sort_unique.hpp"

namespace hstar {

namespace {

constexpr int64_t kMaxCost = 100'000'000;

// Greedy cover: the group with most uncovered facts becomes the next variable (Helmert 2009).
std::vector<std::vector<int>> cover(const std::vector<std::vector<int>>& groups,
                                    const std::vector<char>& keep) {
    std::vector<char> uncovered = keep;
    auto count = [&](int group) {
        size_t size = 0;
        for (int fact : groups[group]) size += uncovered[fact];
        return size;
    };
    std::priority_queue<std::tuple<size_t, int, int>>
        largest;  // size, order of arrival (newest first), group
    int arrived = 0;
    for (int i = static_cast<int>(groups.size()) - 1; i >= 0; --i) largest.emplace(count(i), arrived++, i);
    std::vector<std::vector<int>> variables;
    while (!largest.empty()) {
        const auto [size, order, group] = largest.top();
        largest.pop();
        const size_t now = count(group);
        if (now < 2) continue;
        if (now < size) {
            largest.emplace(now, arrived++, group);
            continue;
        }
        variables.emplace_back();
        for (int fact : groups[group])
            if (std::exchange(uncovered[fact], 0)) variables.back().push_back(fact);
    }
    for (size_t fact = 0; fact < keep.size(); ++fact)
        if (uncovered[fact]) variables.push_back({static_cast<int>(fact)});
    return variables;
}

// Tests whether two of some facts are in one mutex group, so that they exclude each other.
class MutexTest {
  public:
    MutexTest(const std::vector<std::vector<int>>& groups, int num_facts)
        : groups_of_(transpose(groups, num_facts)), seen_(groups.size(), 0) {}
    bool exclusive(std::initializer_list<std::span<const int>> conditions) {
        ++round_;
        for (auto facts : conditions)
            for (int fact : facts)
                for (int group : groups_of_[fact]) {
                    if (seen_[group] == round_) return true;
                    seen_[group] = round_;
                }
        return false;
    }

  private:
    Rows<int> groups_of_;
    std::vector<uint32_t> seen_;
    uint32_t round_ = 0;
};

class TaskBuilder {
  public:
    TaskBuilder(const StripsTask& strips, const std::vector<std::vector<int>>& groups,
                const GroundingOptions& options, Task& task)
        : strips_(strips), options_(options), task_(task), mutex_(groups, strips.num_facts) {}

    // The value "none of those" has no name, unless the only fact is "not X" and X itself is not a fact: then
    // it means X.
    Task::AtomName name_of_none(const std::vector<int>& group) const {
        if (group.size() != 1) return {};
        int atom = strips_.complement_of[group[0]];
        if (atom < 0 || assignment_[atom].variable >= 0) return {};
        Task::AtomName name = task_.atoms.back();
        name.negated = false;
        return name;
    }

    void make_variables(const std::vector<std::vector<int>>& variables, const FactTable& facts) {
        assignment_.assign(strips_.num_facts, {-1, -1});
        for (size_t v = 0; v < variables.size(); ++v)
            for (size_t i = 0; i < variables[v].size(); ++i)
                assignment_[variables[v][i]] = {static_cast<int>(v), static_cast<int>(i)};
        auto needs_none = find_variables_that_may_be_empty(variables);
        task_.first_fact.push_back(0);
        for (size_t v = 0; v < variables.size(); ++v) {
            int value = -1;
            for (size_t i = 0; i < variables[v].size(); ++i) {
                int fact = variables[v][i];
                if (strips_.init[fact]) value = static_cast<int>(i);
                bool negated = strips_.complement_of[fact] >= 0;
                int atom = negated ? strips_.complement_of[fact] : fact;
                auto args = facts.args(atom);
                task_.atoms.push_back({facts.predicate(atom), negated, {args.begin(), args.end()}});
            }
            int size = static_cast<int>(variables[v].size());
            none_.push_back(needs_none[v] ? size : -1);
            if (needs_none[v]) {
                if (value < 0) value = size;
                task_.atoms.push_back(name_of_none(variables[v]));
                ++size;
            }
            task_.domain_size.push_back(size);
            task_.initial_state.push_back(value);
            task_.first_fact.push_back(task_.first_fact.back() + size);
            task_.variable_of.insert(task_.variable_of.end(), size, static_cast<int>(v));
        }
    }

    void add_operator(int op) {
        std::vector<Assignment> pre, effects;
        if (mutex_.exclusive({strips_.pre[op]}) || !translate(strips_.pre[op], pre)) return;
        std::vector<Effect> adds, deletes;  // conditional ones
        for (bool is_conditional : {true, false})
            for (const StripsEffect& effect : strips_.effects[op]) {
                if (effect.is_conditional() != is_conditional || !kept(effect.fact)) continue;
                std::vector<Assignment> condition;
                if (is_conditional && !translate_condition(op, effect, pre, condition)) continue;
                const Assignment changed = assignment_[effect.fact];
                if (!effect.adds)
                    deletes.push_back({std::move(condition), changed});
                else if (condition.empty())
                    effects.push_back(changed);
                else
                    adds.push_back({std::move(condition), changed});
            }
        sort_unique(effects);
        if (has_conflict(effects)) return;  // adds two mutex facts: never applicable

        // A delete sets its variable to "none" if the fact is true and no unconditional add sets the
        // variable.
        std::vector<Assignment> clears;
        std::vector<Effect> conditional;
        for (Effect& deleted : deletes) {
            auto [variable, value] = deleted.effect;
            Assignment cleared{variable, none_[variable]};
            const Assignment* required = find_variable(pre, variable);
            const Assignment* tested = find_variable(deleted.condition, variable);
            if (cleared.value < 0 || find_variable(effects, variable)) continue;
            if ((required && required->value != value) || (tested && tested->value != value)) continue;
            if (!required && !tested) {
                deleted.condition.push_back({variable, value});
                std::sort(deleted.condition.begin(), deleted.condition.end());
            }
            if (deleted.condition.empty())
                clears.push_back(cleared);
            else
                conditional.push_back({std::move(deleted.condition), cleared});
        }
        effects.insert(effects.end(), clears.begin(), clears.end());
        sort_unique(effects);
        std::erase_if(effects, [&](Assignment a) { return std::binary_search(pre.begin(), pre.end(), a); });
        conditional.insert(conditional.end(), adds.begin(), adds.end());  // last, because they win
        if (effects.empty() && conditional.empty()) return;
        if (strips_.cost[op] > kMaxCost)
            refuse("an action costs ", strips_.cost[op], " times the smallest unit of all costs; at most ",
                   kMaxCost, " are supported, so round the costs");
        // Of operators that differ only in name and cost, the cheapest stays; the first if several cost the
        // same.
        const int number = find_or_add(pre, effects, conditional), cost = static_cast<int>(strips_.cost[op]);
        if (number == task_.num_operators()) {
            task_.cost.push_back(std::numeric_limits<int>::max());
            task_.origin.emplace_back();
        }
        if (cost >= task_.cost[number]) return;
        task_.cost[number] = cost;
        task_.origin[number] = strips_.origin[op];
    }

    void set_goal() {
        task_.goal_is_false =
            strips_.goal_is_false || mutex_.exclusive({strips_.goal}) || !translate(strips_.goal, task_.goal);
    }

    std::vector<int> fact_of(const std::vector<int>& group) const {
        std::vector<int> facts;
        for (int fact : group)
            if (kept(fact)) facts.push_back(task_.fact(assignment_[fact]));
        return facts;
    }

  private:
    struct Effect {
        std::vector<Assignment> condition;
        Assignment effect;
    };

    // The number of the operator with these parts, which are added if there is none.
    int find_or_add(const std::vector<Assignment>& pre, const std::vector<Assignment>& effects,
                    const std::vector<Effect>& conditional) {
        using std::ranges::equal;
        uint64_t hash = 1;
        const auto mix = [&](std::span<const Assignment> row) {
            hash = hash_ints(reinterpret_cast<const int*>(row.data()), row.size() * 2, hash);
        };
        mix(pre);
        mix(effects);
        for (const Effect& e : conditional) {
            mix(e.condition);
            mix({&e.effect, 1});
        }
        const auto [number, is_new] = numbering_.find_or_add(hash, [&](int other) {
            return equal(task_.pre[other], pre) && equal(task_.effects[other], effects) &&
                   equal(task_.conditional[other], conditional, [&](const auto& left, const Effect& right) {
                       return left.effect == right.effect && equal(task_.condition(left), right.condition);
                   });
        });
        if (!is_new) return number;
        task_.pre.add_row(pre);
        task_.effects.add_row(effects);
        auto& conditions = task_.effect_conditions;
        for (const Effect& e : conditional) {
            const auto begin = static_cast<uint32_t>(conditions.size());
            conditions.insert(conditions.end(), e.condition.begin(), e.condition.end());
            task_.conditional.push({begin, static_cast<uint32_t>(conditions.size()), e.effect});
        }
        task_.conditional.close_row();
        return number;
    }

    bool kept(int fact) const { return assignment_[fact].variable >= 0; }

    static const Assignment* find_variable(const std::vector<Assignment>& assignments, int variable) {
        for (const Assignment& a : assignments)
            if (a.variable == variable) return &a;
        return nullptr;
    }

    // Whether a sorted list has two values of one variable.
    static bool has_conflict(const std::vector<Assignment>& assignments) {
        auto same = [](Assignment a, Assignment b) { return a.variable == b.variable; };
        return std::ranges::adjacent_find(assignments, same) != assignments.end();
    }

    // The part of an effect's condition that the precondition does not imply; false if it can never fire.
    bool translate_condition(int op, const StripsEffect& effect, const std::vector<Assignment>& pre,
                             std::vector<Assignment>& result) {
        const auto condition = strips_.conditions[effect.condition];
        if (mutex_.exclusive({strips_.pre[op], condition}) || !translate(condition, result)) return false;
        bool possible = true;
        std::erase_if(result, [&](Assignment a) {
            const Assignment* required = find_variable(pre, a.variable);
            if (required && required->value != a.value) possible = false;
            return required && required->value == a.value;
        });
        return possible;
    }

    // False if the facts are mutex.
    bool translate(std::span<const int> facts, std::vector<Assignment>& result) const {
        for (int fact : facts) result.push_back(assignment_[fact]);
        sort_unique(result);
        return !has_conflict(result);
    }

    // Variables that need a value for "none of the facts": they start with it, or some operator deletes a
    // fact without adding another, or their only fact may be false in other initial states.
    std::vector<char> find_variables_that_may_be_empty(const std::vector<std::vector<int>>& variables) const {
        std::vector<char> needs_none(variables.size(), 0);
        for (size_t v = 0; v < variables.size(); ++v)
            needs_none[v] = (options_.keep_constant && variables[v].size() == 1) ||
                            std::none_of(variables[v].begin(), variables[v].end(),
                                         [&](int f) { return strips_.init[f]; });
        for (int op = 0; op < strips_.num_operators(); ++op)
            for (const StripsEffect& effect : strips_.effects[op])
                if (const int variable = assignment_[effect.fact].variable;
                    !effect.adds && variable >= 0 && !needs_none[variable])
                    needs_none[variable] = !is_replaced(op, effect);
        return needs_none;
    }

    // Whether each time a delete fires, some add on the same variable fires too.
    bool is_replaced(int op, const StripsEffect& deletion) const {
        const auto condition = strips_.conditions[deletion.condition];
        const auto is_implied = [&](int fact) {
            return std::ranges::find(condition, fact) != condition.end();
        };
        return std::ranges::any_of(strips_.effects[op], [&](const StripsEffect& effect) {
            return effect.adds && assignment_[effect.fact].variable == assignment_[deletion.fact].variable &&
                   std::ranges::all_of(strips_.conditions[effect.condition], is_implied);
        });
    }

    const StripsTask& strips_;
    const GroundingOptions& options_;
    Task& task_;
    MutexTest mutex_;
    std::vector<Assignment> assignment_;  // per STRIPS fact
    std::vector<int> none_;               // per variable: the value "none of those", or -1
    Numbering numbering_;                 // of operators by their parts
};

// The facts that the state keeps: those that some operator changes and, by default, that matter for the goal.
std::vector<char> choose_facts(const StripsTask& strips, const Relevance& relevance, bool keep_irrelevant) {
    if (!keep_irrelevant) return relevance.fact;
    std::vector<char> keep(strips.num_facts, 0);
    for (const StripsEffect& effect : strips.effects.data) keep[effect.fact] = 1;
    for (const auto* facts : {&strips.goal, &strips.pre.data, &strips.conditions.data})
        for (int fact : *facts) keep[fact] = 1;
    return keep;
}

}  // namespace

Task ground(std::shared_ptr<const LiftedTask> lifted, const GroundingOptions& options, const Limits& limits) {
    Reachability reached = explore(*lifted, limits);
    StripsTask strips = instantiate(*lifted, reached, options.keep_constant, limits);
    compile_away_negation(strips);
    auto groups = find_mutex_groups(strips, reached.facts, limits);
    Relevance relevance = find_relevant(strips);
    auto keep = choose_facts(strips, relevance, options.keep_irrelevant);

    Task task;
    task.lifted = lifted;
    TaskBuilder builder(strips, groups, options, task);
    builder.make_variables(cover(groups, keep), reached.facts);
    for (int op = 0; op < strips.num_operators(); ++op) {
        if ((op & 0xffff) == 0xffff) limits.check();
        if (options.keep_irrelevant || relevance.op[op]) builder.add_operator(op);
    }
    builder.set_goal();
    for (const auto& group : groups) {
        auto facts = builder.fact_of(group);
        if (facts.size() > 1) task.mutex_groups.push_back(std::move(facts));
    }
    task.parameter_tuples = std::move(reached.instances);
    return task;
}

}  // namespace hstar
