// Finds sets of facts that a given set contains, the one with the smallest value first.
//
// A decision tree: an inner node asks for the value of one variable. Below it are the sets with each value,
// and those that leave the variable open. A query follows at most two branches of a node. Each node asks for
// the variable that the fewest of its sets leave open, so most queries see few nodes.
#pragma once
#include <climits>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/limits.hpp"
#include "runtime/rows.hpp"
#include "task/task.hpp"

namespace hstar {

class SubsetIndex {
  public:
    // A set holds at most one fact per variable, ascending. `sets` must outlive the index. The value of a set
    // is INT_MAX until lower() is called. Throws Stopped.
    SubsetIndex(const Task& task, const Rows<int>& sets, const Limits& limits);

    int value(int set) const { return value_[set]; }
    // Changes the value of a set to a smaller one.
    void lower(int set, int value);
    // Counts the changes so far.
    uint64_t clock() const { return clock_; }

    // The smallest value, if under `bound`, of a set that holds only facts of `fact_of` (per variable: a fact
    // or -1), or else `bound`. Looks only at sets changed after `since`. Adds its work to `work`.
    int smallest(const std::vector<int>& fact_of, int bound, uint64_t since, uint64_t& work) const;

  private:
    struct Node {
        int variable = -1;        // -1: a leaf
        int first = 0, last = 0;  // a leaf: its sets in order_; else: its branches, by fact
        int open = -1;            // the node of the sets that leave the variable open
        int parent = -1;
        int smallest = INT_MAX;  // value of a set below
        uint64_t changed = 0;    // when a set below was last changed
    };
    struct Branch {
        int fact, node;
    };

    void build(const Limits& limits);
    int child_of(const Node& node, int fact) const;
    int fact_in(int set, int variable) const;  // -1: open
    bool is_within(int set, const std::vector<int>& fact_of) const;

    static constexpr int kLeaf = 4;     // so many sets need no further question
    static constexpr int kSample = 64;  // so many sets, or a few more, choose the question
    const Task& task_;
    const Rows<int>& sets_;
    std::vector<int> value_, order_, leaf_of_;
    std::vector<Node> nodes_;
    std::vector<Branch> branches_;
    uint64_t clock_ = 0;
    mutable std::vector<int> stack_;  // of a query
};

}  // namespace hstar
