// Finds the operators that are applicable in a state without testing all of them.
//
// A decision tree over variables: an inner node tests one variable and has a child per value plus one for the
// operators that do not mention it; a leaf lists operators whose preconditions are all tested. Each node
// tests the variable that most of its operators mention, so the operators under different values are
// separated early.
#pragma once
#include <vector>

#include "runtime/limits.hpp"
#include "task/packing.hpp"
#include "task/task.hpp"

namespace hstar {

class SuccessorGenerator {
  public:
    // Throws Stopped when a limit is reached.
    explicit SuccessorGenerator(const Task& task, const Limits& limits = {});

    // Appends the applicable operators, in ascending order within each leaf.
    template <class ValueOf>  // ValueOf(variable) -> value
    void applicable(ValueOf value_of, std::vector<int>& ops) const {
        int stack[64];
        int depth = 0;
        std::vector<int> overflow;
        int node = root_;
        while (true) {
            while (node >= 0) {
                const int* n = code_.data() + node;
                int leaf_size = n[0], variable = n[1];
                ops.insert(ops.end(), n + 3, n + 3 + leaf_size);
                int next = -1;
                if (variable >= 0) {
                    int rest = n[2];
                    next = child(n + 3 + leaf_size, value_of(variable));
                    if (rest >= 0) {
                        if (next < 0)
                            next = rest;
                        else if (depth < 64)
                            stack[depth++] = rest;
                        else
                            overflow.push_back(rest);
                    }
                }
                node = next;
            }
            if (!overflow.empty()) {
                node = overflow.back();
                overflow.pop_back();
            } else if (depth > 0) {
                node = stack[--depth];
            } else {
                break;
            }
        }
    }

  private:
    // A node is: leaf size, variable (-1: none), child for operators not mentioning it, leaf operators, then
    // either a jump table (0, child per value) or, where few values have a child, (count, value, child,
    // value, child, ...).
    static int child(const int* children, int value) {
        int count = children[0];
        if (count == 0) return children[1 + value];
        for (int i = 0; i < count; ++i)
            if (children[1 + 2 * i] == value) return children[2 + 2 * i];
        return -1;
    }
    int build(std::vector<int>& ops, size_t begin, size_t end, WorkMeter& meter);

    const Task& task_;
    std::vector<int> code_;
    std::vector<int> tested_;      // per operator, while building: how many preconditions are tested above
    std::vector<char> is_tested_;  // per variable, while building
    std::vector<int> mentions_;    // per variable, while building
    int root_;
};

}  // namespace hstar
