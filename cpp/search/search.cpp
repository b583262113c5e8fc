#include "search/search.hpp"

#include "runtime/require.hpp"
#include "search/ida_star.hpp"
#include "search/search_space.hpp"

namespace hstar {

SearchResult run_search(const StateSpace& states, const std::vector<Evaluator*>& evaluators,
                        const SearchOptions& options) {
    const int all = static_cast<int>(evaluators.size()), ordering = all - options.advisers;
    require(options.advisers >= 0 && ordering >= 1, "a search needs an evaluator besides its advisers");
    require(!options.queues.empty(), "a search needs at least one queue");
    for (const Queue& queue : options.queues) {
        require(queue.evaluator >= 0 && queue.evaluator < ordering && queue.preferred_by < all,
                "a queue names an evaluator that does not exist");
        require(!options.partial || !queue.only_preferred(),
                "a search that expands states in parts has no queues of preferred operators");
    }
    if (options.deepen) return search_deepening(states, *evaluators[0], options);
    SearchSpace space(states, evaluators, options);
    space.result.run([&] { search_best_first(space); });
    if (space.result.status == SearchStatus::Unsolvable && space.has_unproven_dead_ends())
        space.result.status = SearchStatus::GaveUp;
    space.result.num_states = space.registry.size();
    return std::move(space.result);
}

}  // namespace hstar
