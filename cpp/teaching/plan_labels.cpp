#include "teaching/plan_labels.hpp"

#include <algorithm>

namespace hstar {

namespace {

// Appends the states of a plan that starts in the initial state of the space.
void follow(const StateSpace& space, const std::vector<int>& plan, const std::function<bool(int)>& is_no_step,
            PlanLabels& labels) {
    const size_t variables = static_cast<size_t>(space.num_variables());
    const size_t bytes = static_cast<size_t>(space.packing().buffer_bytes());
    std::vector<unsigned char> here(bytes), next(bytes);
    space.packing().pack(space.initial_state.data(), here.data());
    int steps =
        static_cast<int>(std::count_if(plan.begin(), plan.end(), [&](int op) { return !is_no_step(op); }));
    const auto append = [&] {
        labels.states.resize(labels.states.size() + variables);
        space.packing().unpack(here.data(), labels.states.data() + labels.states.size() - variables);
        labels.steps.push_back(steps);
    };
    append();
    for (int op : plan) {
        if (is_no_step(op)) return;
        space.apply({op}, here.data(), next.data(), bytes);
        here.swap(next);
        --steps;
        append();
    }
}

}  // namespace

PlanLabels label_by_search(StateSpace& space, const StateBatch& starts,
                           const std::vector<Evaluator*>& evaluators, const SearchOptions& options,
                           double seconds, const std::function<bool(int)>& is_no_step) {
    PlanLabels labels;
    const double deadline = options.limits.deadline;
    const auto is_over = [&] { return deadline != 0 && monotonic_seconds() >= deadline; };
    for (int start = 0; start < starts.count && !is_over(); ++start) {
        space.initial_state.assign(starts.row(start), starts.row(start) + starts.num_variables);
        SearchOptions own = options;
        if (seconds > 0) {
            const double end = monotonic_seconds() + seconds;
            own.limits.deadline = deadline == 0 ? end : std::min(end, deadline);
        }
        const SearchResult result = run_search(space, evaluators, own);
        if (result.status == SearchStatus::Interrupted) throw Stopped{StopReason::Interrupt};
        if (result.status == SearchStatus::Terminated) throw Stopped{StopReason::Terminate};
        if (result.status == SearchStatus::OutOfMemory) throw Stopped{StopReason::Memory};
        const bool solved = result.status == SearchStatus::Solved;
        if (!solved && is_over()) break;  // it had no fair chance
        labels.solved.push_back(solved);
        if (solved) follow(space, result.plan, is_no_step, labels);
    }
    return labels;
}

}  // namespace hstar
