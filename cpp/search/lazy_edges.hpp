// What the OPEN of a lazy search holds: edges, that is a state and an operator to be applied to it.
//
// A queue of preferred operators has an entry for each edge. Other queues have one entry for all edges of a
// state, which stays until the last is taken: in place of the operator it has the number of those taken
// before.
#pragma once
#include <vector>

#include "search/open_list.hpp"
#include "search/search_space.hpp"

namespace hstar {

struct LazyEdge {
    StateId state;
    int op;
};

class LazyEdges {
  public:
    explicit LazyEdges(SearchSpace& space) : space_(space), last_(space.options.queues.size()) {}

    // Takes the best edge of a queue from OPEN.
    LazyEdge take(AlternatingLists<LazyEdge>& open, size_t queue) {
        if (space_.options.queues[queue].only_preferred()) return open.pop(queue);
        LazyEdge& all = open[queue].top();
        Operators& known = last_[queue];
        if (known.state != all.state) known = {all.state, space_.operators_to_try(all.state)};
        const LazyEdge edge{all.state, known.ops[static_cast<size_t>(all.op)]};
        if (++all.op == static_cast<int>(known.ops.size()))
            open.pop(queue);
        else
            open.stay(queue);
        return edge;
    }

    // Expands state i of the states evaluated last. False if edges are left out.
    bool enter(AlternatingLists<LazyEdge>& open, StateId id, size_t i) {
        Node& node = space_.nodes[id];
        node.status = kClosed;
        ++space_.result.counters.expanded;
        const auto& ops = space_.applicable_operators(id);
        space_.result.counters.generated += ops.size();
        bool is_complete = false;
        for (size_t q = 0; q < last_.size(); ++q) {
            const Queue& queue = space_.options.queues[q];
            const float h = space_.last_value(i, queue.evaluator);
            if (h == kDeadEnd) continue;
            const OpenKey key = space_.key(node.g, h);
            is_complete |= !queue.only_preferred();
            if (!queue.only_preferred()) {
                if (!ops.empty()) open[q].push(key, {id, 0});
            } else if (space_.wants_preferred[queue.preferred_by])
                for (int op : space_.preferred[queue.preferred_by][static_cast<int>(i)])
                    open[q].push(key, {id, op});
        }
        return is_complete;
    }

  private:
    struct Operators {
        StateId state = kNoState;
        std::vector<int> ops;
    };
    SearchSpace& space_;
    std::vector<Operators> last_;  // per queue: of the state whose edges were taken last
};

}  // namespace hstar
