#include "search/exhaustive.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <queue>

namespace hstar {

namespace {

constexpr int64_t kUnreached = std::numeric_limits<int64_t>::max();

class Enumeration {
  public:
    Enumeration(const StateSpace& space, const Limits& limits)
        : space_(space), clock_(limits), registry_(space.packing()) {}

    bool run(size_t max_states) {
        const Packing& packing = space_.packing();
        size_t stride = static_cast<size_t>(packing.buffer_bytes());
        std::vector<unsigned char> parent(stride), rows(stride);
        std::vector<int> ops;
        packing.pack(space_.initial_state.data(), rows.data());
        registry_.insert(rows.data(), registry_.hash(rows.data()));
        for (StateId id = 0; id < registry_.size(); ++id) {
            clock_.check();
            std::memcpy(parent.data(), registry_.row(id), packing.num_bytes());
            space_.applicable(parent.data(), ops);
            rows.resize((ops.size() + 1) * stride);
            space_.apply(ops, parent.data(), rows.data(), stride);
            for (size_t i = 0; i < ops.size(); ++i) {
                const unsigned char* row = rows.data() + i * stride;
                edges_.push_back({id, registry_.insert(row, registry_.hash(row)).first, ops[i]});
            }
            if (registry_.size() > max_states) return false;
        }
        return true;
    }

    StateGraph solve() {
        size_t count = registry_.size(), variables = static_cast<size_t>(space_.num_variables());
        std::vector<size_t> first(count + 1, 0);  // edges_ by child
        for (const Edge& edge : edges_) ++first[edge.child + 1];
        for (size_t i = 0; i < count; ++i) first[i + 1] += first[i];
        std::vector<size_t> incoming(edges_.size()), next(first.begin(), first.end() - 1);
        for (size_t e = 0; e < edges_.size(); ++e) incoming[next[edges_[e].child]++] = e;

        std::vector<int64_t> h(count, kUnreached);
        std::vector<size_t> best(count, edges_.size());  // the edge to take; none in goals and dead ends
        using Entry = std::pair<int64_t, StateId>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
        for (StateId id = 0; id < count; ++id)
            if (space_.is_goal(registry_.row(id))) open.emplace(h[id] = 0, id);
        while (!open.empty()) {
            clock_.check();
            auto [distance, child] = open.top();
            open.pop();
            if (distance > h[child]) continue;
            for (size_t i = first[child]; i < first[child + 1]; ++i) {
                const Edge& edge = edges_[incoming[i]];
                int64_t through = distance + space_.cost(edge.op);
                if (through >= h[edge.parent]) continue;
                best[edge.parent] = incoming[i];
                open.emplace(h[edge.parent] = through, edge.parent);
            }
        }

        StateGraph graph;
        graph.states.resize(count * variables);
        graph.h.resize(count);
        for (StateId id = 0; id < count; ++id) {
            space_.packing().unpack(registry_.row(id), graph.states.data() + id * variables);
            graph.h[id] =
                h[id] == kUnreached ? std::numeric_limits<float>::infinity() : static_cast<float>(h[id]);
        }
        for (StateId id = 0; best[id] < edges_.size(); id = edges_[best[id]].child)
            graph.plan.push_back(edges_[best[id]].op);
        graph.edges = std::move(edges_);
        return graph;
    }

  private:
    const StateSpace& space_;
    LimitClock clock_;
    StateRegistry registry_;
    std::vector<Edge> edges_;
};

}  // namespace

std::optional<StateGraph> explore_exhaustively(const StateSpace& space, size_t max_states,
                                               const Limits& limits) {
    Enumeration enumeration(space, limits);
    if (!enumeration.run(max_states)) return std::nullopt;
    return enumeration.solve();
}

}  // namespace hstar
