// Leads something that follows states from parent to parent of a batch of successors.
#pragma once
#include <vector>

#include "heuristics/evaluator.hpp"

namespace hstar {

class ExpansionWalk {
  public:
    // `buffer` is room for the values of a parent.
    ExpansionWalk(const ExpansionBatch& batch, std::vector<int>& buffer)
        : batch_(batch), buffer_(buffer), expansion_(batch.expansions.data()) {}

    // Calls `move_to` with the values of the child's parent, unless it is there already, and returns true;
    // for a child without one, calls it with those of the child and returns false. Children must come in
    // order.
    template <class MoveTo>
    bool enter(int child, MoveTo move_to) {
        if (child >= end_) {
            while (child >= expansion_->first + expansion_->count) ++expansion_;
            end_ = expansion_->first + expansion_->count;
            if (expansion_->parent) {
                buffer_.resize(batch_.children.num_variables);
                batch_.packing.unpack(expansion_->parent, buffer_.data());
                move_to(buffer_.data());
            }
        }
        if (!expansion_->parent) move_to(batch_.children.row(child));
        return expansion_->parent != nullptr;
    }

  private:
    const ExpansionBatch& batch_;
    std::vector<int>& buffer_;
    const Expansion* expansion_;
    int end_ = 0;  // one past the last child of the expansion
};

}  // namespace hstar
