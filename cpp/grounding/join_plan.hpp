// The order in which the reachability analysis joins the atoms of a rule's body.
#pragma once
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "grounding/fact_table.hpp"
#include "task/lifted.hpp"

namespace hstar {

// Facts of one predicate, grouped by their arguments at some positions.
class FactIndex {
  public:
    FactIndex(const FactTable& facts, std::vector<int> key_positions)
        : facts_(facts), positions_(std::move(key_positions)), keys_({static_cast<int>(positions_.size())}) {}

    void add(int fact) {
        auto args = facts_.args(fact);
        key_.clear();
        for (int position : positions_) key_.push_back(args[position]);
        const auto [group, is_new] = keys_.intern(0, key_.data());
        if (is_new) groups_.emplace_back();
        groups_[group].push_back(fact);
    }

    // The facts with these arguments at the key positions; valid until the next one is added.
    std::span<const int> find(const int* key) const {
        const int group = keys_.find(0, key);
        return group < 0 ? std::span<const int>() : groups_[group];
    }
    const std::vector<int>& positions() const { return positions_; }
    int num_groups() const { return keys_.size(); }

  private:
    const FactTable& facts_;
    std::vector<int> positions_;
    std::vector<int> key_;
    FactTable keys_;  // the arguments at the key positions; the number is that of the group
    std::vector<std::vector<int>> groups_;
};

struct Rule {
    int schema = -1;  // the action whose instances it lists; -1 for a conditional effect
    std::vector<int> variable_types;
    std::vector<Literal> body;     // positive atoms
    std::vector<Literal> filters;  // (in)equalities and negated static atoms
    std::vector<Literal> heads;
};

struct Step {
    const Literal* atom = nullptr;  // null: enumerate the objects of a variable's type
    int variable = -1;
    FactIndex* index = nullptr;  // null: all arguments are bound, look the fact up
    bool skip_trigger = false;   // atoms before the trigger must not use the trigger fact again
    std::vector<int> binds;      // positions that bind a variable for the first time
    std::vector<int> compares;   // positions repeating a variable bound at an earlier position of this atom
    std::vector<const Literal*> filters;  // decidable once this step is done
    mutable std::vector<int> key;         // scratch: a step is active at most once at a time
};

struct JoinPlan {
    const Rule* rule;
    std::vector<Step> steps;  // the first one matches the trigger fact, if there is a trigger
};

// Plans joins and owns the indices that they look facts up in.
class JoinPlanner {
  public:
    JoinPlanner(const LiftedTask& lifted, const FactTable& facts, const std::vector<char>& is_fluent)
        : lifted_(lifted),
          facts_(facts),
          is_fluent_(is_fluent),
          indices_(lifted.predicates.size()),
          static_facts_(lifted.predicates.size()) {
        for (int fact = 0; fact < facts.size(); ++fact) {
            int predicate = facts.predicate(fact);
            if (!is_fluent[predicate]) static_facts_[predicate].push_back(fact);
        }
    }

    // A plan that begins with the body atom `trigger`, or with any atom if it is -1.
    JoinPlan plan(const Rule& rule, int trigger) {
        JoinPlan plan{&rule, {}};
        std::vector<char> bound(rule.variable_types.size(), 0);
        std::vector<char> atom_done(rule.body.size(), 0), filter_done(rule.filters.size(), 0);
        const auto add = [&](Step step) {
            for (size_t i = 0; i < rule.filters.size(); ++i)
                if (!filter_done[i] &&
                    bound_positions(rule.filters[i], bound).size() == rule.filters[i].args.size()) {
                    filter_done[i] = 1;
                    step.filters.push_back(&rule.filters[i]);
                }
            plan.steps.push_back(std::move(step));
        };
        if (trigger >= 0) {
            // The trigger fact is given, so it needs no index: bind() compares its constants.
            add(match(rule.body[trigger], {}, bound));
            atom_done[trigger] = 1;
        }
        while (std::ranges::count(atom_done, 0) > 0) {
            double fewest = -1;
            int next = -1;
            for (size_t i = 0; i < rule.body.size(); ++i) {
                if (atom_done[i]) continue;
                const double matches = expected_matches(rule, rule.body[i], bound);
                if (fewest < 0 || matches < fewest) fewest = matches, next = static_cast<int>(i);
            }
            const Literal& atom = rule.body[next];
            const auto positions = bound_positions(atom, bound);
            Step step = match(atom, positions, bound);
            if (positions.size() < atom.args.size()) step.index = index_for(atom.predicate, positions);
            step.skip_trigger = next < trigger;
            atom_done[next] = 1;
            add(std::move(step));
        }
        // Free parameters multiply the work of later steps, so they come after all atoms.
        std::vector<int> free;
        for (size_t v = 0; v < bound.size(); ++v)
            if (!bound[v]) free.push_back(static_cast<int>(v));
        std::ranges::stable_sort(free, {},
                                 [&](int v) { return lifted_.type_sets[rule.variable_types[v]].size(); });
        for (int v : free) {
            Step step;
            step.variable = v;
            bound[v] = 1;
            add(std::move(step));
        }
        if (plan.steps.empty()) add({});  // no parameters and no body: filters over constants only
        return plan;
    }

    void add_to_indices(int fact) {
        for (auto& [positions, index] : indices_[facts_.predicate(fact)]) index.add(fact);
    }

  private:
    FactIndex* index_for(int predicate, const std::vector<int>& positions) {
        auto [it, is_new] = indices_[predicate].try_emplace(positions, facts_, positions);
        if (is_new)
            for (int fact : static_facts_[predicate]) it->second.add(fact);
        return &it->second;
    }
    std::vector<int> bound_positions(const Literal& atom, const std::vector<char>& bound) const {
        std::vector<int> positions;
        for (size_t p = 0; p < atom.args.size(); ++p)
            if (!is_variable(atom.args[p]) || bound[atom.args[p]]) positions.push_back(static_cast<int>(p));
        return positions;
    }
    double expected_matches(const Rule& rule, const Literal& atom, const std::vector<char>& bound) {
        auto positions = bound_positions(atom, bound);
        if (positions.size() == atom.args.size()) return 0.0;
        if (!is_fluent_[atom.predicate]) {
            const auto facts = static_cast<double>(static_facts_[atom.predicate].size());
            if (positions.empty()) return facts;
            return facts / std::max(1, index_for(atom.predicate, positions)->num_groups());
        }
        double matches = 1;
        for (Term term : atom.args)
            if (is_variable(term) && !bound[term])
                matches *= static_cast<double>(lifted_.type_sets[rule.variable_types[term]].size());
        return matches;
    }
    // Matches an atom with facts that agree with it at some positions; binds its other variables.
    static Step match(const Literal& atom, const std::vector<int>& positions, std::vector<char>& bound) {
        Step step;
        step.atom = &atom;
        for (int p = 0; p < static_cast<int>(atom.args.size()); ++p) {
            if (std::ranges::find(positions, p) != positions.end()) continue;
            const Term term = atom.args[p];
            const bool binds = is_variable(term) && !bound[term];
            (binds ? step.binds : step.compares).push_back(p);
            if (binds) bound[term] = 1;
        }
        return step;
    }

    const LiftedTask& lifted_;
    const FactTable& facts_;
    const std::vector<char>& is_fluent_;
    std::vector<std::map<std::vector<int>, FactIndex>> indices_;  // per predicate: by positions
    std::vector<std::vector<int>> static_facts_;
};

}  // namespace hstar
