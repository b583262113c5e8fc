#include "grounding/instantiation.hpp"

#include <algorithm>
#include <unordered_map>

#include "grounding/dnf.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

class Instantiator {
  public:
    Instantiator(const LiftedTask& lifted, Reachability& reached, const Limits& limits)
        : lifted_(lifted), reached_(reached), meter_(limits), functions_(lifted.function_arity) {
        size_t at = 0;
        while (at < lifted.function_values.size()) {
            int function = lifted.function_values[at];
            const int* args = lifted.function_values.data() + at + 1;
            auto [entry, is_new] = functions_.intern(function, args);
            at += 1 + lifted.function_arity[function];
            if (is_new) function_number_.push_back(lifted.function_values[at]);
            ++at;
        }
    }

    StripsTask run(bool keep_added) {
        for (size_t i = 0; i < lifted_.schemas.size(); ++i) {
            int arity = static_cast<int>(lifted_.schemas[i].parameter_types.size());
            for (int instance = 0; instance < reached_.instance_count[i]; ++instance) {
                meter_.spend(kLookup);
                binding_.assign(reached_.instances[i].begin() + static_cast<int64_t>(instance) * arity,
                                reached_.instances[i].begin() + static_cast<int64_t>(instance + 1) * arity);
                add_operators(static_cast<int>(i), instance);
            }
        }
        set_goal();
        task_.num_facts = reached_.facts.size();
        task_.init.assign(task_.num_facts, 0);
        std::fill(task_.init.begin(), task_.init.begin() + reached_.num_initial_facts, 1);
        return remove_constant_facts(task_, keep_added);
    }

  private:
    static constexpr uint64_t kLookup = 8;  // units of work to find a fact or to copy a short condition

    int value(Term term) const { return is_variable(term) ? binding_[term] : ~term; }

    int find(const Literal& atom) {
        args_.resize(std::max<size_t>(1, atom.args.size()));
        for (size_t p = 0; p < atom.args.size(); ++p) args_[p] = value(atom.args[p]);
        return reached_.facts.find(atom.predicate, args_.data());
    }

    // The value of a literal if it is constant (kNever, kAlways), else the ground literal to test.
    static constexpr int kNever = -1, kAlways = -2;
    int decide(const Literal& literal) {
        if (literal.predicate == kEquality)
            return (value(literal.args[0]) == value(literal.args[1])) != literal.negated ? kAlways : kNever;
        int fact = find(literal);
        if (fact < 0) return literal.negated ? kAlways : kNever;
        if (!reached_.is_fluent[literal.predicate]) return literal.negated ? kNever : kAlways;
        return literal.negated ? negative(fact) : positive(fact);
    }

    bool decide_all(const std::vector<Literal>& literals, Conjunction& result) {
        for (const Literal& literal : literals) {
            int decided = decide(literal);
            if (decided == kNever) return false;
            if (decided != kAlways) result.push_back(decided);
        }
        return tidy(result);
    }

    static bool is_conjunction(const Formula& formula) {
        return formula.kind == Formula::Kind::And || formula.kind == Formula::Kind::Forall;
    }

    Dnf expand(const Formula& formula) {
        if (formula.kind == Formula::Kind::Literal) {
            int decided = decide(formula.literal);
            return decided == kNever ? kFalse : decided == kAlways ? kTrue : Dnf{{decided}};
        }
        Dnf result = is_conjunction(formula) ? kTrue : kFalse;
        expand_parts(formula, 0, result);
        tidy(result);
        return result;
    }

    // For all objects from variable `depth` on. Returns false once the result cannot change any more.
    bool expand_parts(const Formula& formula, size_t depth, Dnf& result) {
        if (depth == formula.variables.size()) {
            for (const Formula& part : formula.parts) {
                meter_.spend(kLookup * (1 + result.size()));
                is_conjunction(formula) ? conjoin(result, expand(part)) : disjoin(result, expand(part));
                if (is_conjunction(formula) ? result.empty() : is_true(result)) return false;
            }
            return true;
        }
        int variable = formula.variables[depth];
        if (static_cast<size_t>(variable) >= binding_.size()) binding_.resize(variable + 1, 0);
        for (int object : lifted_.type_sets[formula.variable_types[depth]]) {
            meter_.spend(kLookup);
            binding_[variable] = object;
            if (!expand_parts(formula, depth + 1, result)) return false;
        }
        return true;
    }

    Dnf expand(const Condition& condition) {
        Conjunction literals;
        if (!decide_all(condition.literals, literals)) return kFalse;
        Dnf result{literals};
        for (const Formula& formula : condition.formulas) {
            if (result.empty()) break;
            conjoin(result, expand(formula));
        }
        tidy(result);
        return result;
    }

