// Every state that can be reached, with its exact distance to the goal: breadth-first enumeration, then
// Dijkstra's algorithm on the reversed graph. For state spaces small enough to be stored with all their
// edges.
#pragma once
#include <optional>
#include <vector>

#include "runtime/limits.hpp"
#include "spaces/state_space.hpp"

namespace hstar {

struct StateGraph {
    std::vector<int> states;  // [N, V]; the initial state comes first
    std::vector<float> h;     // [N]; infinity in dead ends
    std::vector<int> plan;    // operators of a cheapest plan, if there is one
};

// Nothing if there are more than `max_states` states. Throws Stopped.
std::optional<StateGraph> explore_exhaustively(const StateSpace& space, size_t max_states,
                                               const Limits& limits);

}  // namespace hstar
