#include "teaching/distances.hpp"

#include <algorithm>
#include <limits>

namespace hstar {

Distances distances_by_search(StateSpace& space, const StateBatch& starts,
                              const std::vector<Evaluator*>& evaluators, const SearchOptions& options,
                              uint64_t max_evaluations) {
    Distances found;
    found.h.assign(static_cast<size_t>(starts.count), std::numeric_limits<double>::quiet_NaN());
    for (int start = 0; start < starts.count; ++start) {
        SearchOptions own = options;
        if (max_evaluations != 0) {
            if (found.evaluations >= max_evaluations) break;
            const uint64_t left = max_evaluations - found.evaluations;
            own.max_evaluations = own.max_evaluations == 0 ? left : std::min(own.max_evaluations, left);
        }
        space.initial_state.assign(starts.row(start), starts.row(start) + starts.num_variables);
        const SearchResult result = run_search(space, evaluators, own);
        found.evaluations += result.counters.evaluations;
        double& h = found.h[static_cast<size_t>(start)];
        switch (result.status) {
            case SearchStatus::Solved:
                h = 0;
                for (int op : result.plan) h += space.cost(op);
                break;
            case SearchStatus::Unsolvable:
                h = std::numeric_limits<double>::infinity();
                break;
            case SearchStatus::Interrupted:
                throw Stopped{StopReason::Interrupt};
            case SearchStatus::Terminated:
                throw Stopped{StopReason::Terminate};
            case SearchStatus::OutOfTime:
                return found;
            case SearchStatus::OutOfMemory:
            case SearchStatus::GaveUp:
                break;
        }
    }
    return found;
}

}  // namespace hstar
