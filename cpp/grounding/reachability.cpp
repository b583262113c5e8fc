// Relaxed reachability of a lifted task by semi-naive joins.
//
// Every action schema is a Datalog rule: its positive preconditions are the body, its add effects the heads;
// each conditional effect is one more rule whose body also holds the effect's condition. Facts are taken from
// a queue one at a time. A new fact is matched with each body atom of its predicate, and the rest of the body
// is completed by index look-ups in an order fixed beforehand (smallest expected number of matches first).
// Every combination is found exactly once: body atoms before the matched one must use older facts. Parameter
// products are never enumerated, except for parameters that no positive precondition mentions.
#include <algorithm>

#include "grounding/join_plan.hpp"
#include "grounding/strips.hpp"

namespace hstar {

namespace {

class Explorer {
  public:
    Explorer(const LiftedTask& lifted, const Limits& limits)
        : lifted_(lifted), meter_(limits), result_{FactTable(arities_of_atoms(lifted)), 0, {}, {}, {}} {
        for (const auto& objects : lifted.type_sets) {
            is_of_type_.emplace_back(lifted.objects.size(), 0);
            for (int object : objects) is_of_type_.back()[object] = 1;
        }
    }

    Reachability run() {
        find_fluents();
        build_rules();
        load_initial_facts();
        JoinPlanner planner(lifted_, result_.facts, result_.is_fluent);
        plan_joins(planner);
        for (const JoinPlan& plan : start_plans_) {
            binding_.assign(plan.rule->variable_types.size(), 0);
            extend(plan, 0, -1);
        }
        for (size_t head = 0; head < queue_.size(); ++head) {
            int fact = queue_[head];
            planner.add_to_indices(fact);
            for (const JoinPlan& plan : triggered_[result_.facts.predicate(fact)]) {
                binding_.assign(plan.rule->variable_types.size(), 0);
                if (bind(plan, plan.steps[0], fact)) extend(plan, 1, fact);
            }
        }
        return std::move(result_);
    }

  private:
    void find_fluents() {
        result_.is_fluent.assign(lifted_.predicates.size() + 1, 0);
        result_.is_fluent[artificial_goal_predicate(lifted_)] = 1;
        for (const auto& schema : lifted_.schemas)
            for (const auto& effect : schema.effects) result_.is_fluent[effect.atom.predicate] = 1;
        result_.instances.resize(lifted_.schemas.size());
        result_.instance_count.assign(lifted_.schemas.size(), 0);
    }

    void add_condition(Rule& rule, const Condition& condition) {
        for (const Literal& literal : condition.literals) {
            if (literal.predicate == kEquality)
                rule.filters.push_back(literal);
            else if (!literal.negated)
                rule.body.push_back(literal);
            else if (!result_.is_fluent[literal.predicate])
                rule.filters.push_back(literal);
        }
    }

    void build_rules() {
        for (size_t i = 0; i < lifted_.schemas.size(); ++i) {
            const ActionSchema& schema = lifted_.schemas[i];
            Rule rule;
            rule.schema = static_cast<int>(i);
            rule.variable_types = schema.parameter_types;
            add_condition(rule, schema.precondition);
            for (const EffectSchema& effect : schema.effects) {
                if (effect.atom.negated) continue;
                if (effect.variable_types.empty() && effect.condition.literals.empty() &&
                    effect.condition.formulas.empty()) {
                    rule.heads.push_back(effect.atom);
                    continue;
                }
                Rule conditional;
                conditional.variable_types = schema.parameter_types;
                conditional.variable_types.insert(conditional.variable_types.end(),
                                                  effect.variable_types.begin(), effect.variable_types.end());
                add_condition(conditional, schema.precondition);
                add_condition(conditional, effect.condition);
                conditional.heads.push_back(effect.atom);
                rules_.push_back(std::move(conditional));
            }
            rules_.push_back(std::move(rule));
        }
    }

    void load_initial_facts() {
        size_t at = 0;
        while (at < lifted_.init.size()) {
            int predicate = lifted_.init[at];
            auto [fact, is_new] = result_.facts.intern(predicate, lifted_.init.data() + at + 1);
            if (is_new && result_.is_fluent[predicate]) queue_.push_back(fact);
            at += 1 + lifted_.predicate_arity[predicate];
        }
        result_.num_initial_facts = result_.facts.size();
    }

