// Planning problems as environments of reinforcement learning. States are numbers, and what is known of a
// state is computed once: small training problems are visited again and again.
#pragma once
#include <cstring>
#include <span>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "networks/nlm/batch.hpp"
#include "spaces/task_space.hpp"
#include "task/registry.hpp"

namespace hstar {

class EnvironmentProblem {
  public:
    struct Edge {
        int op;
        StateId to;
    };

    // `heuristic` gives h, and `lower` is admissible; null stands for 0 and 1 everywhere. They, the task and
    // the generator must outlive the problem.
    EnvironmentProblem(const Task& task, const SuccessorGenerator& generator, Evaluator* heuristic,
                       Evaluator* lower, NlmEncoding encoding);

    const Task& task() const { return task_; }
    const NlmEncoding& encoding() const { return encoding_; }
    StateId start() const { return 0; }  // the initial state
    StateId size() const { return registry_.size(); }
    // The number of a state with these values, one per variable.
    StateId add(const int* values);
    // An order of states that does not depend on their numbers.
    bool is_before(StateId a, StateId b) const {
        const auto bytes = static_cast<size_t>(space_.packing().num_bytes());
        return std::memcmp(registry_.row(a), registry_.row(b), bytes) < 0;
    }
    std::vector<int> values(StateId id) const {
        std::vector<int> result(task_.num_variables());
        space_.packing().unpack(registry_.row(id), result.data());
        return result;
    }

    float h(StateId id) const { return known_[id].h; }
    // A lower bound on the steps from a state that is no goal.
    float lower(StateId id);
    // An artificial operator is no step of a plan: where one of them reaches the goal, so has the state.
    bool is_goal(StateId id) const { return known_[id].is_goal; }
    // No plan can exist: h is infinite, or no operator is applicable. A goal is no dead end.
    bool is_stuck(StateId id) const { return known_[id].is_stuck; }
    // Stuck, or all successors are, which expand() finds out. It looks no further: what is known of a state
    // must not depend on the order of expansions, or resumed runs would differ.
    bool is_dead_end(StateId id) const { return known_[id].is_dead_end; }
    // No step of an episode leads on from there.
    bool is_end(StateId id) const { return is_goal(id) || is_dead_end(id); }
    // The steps from a state, by operator. Valid until the next call.
    std::span<const Edge> expand(StateId id);

    // Appends the inputs of a network for a state.
    void encode(StateId id, std::vector<NlmEntry>& entries, std::vector<float>& values) const;

  private:
    struct Known {
        float h = 0, lower = 0;  // lower is 0 until somebody asks for it
        bool is_goal = false, is_stuck = false, is_dead_end = false;
        bool is_expanded = false;
        uint32_t first_edge = 0, num_edges = 0;
    };
    StateId add_row(const unsigned char* row);
    // Whatever expand() does not find out, for the states from `first` on.
    void examine(StateId first);

    const Task& task_;
    TaskSpace space_;
    Evaluator *heuristic_, *lower_;
    NlmEncoding encoding_;
    StateRegistry registry_;
    std::vector<Known> known_;
    std::vector<Edge> edges_;
    // Scratch.
    std::vector<int> ops_, values_;
    std::vector<unsigned char> parent_, rows_;
    std::vector<float> h_;
};

}  // namespace hstar
