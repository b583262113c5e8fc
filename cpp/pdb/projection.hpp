// Projections of a planning task onto some of its variables.
//
// The abstract states are all assignments to those variables. Conditions on other variables are taken as
// true, effects on them are dropped; a conditional effect that depends on them may happen or not. So
// every plan of the task is a plan of the projection, and its distances never exceed the real ones.
#pragma once
#include "pdb/table.hpp"
#include "runtime/limits.hpp"
#include "spaces/pattern_index.hpp"
#include "task/task.hpp"

namespace hstar {

// Mixed radix; the first variable of the pattern is the least significant digit.
class ProjectionIndex : public PatternIndex {
  public:
    // Throws std::invalid_argument for variables the task does not have, or more than 2^31 abstract states.
    ProjectionIndex(const Task& task, std::vector<int> variables);

    uint64_t size() const override { return size_; }
    uint64_t rank(const int* state) const override;
    void unrank(uint64_t rank, int* state) const override;
    uint64_t multiplier(int position) const { return multiplier_[position]; }
    int domain_size(int position) const { return domain_size_[position]; }

  private:
    std::vector<int> domain_size_;
    std::vector<uint64_t> multiplier_;
    uint64_t size_ = 1;
};

// Distances to the nearest abstract goal, by Dijkstra's algorithm backwards; kUnreached if there is none.
// `cost` is per operator. Throws std::invalid_argument if conditional effects branch too often.
Table build_projection(const Task& task, const ProjectionIndex& index, const std::vector<int>& cost,
                       const Limits& limits);

// A hash of everything that a projection depends on: variables, operators, costs, goal.
uint64_t fingerprint(const Task& task);

}  // namespace hstar
