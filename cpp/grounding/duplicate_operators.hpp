// Operators that differ only in name and cost: the cheapest stays, the first one if several cost the same.
#pragma once
#include <cstdint>
#include <vector>

#include "task/task.hpp"

namespace hstar {

class DuplicateOperators {
  public:
    explicit DuplicateOperators(Task& task) : task_(task) {}

    // Merges the operator added last with its duplicate among the operators before it, if there is one.
    void merge_last();

  private:
    uint64_t hash_operator(int op) const;
    bool same_operator(int a, int b) const;
    void drop_last_operator();

    Task& task_;
    std::vector<int> table_;  // open addressing: numbers of operators, -1 = empty
    std::vector<uint64_t> hashes_;
};

}  // namespace hstar
