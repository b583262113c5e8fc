// Greedy best-first search with look-ahead (Algorithm 4 of Gehring et al. 2022): after an expansion, follow
// the best successor for some steps, opening nothing on the way.
#pragma once
#include <vector>

#include "search/search_space.hpp"

namespace hstar {

class LookAhead {
  public:
    explicit LookAhead(SearchSpace& space) : space_(space) {}

    // From a state that was just expanded. True if it met a goal, which ends the search. States that it saw
    // are evaluated, but not open.
    bool run(StateId id) {
        StateId s = best_successor(id);
        for (int depth = 1; depth < space_.options.lookahead && s != kNoState; ++depth) {
            if (space_.exhausted()) return false;
            ++space_.result.counters.expanded;
            space_.generate(s);
            std::vector<StateId> fresh;
            int g = space_.nodes[s].g;
            for (const auto& successor : space_.successors) {
                if (space_.at_evaluation_limit()) return false;
                if (successor.is_new) {
                    space_.set_parent(successor.id, s, successor.op, space_.extended(g, successor.op));
                    if (space_.is_goal(successor.id)) {
                        space_.finish(successor.id);
                        return true;
                    }
                    fresh.push_back(successor.id);
                }
                ++space_.result.counters.evaluations;
            }
            space_.evaluate(fresh);
            s = best_of(s);
        }
        return false;
    }

  private:
    StateId best_successor(StateId id) {
        // The successors of the expansion are known and evaluated; generating them again only finds their
        // ids.
        auto generated = space_.result.counters.generated;
        space_.generate(id);
        space_.result.counters.generated = generated;
        return best_of(id);
    }

    // Of the successors generated last.
    StateId best_of(StateId parent) {
        const auto& successors = space_.successors;
        const std::vector<float>* h_of_edges =
            space_.evaluators[0]->is_of_edges() ? &space_.edge_values(0, parent, successors) : nullptr;
        StateId best = kNoState;
        float least = kDeadEnd;
        for (size_t i = 0; i < successors.size(); ++i) {
            const StateId id = successors[i].id;
            if (space_.nodes[id].status == kDead) continue;
            const float h = h_of_edges ? (*h_of_edges)[i] : space_.value(id);
            if (h < least) least = h, best = id;
        }
        return best;
    }

    SearchSpace& space_;
};

}  // namespace hstar
