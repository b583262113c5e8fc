#include "search/search.hpp"

#include <new>

#include "search/ida_star.hpp"
#include "search/search_space.hpp"
#include "spaces/task_space.hpp"

namespace hstar {

SearchStatus status_of(StopReason reason) {
    switch (reason) {
        case StopReason::Time:
            return SearchStatus::OutOfTime;
        case StopReason::Memory:
            return SearchStatus::OutOfMemory;
        case StopReason::Interrupt:
            return SearchStatus::Interrupted;
        case StopReason::Terminate:
            return SearchStatus::Terminated;
    }
    return SearchStatus::GaveUp;
}

SearchResult run_search(const Task& task, const SuccessorGenerator& generator, Evaluator& evaluator,
                        const SearchOptions& options) {
    return run_search(TaskSpace(task, generator), evaluator, options);
}

SearchResult run_search(const StateSpace& states, Evaluator& evaluator, const SearchOptions& options) {
    if (options.algorithm == "idastar") return search_deepening(states, evaluator, options);
    double start = monotonic_seconds();
    SearchSpace space(states, evaluator, options);
    try {
        if (options.algorithm == "lazy")
            search_lazily(space);
        else
            search_eagerly(space);
    } catch (const Stopped& stopped) {
        space.result.status = status_of(stopped.reason);
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
