// Finds the operators that are applicable in a state without testing all of them.
//
// A decision tree over variables: an inner node tests one variable and has a child per value plus one for the
// operators that do not mention it; a leaf lists operators whose preconditions are all tested. Variables that
// most operators mention are tested first, so the operators under different values are separated early.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/limits.hpp"
#include "task/task.hpp"

namespace hstar {

class SuccessorGenerator {
  public:
    // Throws Stopped when a limit is reached.
    explicit SuccessorGenerator(const Task& task, const Limits& limits = {}) {
        const Tests tests(task);
        std::vector<int> ops(task.num_operators());
        std::iota(ops.begin(), ops.end(), 0);
        WorkMeter meter(limits);
        std::sort(ops.begin(), ops.end(), [&](int a, int b) {
            meter.spend(8);
            return std::ranges::lexicographical_compare(tests.of[a], tests.of[b]);
        });
        build(task, tests, ops, 0);
    }

    // Appends the applicable operators. A variable may be open (-1): then no operator that mentions it is.
    template <class ValueOf>  // ValueOf(variable) -> value
    void applicable(ValueOf value_of, std::vector<int>& ops, int node = 0) const {
        int stack[64];
        for (size_t depth = 0;;) {
            const int* n = code_.data() + node;
            const int* end = n + 3 + n[0];
            ops.insert(ops.end(), n + 3, end);
            const int rest = n[2];
            node = n[1] < 0 ? -1 : child(end, value_of(n[1]));
            if (node >= 0 && rest >= 0) {
                if (depth == std::size(stack))
                    applicable(value_of, ops, rest);
                else
                    stack[depth++] = rest;
            } else if ((node = std::max(node, rest)) < 0) {
                if (depth == 0) return;
                node = stack[--depth];
            }
        }
    }

  private:
    // The preconditions of each operator in the order of their tests, with the place of a variable in this
    // order in place of the variable.
    struct Tests {
        explicit Tests(const Task& task) : variables(task.num_variables()), of(task.pre) {
            std::vector<int> mentions(variables.size()), place(variables.size());
            for (Assignment a : task.pre.data) ++mentions[a.variable];
            std::iota(variables.begin(), variables.end(), 0);
            std::ranges::stable_sort(variables, std::greater<>(), [&](int v) { return mentions[v]; });
            for (size_t i = 0; i < variables.size(); ++i) place[variables[i]] = static_cast<int>(i);
            for (Assignment& a : of.data) a.variable = place[a.variable];
            for (int op = 0; op < of.size(); ++op) std::ranges::sort(of[op]);
        }
        std::vector<int> variables;  // in the order of their tests
        Rows<Assignment> of;
    };

    // A node is: leaf size, variable (-1: none), node for operators not mentioning it (-1: none), leaf
    // operators, then either a jump table (-1, child per value) or, where few values have a child, (count,
    // value, child, value, child, ...). The -1 is also the child of value -1.
    static int child(const int* children, int value) {
        int count = children[0];
        if (count < 0) return children[1 + value];
        for (int i = 0; i < count; ++i)
            if (children[1 + 2 * i] == value) return children[2 + 2 * i];
        return -1;
    }

    // Of operators in the order of their tests, which agree in the first `depth` of these. Returns the first
    // node of the chain of those that do not mention a variable.
    int build(const Task& task, const Tests& tests, std::span<const int> ops, size_t depth) {
        const int entry = static_cast<int>(code_.size());
        for (size_t rest = 0;; code_[rest] = static_cast<int>(code_.size())) {
            // The first operators for which `is_among` holds, taken off.
            const auto take = [&](auto is_among) {
                const auto end = std::ranges::find_if_not(ops, is_among);
                const std::span<const int> taken(ops.begin(), end);
                ops = {end, ops.end()};
                return taken;
            };
            const auto leaf = take([&](int op) { return tests.of[op].size() == depth; });
            const int place = ops.empty() ? -1 : tests.of[ops[0]][depth].variable;
            const int variable = ops.empty() ? -1 : tests.variables[place];
            rest = code_.size() + 2;
            code_.insert(code_.end(), {static_cast<int>(leaf.size()), variable, -1});
            code_.insert(code_.end(), leaf.begin(), leaf.end());
            if (ops.empty()) return entry;

            std::vector<std::span<const int>> of_value;
            while (!ops.empty() && tests.of[ops[0]][depth].variable == place)
                of_value.push_back(take([&, test = tests.of[ops[0]][depth]](int op) {
                    return tests.of[op].size() > depth && tests.of[op][depth] == test;
                }));
            const int count = static_cast<int>(of_value.size());
            const bool is_dense = count * 3 >= task.domain_size[variable] || count > 8;
            size_t table = code_.size() + 1;
            code_.push_back(is_dense ? -1 : count);
            code_.insert(code_.end(), is_dense ? task.domain_size[variable] : 2 * count, -1);
            for (const auto& some : of_value) {
                const int value = tests.of[some[0]][depth].value;
                const int subtree = build(task, tests, some, depth + 1);
                if (is_dense) {
                    code_[table + value] = subtree;
                } else {
                    code_[table++] = value;
                    code_[table++] = subtree;
                }
            }
            if (ops.empty()) return entry;
        }
    }

    std::vector<int> code_;
};

}  // namespace hstar
