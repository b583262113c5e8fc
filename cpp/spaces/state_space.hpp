// The interface between search and what it searches, a planning task or a puzzle. States are packed rows.
// One virtual call handles a whole expansion, so virtual calls cost nothing per successor.
#pragma once
#include <span>
#include <vector>

#include "task/packing.hpp"

namespace hstar {

class StateSpace {
  public:
    virtual ~StateSpace() = default;

    std::vector<int> initial_state;
    const std::vector<int>& domain_size() const { return domain_size_; }
    int num_variables() const { return static_cast<int>(domain_size_.size()); }
    int num_operators() const { return static_cast<int>(cost_.size()); }
    int cost(int op) const { return cost_[op]; }
    const Packing& packing() const { return packing_; }
    // Such operators only note that a goal is reached: they are no part of a plan.
    virtual bool is_artificial(int) const { return false; }

    // Fills in the applicable operators, ascending.
    virtual void applicable(const unsigned char* row, std::vector<int>& ops) const = 0;
    // Writes the successors of `parent` to `rows`, `stride` bytes apart.
    virtual void apply(const std::vector<int>& ops, const unsigned char* parent, unsigned char* rows,
                       size_t stride) const = 0;
    virtual bool is_goal(const unsigned char* row) const = 0;

    // For searches without a state registry: applicable operators worth trying after `last` (-1: none), and
    // the values of their successors, one state after the other.
    virtual void successors(const int* values, int last, std::vector<int>& ops,
                            std::vector<int>& states) const = 0;
    virtual bool is_goal(const int* values) const = 0;

  protected:
    // `cost` must outlive the space.
    StateSpace(std::vector<int> domain_size, std::span<const int> cost, std::vector<int> initial_state)
        : initial_state(std::move(initial_state)),
          domain_size_(std::move(domain_size)),
          cost_(cost),
          packing_(domain_size_) {}

    std::vector<int> domain_size_;
    std::span<const int> cost_;  // per operator
    Packing packing_;
};

}  // namespace hstar
