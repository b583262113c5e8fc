#include "search/search.hpp"

#include <new>

#include "search/search_space.hpp"

namespace hstar {

SearchResult run_search(const Task& task, const SuccessorGenerator& generator, Evaluator& evaluator,
                        const SearchOptions& options) {
    double start = monotonic_seconds();
    SearchSpace space(task, generator, evaluator, options);
    try {
        if (options.algorithm == "lazy")
            search_lazily(space);
        else
            search_eagerly(space);
    } catch (const Stopped& stopped) {
        switch (stopped.reason) {
            case StopReason::Time:
                space.result.status = SearchStatus::OutOfTime;
                break;
            case StopReason::Memory:
                space.result.status = SearchStatus::OutOfMemory;
                break;
            case StopReason::Interrupt:
                space.result.status = SearchStatus::Interrupted;
                break;
            case StopReason::Terminate:
                space.result.status = SearchStatus::Terminated;
                break;
        }
    } catch (const std::bad_alloc&) {
        space.result.status = SearchStatus::OutOfMemory;
    }
    if (space.result.status == SearchStatus::Unsolvable && space.result.counters.deadends > 0 &&
        !evaluator.is_safe())
        space.result.status = SearchStatus::GaveUp;
    space.result.num_states = space.registry.size();
    space.result.state_bytes = space.packing.num_bytes();
    space.result.seconds = monotonic_seconds() - start;
    return std::move(space.result);
}

}  // namespace hstar