    struct GroundEffect {
        Conjunction condition;
        int fact;
        bool adds;
    };

    void collect_effects(const EffectSchema& effect, size_t depth, size_t num_parameters) {
        if (depth < effect.variable_types.size()) {
            size_t variable = num_parameters + depth;
            if (variable >= binding_.size()) binding_.resize(variable + 1, 0);
            for (int object : lifted_.type_sets[effect.variable_types[depth]]) {
                meter_.spend(kLookup);
                binding_[variable] = object;
                if (may_hold(effect.condition, variable)) collect_effects(effect, depth + 1, num_parameters);
            }
            return;
        }
        meter_.spend(kLookup);
        int fact = find(effect.atom);
        if (fact < 0) return;
        Dnf conditions = expand(effect.condition);
        meter_.spend(kLookup * conditions.size());
        for (auto& condition : conditions)
            ground_effects_.push_back({std::move(condition), fact, !effect.atom.negated});
    }

    // Prunes the enumeration of quantified effects, by the literals whose last variable was just bound.
    bool may_hold(const Condition& condition, size_t last_variable) {
        for (const Literal& literal : condition.literals) {
            bool decidable = true, uses_last = false;
            for (Term term : literal.args) {
                if (!is_variable(term)) continue;
                if (static_cast<size_t>(term) > last_variable) decidable = false;
                if (static_cast<size_t>(term) == last_variable) uses_last = true;
            }
            if (decidable && uses_last && decide(literal) == kNever) return false;
        }
        return true;
    }

    void add_operators(int schema_index, int instance) {
        const ActionSchema& schema = lifted_.schemas[schema_index];
        Dnf preconditions = expand(schema.precondition);
        if (preconditions.empty()) return;
        ground_effects_.clear();
        for (const EffectSchema& effect : schema.effects)
            collect_effects(effect, 0, schema.parameter_types.size());
        int64_t cost = schema.cost;
        for (const CostTerm& term : schema.cost_terms) cost += function_value(term);
        for (const Conjunction& pre : preconditions)
            emit(pre, ground_effects_, cost, {schema_index, static_cast<uint32_t>(instance)});
    }

    int64_t function_value(const CostTerm& term) {
        args_.resize(std::max<size_t>(1, term.args.size()));
        for (size_t p = 0; p < term.args.size(); ++p) args_[p] = value(term.args[p]);
        int entry = functions_.find(term.function, args_.data());
        if (entry < 0) {
            std::string text = lifted_.functions[term.function];
            for (size_t p = 0; p < term.args.size(); ++p) text += " " + lifted_.objects[args_[p]];
            refuse("the cost (", text, ") has no value; add (= (", text, ") ...) to :init");
        }
        return lifted_.numbers[function_number_[entry]];
    }

    // Adds one operator, its effects simplified under its precondition.
    void emit(const Conjunction& pre, const std::vector<GroundEffect>& effects, int64_t cost,
              OperatorOrigin origin) {
        meter_.spend(kLookup * effects.size());
        auto required = [&](int literal) { return std::binary_search(pre.begin(), pre.end(), literal); };
        std::vector<int> add, del;
        std::vector<GroundEffect> conditional;
        for (const GroundEffect& effect : effects) {
            Conjunction condition;
            bool possible = true;
            for (int literal : effect.condition) {
                if (required(literal ^ 1)) possible = false;
                if (!required(literal)) condition.push_back(literal);
            }
            if (!possible) continue;
            if (!condition.empty())
                conditional.push_back({condition, effect.fact, effect.adds});
            else
                (effect.adds ? add : del).push_back(effect.fact);
        }
        sort_unique(add);
        sort_unique(del);
        auto added = [&](int fact) { return std::binary_search(add.begin(), add.end(), fact); };
        std::erase_if(del, added);
        // An unconditional effect makes conditional ones on the same fact pointless (add wins over delete).
        std::erase_if(conditional, [&](const GroundEffect& e) { return added(e.fact); });
        resolve_conflicts(pre, del, conditional);
        std::erase_if(add, [&](int fact) { return required(positive(fact)); });
        std::erase_if(del, [&](int fact) { return required(negative(fact)); });
        if (add.empty() && del.empty() && conditional.empty()) return;

        task_.pre.add_row(pre);
        task_.add.add_row(add);
        task_.del.add_row(del);
        for (const GroundEffect& effect : conditional) {
            task_.conditional.push(task_.effects.size());
            task_.effects.fact.push_back(effect.fact);
            task_.effects.adds.push_back(effect.adds);
            task_.effects.condition.add_row(effect.condition);
        }
        task_.conditional.close_row();
        task_.cost.push_back(cost);
        task_.origin.push_back(origin);
    }

