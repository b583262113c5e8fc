// What a learner goes on from after a stop.
#include <cmath>

#include "reinforcement/rtdp.hpp"
#include "runtime/require.hpp"

namespace hstar {

RtdpLearner::Memory RtdpLearner::memory() const {
    Memory memory{progress_, random_.state(), theta_, average_, target_, mean_, square_, {},
                  {},        goal_steps_,     {},     {}};
    for (const ReplayBucket& bucket : buckets_) {
        memory.buckets.emplace_back();
        for (size_t i = 0; i < bucket.size(); ++i) memory.buckets.back().push_back(bucket.at(i));
        memory.fresh.push_back(static_cast<int64_t>(bucket.num_fresh()));
    }
    for (size_t problem = 0; problem < problems_.size(); ++problem) {
        const EnvironmentProblem& world = *problems_[problem];
        const std::vector<float>& known = upper_[problem];
        for (StateId state = 0; state < world.size(); ++state) {
            const Place place{static_cast<int>(problem), state};
            if (state < known.size() && !std::isinf(known[state]) && !world.is_goal(state))
                memory.upper.push_back({place, known[state]});
            if (world.is_dead_end(state) && !world.is_stuck(state)) memory.dead_ends.push_back(place);
        }
    }
    return memory;
}

void RtdpLearner::restore(const Memory& memory) {
    const size_t size = theta_.size();
    require(memory.theta.size() == size && memory.mean.size() == size && memory.square.size() == size &&
                memory.average.size() == average_.size() && memory.target.size() == target_.size() &&
                memory.buckets.size() == buckets_.size() && memory.fresh.size() == buckets_.size(),
            "the memory is that of another learner");
    for (size_t b = 0; b < buckets_.size(); ++b) {
        const auto held = static_cast<int64_t>(memory.buckets[b].size());
        require(held <= options_.capacity && memory.fresh[b] >= 0 && memory.fresh[b] <= held,
                "a bucket of the memory is not one of this learner");
        for (Place place : memory.buckets[b])
            require(bucket_of_[place.problem] == static_cast<int>(b), "a state is in a wrong bucket");
    }
    progress_ = memory.progress;
    random_ = Random(memory.random);
    theta_ = memory.theta;
    average_ = memory.average;
    target_ = memory.target;
    mean_ = memory.mean;
    square_ = memory.square;
    goal_steps_ = memory.goal_steps;
    for (size_t b = 0; b < buckets_.size(); ++b) {
        buckets_[b] = ReplayBucket(static_cast<size_t>(options_.capacity));
        for (Place place : memory.buckets[b]) buckets_[b].push(place);
        buckets_[b].set_fresh(static_cast<size_t>(memory.fresh[b]));
    }
    for (std::vector<float>& known : upper_) known.clear();
    for (const Bounded& known : memory.upper) upper(known.place) = known.upper;
    for (Place place : memory.dead_ends) problems_[place.problem]->expand(place.state);
    ++online_.version;
    ++copied_.version;
}

}  // namespace hstar
