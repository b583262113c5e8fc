// Conditions over ground literals in disjunctive normal form.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/sort_unique.hpp"

namespace hstar {

// A construct the grounder cannot represent in reasonable space.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Disjunctive normal form over ground literals: no disjunct = false, an empty disjunct = true.
using Conjunction = std::vector<int>;
using Dnf = std::vector<Conjunction>;
constexpr size_t kMaxDisjuncts = 4096;

inline const Dnf kTrue{{}};
inline const Dnf kFalse{};

// Sorts, removes duplicates; false if the conjunction contradicts itself.
inline bool tidy(Conjunction& literals) {
    sort_unique(literals);
    const auto contradict = [](int a, int b) { return a == (b ^ 1); };
    return std::ranges::adjacent_find(literals, contradict) == literals.end();
}

[[noreturn]] inline void refuse_size() {
    throw Unsupported("a condition expands to more than " + std::to_string(kMaxDisjuncts) +
                      " disjuncts; rewrite it with fewer nested disjunctions");
}

// left := left and right. Appended literals are tidied later, so that long conjunctions take linear time.
inline void conjoin(Dnf& left, const Dnf& right) {
    if (right.size() == 1) {
        for (auto& disjunct : left) disjunct.insert(disjunct.end(), right[0].begin(), right[0].end());
        return;
    }
    if (left.size() * right.size() > kMaxDisjuncts) refuse_size();
    Dnf result;
    for (const auto& a : left)
        for (const auto& b : right) {
            Conjunction both(a);
            both.insert(both.end(), b.begin(), b.end());
            if (tidy(both)) result.push_back(std::move(both));
        }
    left = std::move(result);
}

inline void tidy(Dnf& dnf) {
    std::erase_if(dnf, [](Conjunction& disjunct) { return !tidy(disjunct); });
    sort_unique(dnf);
    if (!dnf.empty() && dnf[0].empty()) dnf = kTrue;
    if (dnf.size() > kMaxDisjuncts) refuse_size();
}

// left := left or right, tidied only when it has grown.
inline void disjoin(Dnf& left, const Dnf& right) {
    if (left == kTrue) return;
    if (right == kTrue) left.clear();
    left.insert(left.end(), right.begin(), right.end());
    if (left.size() > 2 * kMaxDisjuncts) tidy(left);
}

}  // namespace hstar
