// The order in which the reachability analysis joins the atoms of a rule's body.
#pragma once
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
    JoinPlanner(const LiftedTask& lifted, const FactTable& facts, const std::vector<char>& is_fluent);

    // A plan that begins with the body atom `trigger`, or with any atom if it is -1.
    JoinPlan plan(const Rule& rule, int trigger);

    void add_to_indices(int fact) {
        for (auto& index : indices_by_predicate_[facts_.predicate(fact)]) index->add(fact);
    }

  private:
    FactIndex* index_for(int predicate, const std::vector<int>& positions);
    std::vector<int> bound_positions(const Literal& atom, const std::vector<char>& bound) const;
    double expected_matches(const Rule& rule, const Literal& atom, const std::vector<char>& bound);
    Step make_step(const Literal& atom, std::vector<char>& bound);

    const LiftedTask& lifted_;
    const FactTable& facts_;
    const std::vector<char>& is_fluent_;
    std::vector<std::map<std::vector<int>, FactIndex*>> index_of_;
    std::vector<std::vector<std::unique_ptr<FactIndex>>> indices_by_predicate_;
    std::vector<std::vector<int>> static_facts_;
};

}  // namespace hstar
