#include <memory>
#include <random>
#include <string>
#include <vector>

#include "task/lifted.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

class RandomTask {
  public:
    explicit RandomTask(int seed) : random_(seed) {
        auto lifted = std::make_shared<LiftedTask>();
        int num_objects = number(2, 4), num_predicates = number(2, 4);
        for (int i = 0; i < num_objects; ++i) lifted->objects.push_back("o" + std::to_string(i));
        for (int i = 0; i < num_predicates; ++i) {
            lifted->predicates.push_back("p" + std::to_string(i));
            lifted->predicate_arity.push_back(number(0, 2));
        }
        std::vector<int> all, some;
        for (int i = 0; i < num_objects; ++i) {
            all.push_back(i);
            if (i % 2 == 0) some.push_back(i);
        }
        lifted->type_sets = {all, some};
        lifted_ = lifted;
        int num_actions = number(2, 5);
        for (int a = 0; a < num_actions; ++a) {
            lifted->actions.push_back("a" + std::to_string(a));
            ActionSchema schema;
            schema.action = a;
            int arity = number(0, 2);
            lifted->action_arity.push_back(arity);
            for (int i = 0; i < arity; ++i) schema.parameter_types.push_back(number(0, 1));
            schema.precondition = condition(arity, number(0, 2));
            for (int i = number(1, 3); i > 0; --i) {
                EffectSchema effect;
                int variables = arity;
                if (number(0, 4) == 0) effect.variable_types.push_back(number(0, 1)), ++variables;
                if (number(0, 2) == 0) effect.condition = condition(variables, number(1, 2));
                effect.atom = literal(variables);
                schema.effects.push_back(effect);
            }
            schema.cost = number(0, 3);
            lifted->schemas.push_back(schema);
        }
        for (int p = 0; p < num_predicates; ++p) {
            std::vector<int> args(lifted->predicate_arity[p], 0);
            int tuples = 1;
            for (size_t i = 0; i < args.size(); ++i) tuples *= num_objects;
            for (int t = 0; t < tuples; ++t) {
                if (number(0, 2) != 0) continue;
                lifted->init.push_back(p);
                int rest = t;
                for (size_t i = 0; i < args.size(); ++i, rest /= num_objects)
                    lifted->init.push_back(rest % num_objects);
            }
        }
        for (int i = number(1, 4) == 1 ? 2 : 1; i > 0; --i)
            lifted->goals.push_back({{}, condition(0, number(1, 2))});
    }

    std::shared_ptr<const LiftedTask> lifted() const { return lifted_; }

  private:
    int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
    Term term(int variables) {
        int objects = static_cast<int>(lifted_->objects.size());
        return variables > 0 && number(0, 3) > 0 ? number(0, variables - 1) : ~number(0, objects - 1);
    }
    Literal literal(int variables) {
        Literal result;
        result.predicate = number(0, static_cast<int>(lifted_->predicates.size()) - 1);
        result.negated = number(0, 2) == 0;
        for (int i = 0; i < lifted_->predicate_arity[result.predicate]; ++i)
            result.args.push_back(term(variables));
        return result;
    }
    Condition condition(int variables, int count) {
        Condition result;
        for (int i = 0; i < count; ++i) result.literals.push_back(literal(variables));
        if (variables == 2 && number(0, 3) == 0) result.literals.push_back({kEquality, true, {0, 1}});
        if (number(0, 5) == 0) {
            Formula body;
            body.kind = Formula::Kind::Any;
            for (int i = 0; i < 2; ++i) {
                Formula part;
                part.kind = Formula::Kind::Literal;
                part.literal = literal(variables + 1);
                body.parts.push_back(part);
            }
            Formula quantified;
            quantified.kind = number(0, 1) ? Formula::Kind::All : Formula::Kind::Any;
            quantified.variables = {variables};
            quantified.variable_types = {number(0, 1)};
            quantified.parts = {body};
            result.formulas.push_back(quantified);
        }
        return result;
    }

    std::mt19937 random_;
    std::shared_ptr<LiftedTask> lifted_;
};

}  // namespace

std::shared_ptr<const LiftedTask> random_lifted_task(int seed) {
    return RandomTask(seed).lifted();
}
