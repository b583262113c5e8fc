#include "teaching/labels.hpp"

#include <algorithm>
#include <limits>

namespace hstar {

namespace {

// Signals end more than the one search.
SearchResult search_from(const int* start, StateSpace& space, Evaluator& evaluator,
                         const SearchOptions& options) {
    space.initial_state.assign(start, start + space.num_variables());
    SearchResult result = run_search(space, {&evaluator}, options);
    if (result.status == SearchStatus::Interrupted) throw Stopped{StopReason::Interrupt};
    if (result.status == SearchStatus::Terminated) throw Stopped{StopReason::Terminate};
    return result;
}

// Appends the states of a plan that starts in the initial state of the space.
void follow(const StateSpace& space, const std::vector<int>& plan, PlanLabels& labels) {
    const auto is_artificial = [&](int op) { return space.is_artificial(op); };
    const auto steps = static_cast<int>(std::ranges::find_if(plan, is_artificial) - plan.begin());
    const size_t variables = static_cast<size_t>(space.num_variables());
    const size_t bytes = static_cast<size_t>(space.packing().buffer_bytes());
    std::vector<unsigned char> here(bytes), next(bytes);
    space.packing().pack(space.initial_state.data(), here.data());
    for (int left = steps;; --left) {
        labels.states.resize(labels.states.size() + variables);
        space.packing().unpack(here.data(), labels.states.data() + labels.states.size() - variables);
        labels.steps.push_back(left);
        if (left == 0) return;
        space.apply({plan[steps - left]}, here.data(), next.data(), bytes);
        here.swap(next);
    }
}

}  // namespace

PlanLabels label_by_search(StateSpace& space, const StateBatch& starts, Evaluator& evaluator,
                           const SearchOptions& options, double seconds) {
    PlanLabels labels;
    const double deadline = options.limits.deadline;
    const auto is_over = [&] { return deadline != 0 && monotonic_seconds() >= deadline; };
    for (int start = 0; start < starts.count && !is_over(); ++start) {
        SearchOptions own = options;
        if (seconds > 0) {
            const double end = monotonic_seconds() + seconds;
            own.limits.deadline = deadline == 0 ? end : std::min(end, deadline);
        }
        const SearchResult result = search_from(starts.row(start), space, evaluator, own);
        if (result.status == SearchStatus::OutOfMemory) throw Stopped{StopReason::Memory};
        const bool solved = result.status == SearchStatus::Solved;
        if (!solved && is_over()) break;  // it had no fair chance
        labels.solved.push_back(solved);
        if (solved) follow(space, result.plan, labels);
    }
    return labels;
}

std::vector<double> distances_by_search(StateSpace& space, const StateBatch& starts, Evaluator& evaluator,
                                        const SearchOptions& options, uint64_t max_evaluations) {
    std::vector<double> found(static_cast<size_t>(starts.count), std::numeric_limits<double>::quiet_NaN());
    uint64_t evaluations = 0;
    for (int start = 0; start < starts.count; ++start) {
        SearchOptions own = options;
        if (max_evaluations != 0) {
            if (evaluations >= max_evaluations) break;
            const uint64_t left = max_evaluations - evaluations;
            own.max_evaluations = own.max_evaluations == 0 ? left : std::min(own.max_evaluations, left);
        }
        const SearchResult result = search_from(starts.row(start), space, evaluator, own);
        evaluations += result.counters.evaluations;
        double& h = found[static_cast<size_t>(start)];
        if (result.status == SearchStatus::OutOfTime) break;
        if (result.status == SearchStatus::Unsolvable) h = std::numeric_limits<double>::infinity();
        if (result.status != SearchStatus::Solved) continue;
        h = 0;
        for (int op : result.plan) h += space.cost(op);
    }
    return found;
}

std::vector<float> bellman_values(const StateSpace& space, const StateBatch& states, Evaluator& evaluator,
                                  const Limits& limits) {
    const auto variables = static_cast<size_t>(space.num_variables());
    std::vector<float> values(static_cast<size_t>(states.count), kDeadEnd), h;
    std::vector<unsigned char> parent(static_cast<size_t>(space.packing().buffer_bytes()));
    std::vector<int> ops, children;
    LimitClock clock(limits);
    for (int state = 0; state < states.count; ++state) {
        clock.check();
        float& best = values[static_cast<size_t>(state)];
        if (space.is_goal(states.row(state))) {
            best = 0;
            continue;
        }
        space.packing().pack(states.row(state), parent.data());
        space.successors(states.row(state), -1, ops, children);
        h.resize(ops.size());
        const int count = static_cast<int>(ops.size()), slice = std::max(1, evaluator.slice());
        for (int first = 0; first < count; first += slice) {
            clock.check();
            const int size = std::min(slice, count - first);
            const Expansion expansion{parent.data(), 0, size};
            const StateBatch batch{children.data() + first * variables, size, space.num_variables()};
            evaluator.evaluate_expansions(
                {batch, {&expansion, 1}, std::span(ops).subspan(first, size), space.packing()},
                h.data() + first, nullptr);
        }
        for (size_t i = 0; i < ops.size(); ++i) {
            const bool is_goal = space.is_goal(children.data() + i * variables);
            const float rest = is_goal ? 0.0f : std::max(0.0f, h[i]);
            best = std::min(best, rest + (space.is_artificial(ops[i]) ? 0.0f : 1.0f));
        }
    }
    return values;
}

}  // namespace hstar
