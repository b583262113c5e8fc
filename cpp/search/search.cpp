#include "search/search.hpp"

#include <new>

#include "runtime/require.hpp"
#include "search/ida_star.hpp"
#include "search/search_space.hpp"

namespace hstar {

SearchResult run_search(const StateSpace& states, const std::vector<Evaluator*>& evaluators,
                        const SearchOptions& options) {
    const int all = static_cast<int>(evaluators.size()), ordering = all - options.advisers;
    if (options.advisers < 0 || ordering < 1) refuse("a search needs an evaluator besides its advisers");
    for (const Queue& queue : options.queues) {
        if (queue.evaluator < 0 || queue.evaluator >= ordering)
            refuse("a queue is ordered by an evaluator that does not exist");
        if (queue.preferred_by < Queue::kEverything || queue.preferred_by >= all)
            refuse("a queue holds what an evaluator prefers that does not exist");
    }
    if (options.queues.empty()) refuse("a search needs at least one queue");
    if (options.width < 0 || (options.width && (options.lazy || options.deepen)))
        refuse("a beam has a positive width and is eager");
    for (const Queue& queue : options.queues)
        if (options.partial && queue.only_preferred())
            refuse("a search that expands states in parts has no queues of preferred operators");
    for (const Evaluator* evaluator : evaluators)
        if (evaluator->is_of_edges() &&
            (options.lazy || options.partial || options.deepen || options.g_weight != 0))
            refuse(
                "the heuristic gives values to edges, which only greedy eager searches can use; choose gbfs, "
                "gbfls or beam");
    if (options.deepen) return search_deepening(states, *evaluators[0], options);
    double start = monotonic_seconds();
    SearchSpace space(states, evaluators, options);
    try {
        options.partial ? search_in_parts(space) : search_best_first(space);
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
