#include "search/exhaustive.hpp"

#include <functional>
#include <queue>
#include <ranges>

#include "search/search_space.hpp"

namespace hstar {

std::optional<StateGraph> explore_exhaustively(const StateSpace& space, size_t max_states,
                                               const Limits& limits) {
    SearchOptions options;
    options.limits = limits;
    SearchSpace found(space, {}, options);
    const StateRegistry& registry = found.registry;
    struct Edge {
        int parent, op, child;
    };
    std::vector<Edge> edges;
    found.insert_initial();
    for (StateId id = 0; id < registry.size(); ++id) {
        found.exhausted();  // throws Stopped
        found.generate(id);
        for (const auto& successor : found.successors)
            edges.push_back({static_cast<int>(id), successor.op, static_cast<int>(successor.id)});
        if (registry.size() > max_states) return std::nullopt;
    }

    constexpr int64_t kUnreached = std::numeric_limits<int64_t>::max();
    constexpr int kNoEdge = -1;
    const int count = static_cast<int>(registry.size());
    const auto child_of = [](const Edge& edge) { return std::span(&edge.child, 1); };
    const Rows<int> incoming = transpose(std::views::transform(edges, child_of), count);
    std::vector<int64_t> h(count, kUnreached);
    std::vector<int> best(count, kNoEdge);  // the edge to take; none in goals and dead ends
    using Entry = std::pair<int64_t, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    for (int id = 0; id < count; ++id)
        if (space.is_goal(registry.row(id))) open.emplace(h[id] = 0, id);
    while (!open.empty()) {
        found.exhausted();
        auto [distance, child] = open.top();
        open.pop();
        if (distance > h[child]) continue;
        for (int edge : incoming[child]) {
            const auto [parent, op, _] = edges[edge];
            const int64_t through = distance + space.cost(op);
            if (through >= h[parent]) continue;
            best[parent] = edge;
            open.emplace(h[parent] = through, parent);
        }
    }

    const size_t variables = static_cast<size_t>(space.num_variables());
    StateGraph graph;
    graph.states.resize(count * variables);
    for (int id = 0; id < count; ++id) {
        found.packing.unpack(registry.row(id), graph.states.data() + id * variables);
        graph.h.push_back(h[id] == kUnreached ? std::numeric_limits<float>::infinity()
                                              : static_cast<float>(h[id]));
    }
    for (int id = 0; best[id] != kNoEdge; id = edges[best[id]].child)
        graph.plan.push_back(edges[best[id]].op);
    return graph;
}

}  // namespace hstar
