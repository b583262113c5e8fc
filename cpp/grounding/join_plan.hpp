// The order in which the reachability analysis joins the atoms of a rule's body.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "grounding/fact_index.hpp"
#include "task/lifted.hpp"

namespace hstar {

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
    const Rule* rule = nullptr;
    int trigger = -1;
    std::vector<Step> steps;  // the first one matches the trigger fact, if there is a trigger
};

// Plans joins and owns the indices that they look facts up in.
class JoinPlanner {
  public:
    JoinPlanner(const LiftedTask& lifted, const FactTable& facts, const std::vector<char>& is_fluent)
        : lifted_(lifted),
          facts_(facts),
          is_fluent_(is_fluent),
          index_of_(lifted.predicates.size()),
          indices_by_predicate_(lifted.predicates.size()),
          static_facts_(lifted.predicates.size()) {
        for (int fact = 0; fact < facts.size(); ++fact) {
            int predicate = facts.predicate(fact);
            if (!is_fluent[predicate]) static_facts_[predicate].push_back(fact);
        }
    }

    // A plan that begins with the body atom `trigger`, or with any atom if it is -1.
    JoinPlan plan(const Rule& rule, int trigger) {
        JoinPlan plan;
        plan.rule = &rule;
        plan.trigger = trigger;
        std::vector<char> bound(rule.variable_types.size(), 0);
        std::vector<char> atom_done(rule.body.size(), 0), filter_done(rule.filters.size(), 0);
        auto attach_filters = [&](Step& step) {
            for (size_t i = 0; i < rule.filters.size(); ++i)
                if (!filter_done[i] &&
                    bound_positions(rule.filters[i], bound).size() == rule.filters[i].args.size()) {
                    filter_done[i] = 1;
                    step.filters.push_back(&rule.filters[i]);
                }
        };
        if (trigger >= 0) {
            // The trigger fact is given, so it needs no index: bind() compares its constants.
            Step step;
            step.atom = &rule.body[trigger];
            for (size_t p = 0; p < step.atom->args.size(); ++p) {
                Term term = step.atom->args[p];
                if (is_variable(term) && !bound[term]) {
                    step.binds.push_back(static_cast<int>(p));
                    bound[term] = 1;
                } else {
                    step.compares.push_back(static_cast<int>(p));
                }
            }
            atom_done[trigger] = 1;
            attach_filters(step);
            plan.steps.push_back(std::move(step));
        }
        std::vector<char> in_body(rule.variable_types.size(), 0);
        for (const Literal& atom : rule.body)
            for (Term term : atom.args)
                if (is_variable(term)) in_body[term] = 1;
        while (true) {
            double best = -1;
            int best_atom = -1, best_variable = -1;
            for (size_t i = 0; i < rule.body.size(); ++i) {
                if (atom_done[i]) continue;
                double matches = expected_matches(rule, rule.body[i], bound);
                if (best < 0 || matches < best) best = matches, best_atom = static_cast<int>(i);
            }
            for (size_t v = 0; v < rule.variable_types.size(); ++v) {
                if (bound[v] || in_body[v]) continue;
                double matches = static_cast<double>(lifted_.type_sets[rule.variable_types[v]].size());
                // Free parameters multiply the work of later steps, so they come after all atoms.
                if (best_atom < 0 && (best < 0 || matches < best))
                    best = matches, best_variable = static_cast<int>(v);
            }
            Step step;
            if (best_atom >= 0) {
                step = make_step(rule.body[best_atom], bound);
                step.skip_trigger = best_atom < trigger;
                atom_done[best_atom] = 1;
            } else if (best_variable >= 0) {
                step.variable = best_variable;
                bound[best_variable] = 1;
            } else {
                break;
            }
            attach_filters(step);
            plan.steps.push_back(std::move(step));
        }
        if (plan.steps.empty()) {
            // No parameters and no body: filters over constants only.
            Step step;
            attach_filters(step);
            plan.steps.push_back(std::move(step));
        }
        return plan;
    }

    void add_to_indices(int fact) {
        for (auto& index : indices_by_predicate_[facts_.predicate(fact)]) index->add(fact);
    }

  private:
    FactIndex* index_for(int predicate, const std::vector<int>& positions) {
        auto [it, is_new] = index_of_[predicate].try_emplace(positions, nullptr);
        if (is_new) {
            indices_by_predicate_[predicate].push_back(std::make_unique<FactIndex>(facts_, positions));
            it->second = indices_by_predicate_[predicate].back().get();
            for (int fact : static_facts_[predicate]) it->second->add(fact);
        }
        return it->second;
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
            if (positions.empty()) return static_cast<double>(static_facts_[atom.predicate].size());
            return index_for(atom.predicate, positions)->mean_group_size();
        }
        double matches = 1;
        for (Term term : atom.args)
            if (is_variable(term) && !bound[term])
                matches *= static_cast<double>(lifted_.type_sets[rule.variable_types[term]].size());
        return matches;
    }
    Step make_step(const Literal& atom, std::vector<char>& bound) {
        Step step;
        step.atom = &atom;
        auto positions = bound_positions(atom, bound);
        if (positions.size() < atom.args.size()) step.index = index_for(atom.predicate, positions);
        for (size_t p = 0; p < atom.args.size(); ++p) {
            if (std::find(positions.begin(), positions.end(), static_cast<int>(p)) != positions.end())
                continue;
            if (bound[atom.args[p]]) {
                step.compares.push_back(static_cast<int>(p));
            } else {
                step.binds.push_back(static_cast<int>(p));
                bound[atom.args[p]] = 1;
            }
        }
        return step;
    }

    const LiftedTask& lifted_;
    const FactTable& facts_;
    const std::vector<char>& is_fluent_;
    std::vector<std::map<std::vector<int>, FactIndex*>> index_of_;
    std::vector<std::vector<std::unique_ptr<FactIndex>>> indices_by_predicate_;
    std::vector<std::vector<int>> static_facts_;
};

}  // namespace hstar
