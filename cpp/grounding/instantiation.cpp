// From reached parameter tuples to ground operators. Static and unreachable atoms are evaluated, quantifiers
// are expanded, disjunctions are split into several operators or effects.
#include <algorithm>
#include <map>

#include "grounding/dnf.hpp"
#include "grounding/strips.hpp"
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

    const int* values(const std::vector<Term>& terms) {
        args_.resize(std::max<size_t>(1, terms.size()));
        for (size_t p = 0; p < terms.size(); ++p) args_[p] = value(terms[p]);
        return args_.data();
    }

    int find(const Literal& atom) { return reached_.facts.find(atom.predicate, values(atom.args)); }

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

    Dnf expand(const Formula& formula) {
        if (formula.kind == Formula::Kind::Literal) {
            int decided = decide(formula.literal);
            return decided == kNever ? kFalse : decided == kAlways ? kTrue : Dnf{{decided}};
        }
        const bool is_conjunction = formula.kind == Formula::Kind::All;
        Dnf result = is_conjunction ? kTrue : kFalse;
        const auto variable_at = [&](size_t depth) { return formula.variables[depth]; };
        enumerate(formula.variable_types, variable_at, nullptr, [&] {
            for (const Formula& part : formula.parts) {
                meter_.spend(kLookup * (1 + result.size()));
                is_conjunction ? conjoin(result, expand(part)) : disjoin(result, expand(part));
                if (is_conjunction ? result.empty() : result == kTrue) return false;
            }
            return true;
        });
        tidy(result);
        return result;
    }

    // Calls visit() for all objects of these types as values of the variables from `depth` on, until it
    // returns false. Leaves out values with which a literal of `needed` cannot hold.
    template <class VariableAt, class Visit>
    bool enumerate(const std::vector<int>& types, VariableAt variable_at, const Condition* needed,
                   Visit visit, size_t depth = 0) {
        if (depth == types.size()) return visit();
        const int variable = variable_at(depth);
        if (static_cast<size_t>(variable) >= binding_.size()) binding_.resize(variable + 1, 0);
        for (int object : lifted_.type_sets[types[depth]]) {
            meter_.spend(kLookup);
            binding_[variable] = object;
            if (needed && !may_hold(*needed, variable)) continue;
            if (!enumerate(types, variable_at, needed, visit, depth + 1)) return false;
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

    void collect_effects(const EffectSchema& effect, int num_parameters) {
        const auto variable_at = [&](size_t depth) { return num_parameters + static_cast<int>(depth); };
        enumerate(effect.variable_types, variable_at, &effect.condition, [&] {
            meter_.spend(kLookup);
            const int fact = find(effect.atom);
            if (fact < 0) return true;
            Dnf conditions = expand(effect.condition);
            meter_.spend(kLookup * conditions.size());
            for (auto& condition : conditions)
                ground_effects_.push_back({std::move(condition), fact, !effect.atom.negated});
            return true;
        });
    }

    // Whether the literals whose last variable was just bound can hold.
    bool may_hold(const Condition& condition, int last_variable) {
        return std::ranges::all_of(condition.literals, [&](const Literal& literal) {
            return literal.args.empty() || std::ranges::max(literal.args) != last_variable ||
                   decide(literal) != kNever;
        });
    }

    void add_operators(int schema_index, int instance) {
        const ActionSchema& schema = lifted_.schemas[schema_index];
        Dnf preconditions = expand(schema.precondition);
        if (preconditions.empty()) return;
        ground_effects_.clear();
        for (const EffectSchema& effect : schema.effects)
            collect_effects(effect, static_cast<int>(schema.parameter_types.size()));
        int64_t cost = schema.cost;
        for (const CostTerm& term : schema.cost_terms) cost += function_value(term);
        for (const Conjunction& pre : preconditions)
            emit(pre, ground_effects_, cost, {schema_index, static_cast<uint32_t>(instance)});
    }

    int64_t function_value(const CostTerm& term) {
        int entry = functions_.find(term.function, values(term.args));
        if (entry < 0) {
            std::string text = lifted_.functions[term.function];
            for (size_t p = 0; p < term.args.size(); ++p) text += " " + lifted_.objects[args_[p]];
            refuse("the cost (", text, ") has no value; add (= (", text, ") ...) to :init");
        }
        return lifted_.numbers[function_number_[entry]];
    }

    // Removes the part of a condition that the precondition implies; false if it can never hold.
    static bool simplify(Conjunction& condition, const Conjunction& pre) {
        const auto required = [&](int literal) { return std::ranges::binary_search(pre, literal); };
        if (std::ranges::any_of(condition, [&](int literal) { return required(literal ^ 1); })) return false;
        std::erase_if(condition, required);
        return true;
    }

    // Adds one operator, its effects simplified under its precondition.
    void emit(const Conjunction& pre, const std::vector<GroundEffect>& effects, int64_t cost,
              OperatorOrigin origin) {
        meter_.spend(kLookup * effects.size());
        auto required = [&](int literal) { return std::binary_search(pre.begin(), pre.end(), literal); };
        std::vector<int> add, del;
        std::vector<GroundEffect> conditional;
        for (GroundEffect effect : effects) {
            if (!simplify(effect.condition, pre)) continue;
            if (!effect.condition.empty())
                conditional.push_back(std::move(effect));
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
        for (int fact : add) task_.effects.push({fact, 0, true});
        for (int fact : del) task_.effects.push({fact, 0, false});
        for (const GroundEffect& effect : conditional) {
            const auto condition = static_cast<uint32_t>(task_.conditions.size());
            task_.effects.push({effect.fact, condition, effect.adds});
            task_.conditions.add_row(effect.condition);
        }
        task_.effects.close_row();
        task_.cost.push_back(cost);
        task_.origin.push_back(origin);
    }

    // If a fact may be both deleted and added, the delete gets the condition that no add fires. Afterwards
    // the order of effects does not matter.
    void resolve_conflicts(const Conjunction& pre, std::vector<int>& del,
                           std::vector<GroundEffect>& conditional) {
        if (conditional.empty()) return;
        std::vector<GroundEffect> effects;
        for (int fact : del) effects.push_back({{}, fact, false});
        effects.insert(effects.end(), conditional.begin(), conditional.end());
        std::multimap<int, Conjunction> adds;
        for (const GroundEffect& effect : conditional)
            if (effect.adds) adds.emplace(effect.fact, effect.condition);
        conditional.clear();
        std::vector<int> kept;
        for (const GroundEffect& effect : effects) {
            Dnf conditions{effect.condition};
            if (!effect.adds) {
                const auto [first, last] = adds.equal_range(effect.fact);
                const bool is_implied = first == last && std::ranges::binary_search(del, effect.fact);
                if (is_implied && !effect.condition.empty()) continue;
                for (auto add = first; add != last; ++add) {
                    Dnf negated;
                    for (int literal : add->second) negated.push_back({literal ^ 1});
                    meter_.spend(kLookup * (1 + conditions.size()) * negated.size());
                    conjoin(conditions, negated);
                }
            }
            tidy(conditions);
            for (Conjunction& condition : conditions) {
                // The new conditions may repeat or contradict the precondition.
                if (!simplify(condition, pre)) continue;
                if (condition.empty() && !effect.adds)
                    kept.push_back(effect.fact);
                else
                    conditional.push_back({std::move(condition), effect.fact, effect.adds});
            }
        }
        sort_unique(kept);
        del = std::move(kept);
    }

    void set_goal() {
        Dnf goal = kFalse;
        for (const GoalSchema& schema : lifted_.goals) {
            const auto variable_at = [](size_t depth) { return static_cast<int>(depth); };
            enumerate(schema.variable_types, variable_at, &schema.condition, [&] {
                meter_.spend(kLookup);
                disjoin(goal, expand(schema.condition));
                return true;
            });
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
