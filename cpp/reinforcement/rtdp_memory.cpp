// What a learner goes on from after a stop.
#include <algorithm>
#include <array>
#include <cmath>

#include "reinforcement/rtdp.hpp"
#include "runtime/require.hpp"

namespace hstar {

RtdpLearner::Memory RtdpLearner::memory() const {
    Memory held;
    held.random = random_.state();
    held.weights = weights_;
    for (const ReplayBucket& bucket : buckets_) {
        held.states.insert(held.states.end(), bucket.places().begin(), bucket.places().end());
        held.lengths.push_back(static_cast<int64_t>(bucket.size()));
        held.fresh.push_back(static_cast<int64_t>(bucket.num_fresh()));
    }
    for (int problem = 0; problem < static_cast<int>(problems_.size()); ++problem) {
        const EnvironmentProblem& world = *problems_[problem];
        const std::vector<float>& upper = upper_[problem];
        const auto is_bounded = [&](StateId state) {
            return state < upper.size() && !std::isinf(upper[state]) && !world.is_goal(state);
        };
        const auto is_found = [&](StateId state) {
            return world.is_dead_end(state) && !world.is_stuck(state);
        };
        std::vector<StateId> known;
        for (StateId state = 0; state < world.size(); ++state)
            if (is_bounded(state) || is_found(state)) known.push_back(state);
        // By their values: numbers of states are others in a resumed run, and its bytes must be the same.
        std::ranges::sort(known, [&](StateId a, StateId b) { return world.is_before(a, b); });
        for (StateId state : known) {
            if (is_found(state)) held.dead_ends.push_back({problem, state});
            if (!is_bounded(state)) continue;
            held.bounded.push_back({problem, state});
            held.upper.push_back(upper[state]);
        }
    }
    held.goal_steps = goal_steps_;
    held.counters = {progress_.steps, progress_.updates, progress_.episodes, progress_.goals};
    held.sums = {progress_.loss, progress_.returns};
    return held;
}

void RtdpLearner::restore(const Memory& held) {
    const auto sizes = [](const Weights& w) {
        return std::array{w.theta.size(), w.average.size(), w.target.size(), w.mean.size(), w.square.size()};
    };
    require(sizes(held.weights) == sizes(weights_) && held.lengths.size() == buckets_.size() &&
                held.fresh.size() == buckets_.size() && held.upper.size() == held.bounded.size() &&
                held.counters.size() == 4 && held.sums.size() == 2,
            "the memory is that of another learner");
    std::vector<ReplayBucket> buckets;
    auto next = held.states.begin();
    for (size_t b = 0; b < buckets_.size(); ++b) {
        const int64_t length = held.lengths[b], fresh = held.fresh[b];
        require(length >= 0 && length <= std::min<int64_t>(options_.capacity, held.states.end() - next) &&
                    fresh >= 0 && fresh <= length,
                "a bucket of the memory is not one of this learner");
        ReplayBucket& bucket = buckets.emplace_back(static_cast<size_t>(options_.capacity));
        for (const auto end = next + length; next != end; ++next) {
            require(bucket_of_[next->problem] == static_cast<int>(b), "a state is in a wrong bucket");
            bucket.push(*next);
        }
        bucket.set_fresh(static_cast<size_t>(fresh));
    }
    buckets_ = std::move(buckets);
    progress_ = {held.counters[0], held.counters[1], held.counters[2],
                 held.counters[3], held.sums[0],     held.sums[1]};
    random_ = Random(held.random);
    weights_ = held.weights;
    goal_steps_ = held.goal_steps;
    for (std::vector<float>& known : upper_) known.clear();
    for (size_t i = 0; i < held.bounded.size(); ++i) upper(held.bounded[i]) = held.upper[i];
    for (Place place : held.dead_ends) problems_[place.problem]->expand(place.state);
    renew(online_);
    renew(copied_);
}

}  // namespace hstar
