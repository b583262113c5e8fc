#include "search/exhaustive.hpp"

#include <cstring>
#include <functional>
#include <limits>
#include <queue>

#include "runtime/rows.hpp"
#include "task/registry.hpp"

namespace hstar {

std::optional<StateGraph> explore_exhaustively(const StateSpace& space, size_t max_states,
                                               const Limits& limits) {
    const Packing& packing = space.packing();
    const size_t stride = static_cast<size_t>(packing.buffer_bytes());
    LimitClock clock(limits);
    StateRegistry registry(packing);
    std::vector<unsigned char> parent(stride), rows(stride);
    std::vector<int> ops, parents, edge_ops;  // of edges
    Rows<int> children;                       // per edge: one
    packing.pack(space.initial_state.data(), rows.data());
    registry.insert(rows.data(), registry.hash(rows.data()));
    for (StateId id = 0; id < registry.size(); ++id) {
        clock.check();
        std::memcpy(parent.data(), registry.row(id), packing.num_bytes());
        space.applicable(parent.data(), ops);
        rows.resize((ops.size() + 1) * stride);
        space.apply(ops, parent.data(), rows.data(), stride);
        for (size_t i = 0; i < ops.size(); ++i) {
            const unsigned char* row = rows.data() + i * stride;
            children.push(static_cast<int>(registry.insert(row, registry.hash(row)).first));
            children.close_row();
            parents.push_back(static_cast<int>(id));
            edge_ops.push_back(ops[i]);
        }
        if (registry.size() > max_states) return std::nullopt;
    }

    constexpr int64_t kUnreached = std::numeric_limits<int64_t>::max();
    constexpr int kNoEdge = -1;
    const int count = static_cast<int>(registry.size());
    const Rows<int> incoming = transpose(children, count);
    std::vector<int64_t> h(count, kUnreached);
    std::vector<int> best(count, kNoEdge);  // the edge to take; none in goals and dead ends
    using Entry = std::pair<int64_t, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    for (int id = 0; id < count; ++id)
        if (space.is_goal(registry.row(id))) open.emplace(h[id] = 0, id);
    while (!open.empty()) {
        clock.check();
        auto [distance, child] = open.top();
        open.pop();
        if (distance > h[child]) continue;
        for (int edge : incoming[child]) {
            const int64_t through = distance + space.cost(edge_ops[edge]);
            if (through >= h[parents[edge]]) continue;
            best[parents[edge]] = edge;
            open.emplace(h[parents[edge]] = through, parents[edge]);
        }
    }

    const size_t variables = static_cast<size_t>(space.num_variables());
    StateGraph graph;
    graph.states.resize(count * variables);
    for (int id = 0; id < count; ++id) {
        packing.unpack(registry.row(id), graph.states.data() + id * variables);
        graph.h.push_back(h[id] == kUnreached ? std::numeric_limits<float>::infinity()
                                              : static_cast<float>(h[id]));
    }
    for (int id = 0; best[id] != kNoEdge; id = children.data[best[id]])
        graph.plan.push_back(edge_ops[best[id]]);
    return graph;
}

}  // namespace hstar
