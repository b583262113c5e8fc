// Exact distances to the goal of given states, each by a search of its own that finds cheapest plans.
#pragma once
#include <cstdint>
#include <vector>

#include "search/search.hpp"

namespace hstar {

struct Distances {
    // Per state: the cost of a cheapest plan, infinity in a dead end, NaN where the limits were too tight.
    std::vector<double> h;
    uint64_t evaluations = 0;  // of all searches
};

// `options` must name a search that finds cheapest plans; its limits of evaluations and expansions hold for
// each search, its deadline and `max_evaluations` (0: no limit) for all of them together. Throws Stopped for
// signals.
Distances distances_by_search(StateSpace& space, const StateBatch& starts,
                              const std::vector<Evaluator*>& evaluators, const SearchOptions& options,
                              uint64_t max_evaluations);

}  // namespace hstar
