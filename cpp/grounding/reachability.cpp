#include "grounding/reachability.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "runtime/hash.hpp"

namespace hstar {

TypeTable::TypeTable(const LiftedTask& lifted) {
    for (const auto& objects : lifted.type_sets) {
        std::vector<char> member(lifted.objects.size(), 0);
        for (int object : objects) member[object] = 1;
        member_.push_back(std::move(member));
    }
}

namespace {

// Facts of one predicate, grouped by their arguments at the key positions.
class Index {
  public:
    Index(const FactTable& facts, std::vector<int> key_positions)
        : facts_(facts), positions_(std::move(key_positions)), table_(64, -1) {}

    void add(int fact) {
        size_t slot = find_slot(key_of(fact));
        int entry = static_cast<int>(entries_.size());
        entries_.push_back({fact, -1});
        if (table_[slot] < 0) {
            table_[slot] = static_cast<int>(groups_.size());
            groups_.push_back({entry, entry});
            if (groups_.size() * 2 > table_.size()) grow();
        } else {
            Group& group = groups_[table_[slot]];
            entries_[group.last].next = entry;
            group.last = entry;
        }
    }

    int first(const int* key) const {
        int group = table_[find_slot(key)];
        return group < 0 ? -1 : groups_[group].first;
    }
    int fact(int entry) const { return entries_[entry].fact; }
    int next(int entry) const { return entries_[entry].next; }
    const std::vector<int>& positions() const { return positions_; }
    double mean_group_size() const {
        return groups_.empty() ? 0.0
                               : static_cast<double>(entries_.size()) / static_cast<double>(groups_.size());
    }

  private:
    struct Entry {
        int fact, next;
    };
    struct Group {
        int first, last;
    };

    const int* key_of(int fact) {
        auto args = facts_.args(fact);
        key_.resize(positions_.size());
        for (size_t i = 0; i < positions_.size(); ++i) key_[i] = args[positions_[i]];
        return key_.data();
    }
    size_t find_slot(const int* key) const {
        size_t mask = table_.size() - 1;
        size_t slot = hash_ints(key, positions_.size(), 7) & mask;
        while (table_[slot] >= 0 && !matches(groups_[table_[slot]].first, key)) slot = (slot + 1) & mask;
        return slot;
    }
    bool matches(int entry, const int* key) const {
        auto args = facts_.args(entries_[entry].fact);
        for (size_t i = 0; i < positions_.size(); ++i)
            if (args[positions_[i]] != key[i]) return false;
        return true;
    }
    void grow() {
        table_.assign(table_.size() * 2, -1);
        for (size_t group = 0; group < groups_.size(); ++group)
            table_[find_slot(key_of(entries_[groups_[group].first].fact))] = static_cast<int>(group);
    }

    const FactTable& facts_;
    std::vector<int> positions_;
    std::vector<int> key_;
    std::vector<int> table_;
    std::vector<Group> groups_;
    std::vector<Entry> entries_;
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
    Index* index = nullptr;     // null: all arguments are bound, look the fact up
    bool skip_trigger = false;  // atoms before the trigger must not use the trigger fact again
    std::vector<int> binds;     // positions that bind a variable for the first time
    std::vector<int> compares;  // positions repeating a variable bound at an earlier position of this atom
    std::vector<const Literal*> filters;  // decidable once this step is done
    mutable std::vector<int> key;         // scratch: a step is active at most once at a time
};

struct JoinPlan {
    const Rule* rule = nullptr;
    int trigger = -1;
    std::vector<Step> steps;  // the first one matches the trigger fact, if there is a trigger
};

class Explorer {
  public:
    Explorer(const LiftedTask& lifted, const Limits& limits)
        : lifted_(lifted),
          limits_(limits),
          types_(lifted),
          result_{FactTable(arities(lifted)), 0, {}, {}, {}} {}

    Reachability run() {
        find_fluents();
        build_rules();
        load_initial_facts();
        plan_joins();
        for (JoinPlan& plan : start_plans_) {
            binding_.assign(plan.rule->variable_types.size(), 0);
            extend(plan, 0, -1);
        }
        for (size_t head = 0; head < queue_.size(); ++head) {
            int fact = queue_[head];
            int predicate = result_.facts.predicate(fact);
            for (auto& index : indices_by_predicate_[predicate]) index->add(fact);
            for (JoinPlan& plan : triggered_[predicate]) {
                binding_.assign(plan.rule->variable_types.size(), 0);
                if (bind(plan, plan.steps[0], fact)) extend(plan, 1, fact);
            }
        }
        return std::move(result_);
    }

