// States to learn from, in buckets: states of problems of one kind, the oldest forgotten first.
#pragma once
#include <algorithm>
#include <cstddef>
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
    // Position 0 is the oldest.
    Place at(size_t position) const { return places_[(oldest_ + position) % places_.size()]; }
    size_t num_fresh() const { return fresh_; }
    void set_fresh(size_t count) { fresh_ = count; }

    void push(Place place) {
        if (places_.size() < capacity_) {
            places_.push_back(place);
        } else {
            places_[oldest_] = place;
            oldest_ = (oldest_ + 1) % capacity_;
        }
        fresh_ = std::min(fresh_ + 1, places_.size());
    }

    // `count` different positions, or all. With `fresh_first` those pushed since the last draw come first,
    // even if they are more than `count` (Gehring et al.'s code).
    void draw(size_t count, bool fresh_first, Random& random, std::vector<Place>& batch) {
        batch.clear();
        positions_.resize(size());
        for (size_t i = 0; i < size(); ++i) positions_[i] = size() - 1 - i;  // the newest first
        size_t taken = 0;
        if (fresh_first) taken = fresh_;
        fresh_ = 0;
        const size_t wanted = std::max(taken, std::min(count, size()));
        for (; taken < wanted; ++taken) {
            const auto rest = static_cast<uint32_t>(size() - taken);
            std::swap(positions_[taken], positions_[taken + random.below(rest)]);
        }
        for (size_t i = 0; i < wanted; ++i) batch.push_back(at(positions_[i]));
    }

  private:
    size_t capacity_, oldest_ = 0, fresh_ = 0;
    std::vector<Place> places_;
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