    // If a fact may be both deleted and added, the delete gets the condition that no add fires. Afterwards
    // the order of effects does not matter.
    void resolve_conflicts(const Conjunction& pre, std::vector<int>& del,
                           std::vector<GroundEffect>& conditional) {
        std::unordered_map<int, std::vector<Conjunction>> adds_of;
        for (const GroundEffect& effect : conditional)
            if (effect.adds) adds_of[effect.fact].push_back(effect.condition);
        auto conflicting_adds = [&](int fact) -> const std::vector<Conjunction>& {
            static const std::vector<Conjunction> kNone;
            auto found = adds_of.find(fact);
            return found == adds_of.end() ? kNone : found->second;
        };
        auto unless = [&](Conjunction condition, const std::vector<Conjunction>& adds) {
            Dnf remaining{condition};
            for (const Conjunction& add : adds) {
                Dnf negated;
                for (int literal : add) negated.push_back({literal ^ 1});
                meter_.spend(kLookup * (1 + remaining.size()) * negated.size());
                conjoin(remaining, negated);
            }
            tidy(remaining);
            return remaining;
        };
        std::vector<GroundEffect> resolved;
        std::vector<int> kept;
        for (int fact : del) {
            const auto& adds = conflicting_adds(fact);
            if (adds.empty()) {
                kept.push_back(fact);
                continue;
            }
            for (auto& condition : unless({}, adds)) resolved.push_back({condition, fact, false});
        }
        for (const GroundEffect& effect : conditional) {
            if (effect.adds) {
                resolved.push_back(effect);
                continue;
            }
            if (std::binary_search(kept.begin(), kept.end(), effect.fact)) continue;
            const auto& adds = conflicting_adds(effect.fact);
            if (adds.empty()) {
                resolved.push_back(effect);
                continue;
            }
            for (auto& condition : unless(effect.condition, adds))
                resolved.push_back({condition, effect.fact, false});
        }
        // The new conditions may repeat or contradict the precondition.
        std::vector<GroundEffect> simplified;
        for (GroundEffect& effect : resolved) {
            bool possible = true;
            std::erase_if(effect.condition, [&](int literal) {
                if (std::binary_search(pre.begin(), pre.end(), literal ^ 1)) possible = false;
                return std::binary_search(pre.begin(), pre.end(), literal);
            });
            if (!possible) continue;
            if (effect.condition.empty() && !effect.adds)
                kept.push_back(effect.fact);
            else
                simplified.push_back(std::move(effect));
        }
        sort_unique(kept);
        del = std::move(kept);
        conditional = std::move(simplified);
    }

    void set_goal() {
        Dnf goal = kFalse;
        for (const GoalSchema& schema : lifted_.goals) {
            binding_.assign(schema.variable_types.size(), 0);
            expand_goal(schema, 0, goal);
        }
        tidy(goal);
        if (goal.empty()) {
            task_.goal_is_false = true;
        } else if (goal.size() == 1) {
            task_.goal = goal[0];
        } else {
            int no_args = 0;
            int fact = reached_.facts.intern(artificial_goal_predicate(lifted_), &no_args).first;
            for (const Conjunction& disjunct : goal) emit(disjunct, {{{}, fact, true}}, 0, {});
            task_.goal = {positive(fact)};
        }
    }

    void expand_goal(const GoalSchema& schema, size_t depth, Dnf& goal) {
        if (depth == schema.variable_types.size()) {
            meter_.spend(kLookup);
            disjoin(goal, expand(schema.condition));
            return;
        }
        for (int object : lifted_.type_sets[schema.variable_types[depth]]) {
            meter_.spend(kLookup);
            binding_[depth] = object;
            if (may_hold(schema.condition, depth)) expand_goal(schema, depth + 1, goal);
        }
    }

    const LiftedTask& lifted_;
    Reachability& reached_;
    WorkMeter meter_;
    FactTable functions_;
    std::vector<int> function_number_;
    StripsTask task_;
    std::vector<int> binding_;
    std::vector<int> args_;
    std::vector<GroundEffect> ground_effects_;
};

}  // namespace

StripsTask instantiate(const LiftedTask& lifted, Reachability& reached, bool keep_added,
                       const Limits& limits) {
    return Instantiator(lifted, reached, limits).run(keep_added);
}

}  // namespace hstar
