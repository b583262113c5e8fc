#include "grounding/finite_domain.hpp"

#include <algorithm>

#include "grounding/duplicate_operators.hpp"
#include "grounding/instantiation.hpp"
#include "grounding/mutex_groups.hpp"
#include "grounding/reachability.hpp"
#include "grounding/strips.hpp"
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
    std::vector<std::vector<int>> by_size;
    auto insert = [&](int group, size_t size) {
        if (by_size.size() <= size) by_size.resize(size + 1);
        by_size[size].push_back(group);
    };
    for (int i = static_cast<int>(groups.size()) - 1; i >= 0; --i) insert(i, count(i));
    std::vector<std::vector<int>> variables;
    for (size_t size = by_size.size(); size-- > 2;) {
        while (!by_size[size].empty()) {
            int group = by_size[size].back();
            by_size[size].pop_back();
            size_t now = count(group);
            if (now != size) {
                insert(group, now);
                continue;
            }
            variables.emplace_back();
            for (int fact : groups[group])
                if (uncovered[fact]) {
                    variables.back().push_back(fact);
                    uncovered[fact] = 0;
                }
        }
    }
    for (size_t fact = 0; fact < keep.size(); ++fact)
        if (uncovered[fact]) variables.push_back({static_cast<int>(fact)});
    return variables;
}

// Tests whether two of some facts are in one mutex group, so that they exclude each other.
class MutexTest {
  public:
    MutexTest(const std::vector<std::vector<int>>& groups, int num_facts) : seen_(groups.size(), 0) {
        Rows<int> members;
        for (const auto& group : groups) members.add_row(group);
        groups_of_ = transpose(members, num_facts);
    }
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
        : strips_(strips),
          options_(options),
          task_(task),
          mutex_(groups, strips.num_facts),
          duplicates_(task) {}

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
        struct Effect {
            std::vector<Assignment> condition;
            Assignment effect;
        };
        std::vector<Effect> adds, deletes;  // conditional ones
        for (int fact : strips_.add[op])
            if (kept(fact)) effects.push_back(assignment_[fact]);
        for (int effect : strips_.conditional[op]) {
            int fact = strips_.effects.fact[effect];
            std::vector<Assignment> condition;
            if (!kept(fact) || !translate_condition(op, effect, pre, condition)) continue;
            if (!strips_.effects.adds[effect])
                deletes.push_back({std::move(condition), assignment_[fact]});
            else if (condition.empty())
                effects.push_back(assignment_[fact]);
            else
                adds.push_back({std::move(condition), assignment_[fact]});
        }
        for (int fact : strips_.del[op])
            if (kept(fact)) deletes.push_back({{}, assignment_[fact]});
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

        task_.pre.add_row(pre);
        task_.effects.add_row(effects);
        for (const Effect& effect : conditional) {
            auto begin = static_cast<uint32_t>(task_.effect_conditions.size());
            task_.effect_conditions.insert(task_.effect_conditions.end(), effect.condition.begin(),
                                           effect.condition.end());
            task_.conditional.push(
                {begin, static_cast<uint32_t>(task_.effect_conditions.size()), effect.effect});
        }
        task_.conditional.close_row();
        if (strips_.cost[op] > kMaxCost)
            refuse("an action costs ", strips_.cost[op], " times the smallest unit of all costs; at most ",
                   kMaxCost, " are supported, so round the costs");
        task_.cost.push_back(static_cast<int>(strips_.cost[op]));
        task_.op_schema.push_back(strips_.origin[op].schema);
        task_.op_tuple.push_back(strips_.origin[op].instance);
        duplicates_.merge_last();
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
    bool translate_condition(int op, int effect, const std::vector<Assignment>& pre,
                             std::vector<Assignment>& result) {
        if (mutex_.exclusive({strips_.pre[op], strips_.effects.condition[effect]})) return false;
        if (!translate(strips_.effects.condition[effect], result)) return false;
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
        for (int op = 0; op < strips_.num_operators(); ++op) {
            for (int fact : strips_.del[op]) {
                if (!kept(fact) || needs_none[assignment_[fact].variable]) continue;
                int variable = assignment_[fact].variable;
                auto add = strips_.add[op];
                needs_none[variable] = std::none_of(
                    add.begin(), add.end(), [&](int f) { return assignment_[f].variable == variable; });
            }
            for (int effect : strips_.conditional[op]) {
                int fact = strips_.effects.fact[effect];
                if (strips_.effects.adds[effect] || !kept(fact)) continue;
                int variable = assignment_[fact].variable;
                if (!replaced(op, effect, variable)) needs_none[variable] = 1;
            }
        }
        return needs_none;
    }

    // Whether each time a conditional delete fires, some add on the same variable fires too.
    bool replaced(int op, int deletion, int variable) const {
        for (int fact : strips_.add[op])
            if (assignment_[fact].variable == variable) return true;
        auto condition = strips_.effects.condition[deletion];
        for (int effect : strips_.conditional[op]) {
            if (!strips_.effects.adds[effect] ||
                assignment_[strips_.effects.fact[effect]].variable != variable)
                continue;
            auto needed = strips_.effects.condition[effect];
            bool implied = std::all_of(needed.begin(), needed.end(), [&](int literal) {
                return std::find(condition.begin(), condition.end(), literal) != condition.end();
            });
            if (implied) return true;
        }
        return false;
    }

    const StripsTask& strips_;
    const GroundingOptions& options_;
    Task& task_;
    MutexTest mutex_;
    std::vector<Assignment> assignment_;  // per STRIPS fact
    std::vector<int> none_;               // per variable: the value "none of those", or -1
    DuplicateOperators duplicates_;
};

// The facts that the state keeps: those that some operator changes and, by default, that matter for the goal.
std::vector<char> choose_facts(const StripsTask& strips, const Relevance& relevance, bool keep_irrelevant) {
    if (!keep_irrelevant) return relevance.fact;
    std::vector<char> keep(strips.num_facts, 0);
    for (const auto* facts : {&strips.add.data, &strips.del.data, &strips.effects.fact, &strips.goal,
                              &strips.pre.data, &strips.effects.condition.data})
        for (int fact : *facts) keep[fact] = 1;
    return keep;
}

}  // namespace

Task ground(std::shared_ptr<const LiftedTask> lifted, const GroundingOptions& options, const Limits& limits) {
    Reachability reached = explore(*lifted, limits);
    StripsTask strips = instantiate(*lifted, reached, options.keep_constant, limits);
    compile_away_negation(strips);
    int num_predicates = static_cast<int>(lifted->predicates.size()) + 1;
    auto groups = find_mutex_groups(strips, reached.facts, num_predicates, limits);
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
