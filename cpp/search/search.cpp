#include "search/search.hpp"

#include <new>

#include "runtime/require.hpp"
#include "search/ida_star.hpp"
#include "search/search_space.hpp"

namespace hstar {

SearchResult run_search(const StateSpace& states, const std::vector<Evaluator*>& evaluators,
                        const SearchOptions& options) {
    for (const Queue& queue : options.queues)
        if (queue.evaluator < 0 || queue.evaluator >= static_cast<int>(evaluators.size()))
            refuse("a queue is ordered by an evaluator that does not exist");
    if (options.queues.empty()) refuse("a search needs at least one queue");
    if (options.deepen) return search_deepening(states, *evaluators[0], options);
    double start = monotonic_seconds();
    SearchSpace space(states, evaluators, options);
    try {
        search_best_first(space);
    } catch (const Stopped& stopped) {
        space.result.status = status_of(stopped.reason);
    } catch (const std::bad_alloc&) {
        space.result.status = SearchStatus::OutOfMemory;
    }
    if (space.result.status == SearchStatus::Unsolvable && space.has_unproven_dead_ends())
        space.result.status = SearchStatus::GaveUp;
    space.result.num_states = space.registry.size();
    space.result.state_bytes = space.packing.num_bytes();
    space.result.seconds = monotonic_seconds() - start;
    return std::move(space.result);
}

}  // namespace hstar
