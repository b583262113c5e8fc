#include "reinforcement/environment.hpp"

#include <algorithm>
#include <cmath>

namespace hstar {

EnvironmentProblem::EnvironmentProblem(const Task& task, const SuccessorGenerator& generator,
                                       Evaluator* heuristic, Evaluator* lower, NlmEncoding encoding)
    : task_(task),
      space_(task, generator, task.initial_state),
      heuristic_(heuristic),
      lower_(lower),
      encoding_(std::move(encoding)),
      registry_(space_.packing()),
      parent_(static_cast<size_t>(space_.packing().buffer_bytes())) {
    add(task.initial_state.data());
}

StateId EnvironmentProblem::add(const int* values) {
    space_.packing().pack(values, parent_.data());
    const StateId first = registry_.size(), id = add_row(parent_.data());
    examine(first);
    return id;
}

StateId EnvironmentProblem::add_row(const unsigned char* row) {
    return registry_.insert(row, registry_.hash(row)).first;
}

void EnvironmentProblem::examine(StateId first) {
    const int count = static_cast<int>(registry_.size() - first), variables = task_.num_variables();
    if (count == 0) return;
    known_.resize(registry_.size());
    values_.resize(static_cast<size_t>(count) * variables);
    h_.assign(count, 0.0f);
    for (int i = 0; i < count; ++i)
        space_.packing().unpack(registry_.row(first + i),
                                values_.data() + static_cast<size_t>(i) * variables);
    if (heuristic_) heuristic_->evaluate({values_.data(), count, variables}, h_.data(), nullptr);
    std::vector<int> next(variables);
    for (int i = 0; i < count; ++i) {
        const int* state = values_.data() + static_cast<size_t>(i) * variables;
        Known& known = known_[first + i];
        space_.applicable(registry_.row(first + i), ops_);
        known.is_goal = task_.is_goal(state);
        bool has_step = false;
        for (int op : ops_) {
            if (!task_.is_artificial(op)) {
                has_step = true;
                continue;
            }
            task_.apply(op, state, next.data());
            known.is_goal |= task_.is_goal(next.data());
        }
        known.h = known.is_goal ? 0 : h_[i];
        known.is_stuck = !known.is_goal && (known.h == kDeadEnd || !has_step);
        known.is_dead_end = known.is_stuck;
    }
}

float EnvironmentProblem::lower(StateId id) {
    float& known = known_[id].lower;
    if (known > 0) return known;
    const std::vector<int> state = values(id);
    if (lower_) lower_->evaluate({state.data(), 1, task_.num_variables()}, &known, nullptr);
    return known = std::max(1.0f, known);
}

std::span<const EnvironmentProblem::Edge> EnvironmentProblem::expand(StateId id) {
    if (!known_[id].is_expanded) {
        const size_t bytes = parent_.size();
        std::copy_n(registry_.row(id), space_.packing().num_bytes(), parent_.data());
        space_.applicable(parent_.data(), ops_);
        std::erase_if(ops_, [&](int op) { return task_.is_artificial(op); });
        rows_.assign(ops_.size() * bytes, 0);
        space_.apply(ops_, parent_.data(), rows_.data(), bytes);
        const StateId first = registry_.size();
        const auto first_edge = static_cast<uint32_t>(edges_.size());
        for (size_t i = 0; i < ops_.size(); ++i)
            edges_.push_back({ops_[i], add_row(rows_.data() + i * bytes)});
        examine(first);
        Known& known = known_[id];
        known.is_expanded = true;
        known.first_edge = first_edge;
        known.num_edges = static_cast<uint32_t>(edges_.size()) - first_edge;
        const bool all_stuck = std::all_of(edges_.begin() + first_edge, edges_.end(),
                                           [&](const Edge& edge) { return is_stuck(edge.to); });
        if (!known.is_goal && all_stuck) known.is_dead_end = true;
    }
    return std::span(edges_).subspan(known_[id].first_edge, known_[id].num_edges);
}

void EnvironmentProblem::encode(StateId id, std::vector<NlmEntry>& entries,
                                std::vector<float>& values) const {
    entries.insert(entries.end(), encoding_.base_entries.begin(), encoding_.base_entries.end());
    values.insert(values.end(), encoding_.base_values.begin(), encoding_.base_values.end());
    const unsigned char* row = registry_.row(id);
    for (int v = 0; v < task_.num_variables(); ++v) {
        const NlmEntry entry = encoding_.fact_entries[task_.first_fact[v] + space_.packing().get(row, v)];
        if (entry.arity < 0) continue;
        entries.push_back(entry);
        values.push_back(1.0f);
    }
}

}  // namespace hstar