    void plan_joins(JoinPlanner& planner) {
        triggered_.resize(lifted_.predicates.size());
        for (const Rule& rule : rules_) {
            bool has_fluent = false;
            for (size_t i = 0; i < rule.body.size(); ++i)
                if (result_.is_fluent[rule.body[i].predicate]) {
                    has_fluent = true;
                    triggered_[rule.body[i].predicate].push_back(planner.plan(rule, static_cast<int>(i)));
                }
            if (!has_fluent) start_plans_.push_back(planner.plan(rule, -1));
        }
    }

    int value(Term term) const { return is_variable(term) ? binding_[term] : ~term; }

    bool filters_hold(const Step& step) {
        for (const Literal* filter : step.filters) {
            bool holds;
            if (filter->predicate == kEquality) {
                holds = value(filter->args[0]) == value(filter->args[1]);
            } else {
                ground_args(*filter);
                holds = result_.facts.find(filter->predicate, args_.data()) >= 0;
            }
            if (holds == filter->negated) return false;
        }
        return true;
    }

    void ground_args(const Literal& atom) {
        args_.resize(std::max<size_t>(1, atom.args.size()));
        for (size_t p = 0; p < atom.args.size(); ++p) args_[p] = value(atom.args[p]);
    }

    // Binds the step's variables to the fact's arguments; false if types, repeated variables or filters
    // disagree.
    bool bind(const JoinPlan& plan, const Step& step, int fact) {
        meter_.spend();
        auto args = result_.facts.args(fact);
        for (int position : step.binds) {
            int variable = step.atom->args[position];
            if (!is_of_type_[plan.rule->variable_types[variable]][args[position]]) return false;
            binding_[variable] = args[position];
        }
        for (int position : step.compares)
            if (value(step.atom->args[position]) != args[position]) return false;
        return filters_hold(step);
    }

    void extend(const JoinPlan& plan, size_t depth, int trigger_fact) {
        if (depth == plan.steps.size()) {
            conclude(*plan.rule);
            return;
        }
        const Step& step = plan.steps[depth];
        if (!step.atom) {
            if (step.variable < 0) {
                if (filters_hold(step)) extend(plan, depth + 1, trigger_fact);
                return;
            }
            for (int object : lifted_.type_sets[plan.rule->variable_types[step.variable]]) {
                meter_.spend();
                binding_[step.variable] = object;
                if (filters_hold(step)) extend(plan, depth + 1, trigger_fact);
            }
            return;
        }
        if (!step.index) {
            ground_args(*step.atom);
            int fact = result_.facts.find(step.atom->predicate, args_.data());
            if (fact >= 0 && !(step.skip_trigger && fact == trigger_fact) && is_taken(fact, trigger_fact) &&
                filters_hold(step))
                extend(plan, depth + 1, trigger_fact);
            return;
        }
        const auto& positions = step.index->positions();
        step.key.resize(positions.size());
        for (size_t i = 0; i < positions.size(); ++i) step.key[i] = value(step.atom->args[positions[i]]);
        for (int fact : step.index->find(step.key.data())) {
            if (step.skip_trigger && fact == trigger_fact) continue;
            if (bind(plan, step, fact)) extend(plan, depth + 1, trigger_fact);
        }
    }

    // Facts in the queue are in the table, but must not take part in joins yet. Fluent facts enter the queue
    // in the order of their ids, so comparing ids is enough.
    bool is_taken(int fact, int trigger_fact) const {
        return !result_.is_fluent[result_.facts.predicate(fact)] || fact <= trigger_fact;
    }

    void conclude(const Rule& rule) {
        meter_.spend();
        if (rule.schema >= 0) {
            auto& tuples = result_.instances[rule.schema];
            tuples.insert(tuples.end(), binding_.begin(), binding_.end());
            ++result_.instance_count[rule.schema];
        }
        for (const Literal& head : rule.heads) {
            ground_args(head);
            auto [fact, is_new] = result_.facts.intern(head.predicate, args_.data());
            if (is_new) queue_.push_back(fact);
        }
    }

    const LiftedTask& lifted_;
    WorkMeter meter_;
    std::vector<std::vector<char>> is_of_type_;  // per type set and object
    Reachability result_;
    std::vector<Rule> rules_;
    std::vector<JoinPlan> start_plans_;
    std::vector<std::vector<JoinPlan>> triggered_;  // by predicate of the trigger atom
    std::vector<int> queue_;
    std::vector<int> binding_;
    std::vector<int> args_;
};

}  // namespace

Reachability explore(const LiftedTask& lifted, const Limits& limits) {
    return Explorer(lifted, limits).run();
}

}  // namespace hstar
