// Relaxed exploration of one state: Dijkstra over facts with a counter per operator.
//
//     cost(f) = 0                                        if f holds
//             = min over operators o adding f of  c(o) + combine over p in pre(o) of cost(p)
//
// combine is max for h^max and the sum for h^add. Stops as soon as all goals are settled.
#pragma once
#include <vector>

#include "heuristics/relaxed_task.hpp"

namespace hstar {

// A bucket queue for small keys with a heap behind it for large ones.
class KeyQueue {
  public:
    void clear();
    void push(int key, int item);
    bool empty() const { return size_ == 0; }
    std::pair<int, int> pop();  // smallest key, and an item that has it

  private:
    static constexpr int kBuckets = 1 << 14;
    std::vector<std::vector<int>> buckets_;
    std::vector<std::pair<int, int>> heap_;
    int low_ = 0, high_ = 0;
    size_t size_ = 0;
};

class RelaxedExploration {
  public:
    static constexpr int kUnreached = 1'000'000'000, kLargest = 100'000'000;

    explicit RelaxedExploration(const RelaxedTask& relaxed);

    enum class Combine { Max, Sum };
    // Returns false if some goal is unreachable.
    template <Combine combine>
    bool run(const int* values, int num_variables, const std::vector<int>& first_fact);

    int cost(int fact) const { return cost_[fact]; }
    // The effect that reaches the fact most cheaply, the first of equals; only for facts with positive cost
    // or, where operators are free, whatever has one.
    int supporter(int fact) const { return supporter_[fact]; }
    static constexpr int kHolds = -1;

  private:
    struct Counter {
        int unsatisfied, cost;
    };
    const RelaxedTask& relaxed_;
    std::vector<Counter> initial_counters_, counters_;
    std::vector<int> cost_, supporter_;
    std::vector<char> is_goal_;
    KeyQueue queue_;
};

}  // namespace hstar
