// Pairs of facts that no reachable state holds together, as a matrix of bits.
//
// The variables and the mutex groups of the grounder give some, and an atom excludes its negation. h^2
// (Haslum and Geffner 2000) gives more: a pair is possible if it holds initially, or if an operator whose
// preconditions are pairwise possible adds both facts, or adds one and keeps the other.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "regression/set_task.hpp"
#include "runtime/limits.hpp"

namespace hstar {

class Mutexes {
  public:
    // From variables, mutex groups and negations. Throws Stopped.
    Mutexes(const SetTask& task, const Limits& limits);

    // Adds the pairs that h^2 excludes, and all pairs with a fact that it does not reach. Returns, per
    // operator, whether its preconditions are pairwise possible. When a limit is reached it throws Stopped
    // and changes nothing: h^2 proves nothing before it is complete.
    std::vector<char> add_h2(const SetTask& task, const Limits& limits);

    int words() const { return words_; }
    std::span<const uint64_t> row(int fact) const {
        return {bits_.data() + static_cast<size_t>(fact) * words_, static_cast<size_t>(words_)};
    }
    bool exclusive(int a, int b) const { return row(a)[b / 64] >> (b % 64) & 1; }
    uint64_t num_pairs() const;

    // Above this number of facts the matrix would take more than half a gigabyte.
    static constexpr int kMostFacts = 1 << 16;

  private:
    void exclude(int a, int b) {
        bits_[static_cast<size_t>(a) * words_ + b / 64] |= uint64_t{1} << (b % 64);
        bits_[static_cast<size_t>(b) * words_ + a / 64] |= uint64_t{1} << (a % 64);
    }
    int num_facts_, words_;
    std::vector<uint64_t> bits_;
};

}  // namespace hstar