  private:
    static std::vector<int> arities(const LiftedTask& lifted) {
        auto arity = lifted.predicate_arity;
        arity.push_back(0);  // the artificial goal
        return arity;
    }

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
        indices_by_predicate_.resize(lifted_.predicates.size());
        index_of_.resize(lifted_.predicates.size());
        static_facts_.resize(lifted_.predicates.size());
        for (int fact = 0; fact < result_.facts.size(); ++fact) {
            int predicate = result_.facts.predicate(fact);
            if (!result_.is_fluent[predicate]) static_facts_[predicate].push_back(fact);
        }
    }

    Index* index_for(int predicate, const std::vector<int>& positions) {
        auto [it, is_new] = index_of_[predicate].try_emplace(positions, nullptr);
        if (is_new) {
            indices_by_predicate_[predicate].push_back(std::make_unique<Index>(result_.facts, positions));
            it->second = indices_by_predicate_[predicate].back().get();
            for (int fact : static_facts_[predicate]) it->second->add(fact);
        }
        return it->second;
    }

    void plan_joins() {
        triggered_.resize(lifted_.predicates.size());
        for (const Rule& rule : rules_) {
            bool has_fluent = false;
            for (size_t i = 0; i < rule.body.size(); ++i)
                if (result_.is_fluent[rule.body[i].predicate]) {
                    has_fluent = true;
                    triggered_[rule.body[i].predicate].push_back(plan_join(rule, static_cast<int>(i)));
                }
            if (!has_fluent) start_plans_.push_back(plan_join(rule, -1));
        }
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
        if (!result_.is_fluent[atom.predicate]) {
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

    JoinPlan plan_join(const Rule& rule, int trigger) {
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
            // The trigger fact is given, so nothing of it is a key: constants are compared in bind().
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
                // Free parameters multiply whatever follows, so they wait until all atoms are joined.
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

    void tick() {
        if (((++ticks_) & 0xffff) == 0) limits_.check();
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
        tick();
        auto args = result_.facts.args(fact);
        for (int position : step.binds) {
            int variable = step.atom->args[position];
            if (!types_.contains(plan.rule->variable_types[variable], args[position])) return false;
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
                tick();
                binding_[step.variable] = object;
                if (filters_hold(step)) extend(plan, depth + 1, trigger_fact);
            }
            return;
        }
        if (!step.index) {
            ground_args(*step.atom);
            int fact = result_.facts.find(step.atom->predicate, args_.data());
            if (fact < 0 || (step.skip_trigger && fact == trigger_fact) || !is_taken(fact, trigger_fact))
                return;
            if (filters_hold(step)) extend(plan, depth + 1, trigger_fact);
            return;
        }
        const auto& positions = step.index->positions();
        step.key.resize(positions.size());
        for (size_t i = 0; i < positions.size(); ++i) step.key[i] = value(step.atom->args[positions[i]]);
        for (int entry = step.index->first(step.key.data()); entry >= 0; entry = step.index->next(entry)) {
            int fact = step.index->fact(entry);
            if (step.skip_trigger && fact == trigger_fact) continue;
            if (bind(plan, step, fact)) extend(plan, depth + 1, trigger_fact);
        }
    }

    // Facts still in the queue are known to the table but must not take part in joins yet. Fluent facts enter
    // the queue in the order of their ids, so an id comparison tells.
    bool is_taken(int fact, int trigger_fact) const {
        return !result_.is_fluent[result_.facts.predicate(fact)] || fact <= trigger_fact;
    }

    void conclude(const Rule& rule) {
        tick();
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
    const Limits& limits_;
    TypeTable types_;
    Reachability result_;
    std::vector<Rule> rules_;
    std::vector<JoinPlan> start_plans_;
    std::vector<std::vector<JoinPlan>> triggered_;  // by predicate of the trigger atom
    std::vector<std::map<std::vector<int>, Index*>> index_of_;
    std::vector<std::vector<std::unique_ptr<Index>>> indices_by_predicate_;
    std::vector<std::vector<int>> static_facts_;
    std::vector<int> queue_;
    std::vector<int> binding_;
    std::vector<int> args_;
    uint64_t ticks_ = 0;
};

}  // namespace

Reachability explore(const LiftedTask& lifted, const Limits& limits) {
    return Explorer(lifted, limits).run();
}

}  // namespace hstar
