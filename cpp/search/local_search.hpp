// Greedy best-first search with local search (Algorithm 4 of Gehring et al. 2022): after an expansion, follow
// the best successor for some steps, opening nothing on the way.
#pragma once
#include <vector>

#include "search/search_space.hpp"

namespace hstar {

// Of the successors generated last.
inline StateId best_successor(SearchSpace& space, StateId parent) {
    const auto& successors = space.successors;
    const std::vector<float>* h_of_edges =
        space.evaluators[0]->is_of_edges() ? &space.edge_values(0, parent, successors) : nullptr;
    StateId best = kNoState;
    float least = kDeadEnd;
    for (size_t i = 0; i < successors.size(); ++i) {
        const StateId id = successors[i].id;
        if (space.nodes[id].status == kDead) continue;
        const float h = h_of_edges ? (*h_of_edges)[i] : space.value(id);
        if (h < least) least = h, best = id;
    }
    return best;
}

// From a state that was just expanded. True if it met a goal, which ends the search. States that it saw are
// evaluated, but not open.
inline bool local_search(SearchSpace& space, StateId id) {
    // The successors of the expansion are known and evaluated; generating them again only finds their ids.
    SearchCounters& counters = space.result.counters;
    const uint64_t generated = counters.generated;
    space.generate(id);
    counters.generated = generated;
    StateId s = best_successor(space, id);
    for (int depth = 1; depth < space.options.local_steps && s != kNoState; ++depth) {
        if (space.exhausted()) return false;
        ++counters.expanded;
        space.generate(s);
        std::vector<StateId> fresh;
        const int g = space.nodes[s].g;
        for (const auto& successor : space.successors) {
            if (space.at_evaluation_limit()) return false;
            if (successor.is_new) {
                space.set_parent(successor.id, s, successor.op, space.extended(g, successor.op));
                if (space.is_goal(successor.id)) {
                    space.finish(successor.id);
                    return true;
                }
                fresh.push_back(successor.id);
            }
            ++counters.evaluations;
        }
        space.evaluate(fresh);
        s = best_successor(space, s);
    }
    return false;
}

}  // namespace hstar
