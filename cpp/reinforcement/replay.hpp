// States to learn from, in buckets: states of problems of one kind, the oldest forgotten first.
#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "runtime/random.hpp"
#include "task/registry.hpp"

namespace hstar {

struct Place {
    int problem;
    StateId state;
    bool operator==(const Place&) const = default;
};

class ReplayBucket {
  public:
    explicit ReplayBucket(size_t capacity) : capacity_(capacity) {}

    size_t size() const { return places_.size(); }
    const std::deque<Place>& places() const { return places_; }  // the oldest first
    size_t num_fresh() const { return fresh_; }
    void set_fresh(size_t count) { fresh_ = count; }

    void push(Place place) {
        places_.push_back(place);
        if (size() > capacity_) places_.pop_front();
        fresh_ = std::min(fresh_ + 1, size());
    }

    // `count` different positions, or all. With `fresh_first` those pushed since the last draw come first,
    // even if they are more than `count` (Gehring et al.'s code).
    void draw(size_t count, bool fresh_first, Random& random, std::vector<Place>& batch) {
        batch.clear();
        positions_.resize(size());
        for (size_t i = 0; i < size(); ++i) positions_[i] = size() - 1 - i;  // the newest first
        size_t taken = fresh_first ? fresh_ : 0;
        fresh_ = 0;
        const size_t wanted = std::max(taken, std::min(count, size()));
        for (; taken < wanted; ++taken) {
            const auto rest = static_cast<uint32_t>(size() - taken);
            std::swap(positions_[taken], positions_[taken + random.below(rest)]);
        }
        for (size_t i = 0; i < wanted; ++i) batch.push_back(places_[positions_[i]]);
    }

  private:
    size_t capacity_, fresh_ = 0;
    std::deque<Place> places_;
    std::vector<size_t> positions_;  // scratch
};

// Keeps the first of equal places and returns how often each was there; states of one problem come one after
// the other. The order must not depend on the numbers of states: they are others when learning goes on later.
inline std::vector<int> merge_equal(std::vector<Place>& batch) {
    std::stable_sort(batch.begin(), batch.end(), [](Place a, Place b) { return a.problem < b.problem; });
    std::vector<int> times;
    size_t kept = 0;
    for (Place place : batch) {
        const auto end = batch.begin() + static_cast<int64_t>(kept);
        const auto known = std::find(batch.begin(), end, place);
        if (known != end) {
            ++times[static_cast<size_t>(known - batch.begin())];
        } else {
            batch[kept++] = place;
            times.push_back(1);
        }
    }
    batch.resize(kept);
    return times;
}

}  // namespace hstar
