// Real-time dynamic programming with a Neural Logic Machine as value function: Algorithm 1 of Gehring et al.
// (ICAPS 2022) and variants of it.
//
//     repeat
//         take a problem; s is its initial state
//         until s is a goal or a dead end, or for so many steps
//             take an operator by the values Q(s, a) = r'(s, a) + gamma V'(a(s)); s becomes its successor
//             keep s in the bucket of the problem
//             draw a batch of one bucket; move V' on it towards the backup of Q
//
// V' is the shaped value: that of the task is V = V' + phi. Values of dead ends are known, not learned.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <span>
#include <vector>

#include "networks/nlm/batch.hpp"
#include "reinforcement/environment.hpp"
#include "reinforcement/shaping.hpp"
#include "runtime/limits.hpp"
#include "runtime/random.hpp"
#include "task/registry.hpp"

namespace hstar {

struct Place {
    int problem;
    StateId state;
    bool operator==(const Place&) const = default;
};

// States to learn from, of problems of one kind; the oldest are forgotten first.
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

struct RtdpOptions {
    Shaping shaping;
    int episode_steps = 40;
    double temperature = 1;        // of softmax(Q / temperature); 0: the best operator
    bool samples_actions = false;  // by softmax; otherwise the best operator is taken
    bool max_backup = false;       // otherwise the expectation under softmax
    int batch = 25;
    int capacity = 6000;       // of a bucket
    int least_states = 25;     // in all buckets before learning begins
    bool fresh_first = false;  // see ReplayBucket::draw
    int target_period = 0;     // updates between copies of the network that backups use; 0: no copy
    bool learns_dead_ends = false;
    // Episodes are greedy best-first searches by V, and a step is an expansion.
    bool searches = false;
    // Backups stay between the values of the best way to the goal that was seen and of a lower bound.
    bool bounded = false;
    // The result is a running mean of the weights that forgets at this rate per update; 0: the last ones.
    double average = 0;
    double weight_decay = 0;  // of AdamW: weights shrink by this times the learning rate
};

struct RtdpProgress {
    int64_t steps = 0, updates = 0, episodes = 0, goals = 0;
    double loss = 0, returns = 0;  // sums over updates and episodes
};

class RtdpLearner {
  public:
    // bucket_of: per problem.
    RtdpLearner(std::vector<EnvironmentProblem*> problems, std::vector<int> bucket_of, const NlmShape& shape,
                std::vector<float> theta, const RtdpOptions& options, uint64_t seed, int threads);

    // Whole episodes until so many steps are done, but no step beyond `last`. Throws Stopped; the steps done
    // until then count.
    void run(int64_t until, int64_t last, double learning_rate, const Limits& limits);

    const RtdpProgress& progress() const { return progress_; }
    // The weights to search with.
    const std::vector<float>& result() const {
        return options_.average > 0 ? weights_.average : weights_.theta;
    }

    // The weights, their running mean, the copy that backups use, and the means of Adam.
    struct Weights {
        std::vector<float> theta, average, target, mean, square;
        bool operator==(const Weights&) const = default;
    };
    // Between episodes, all that the future depends on.
    struct Memory {
        uint64_t random = 0;
        Weights weights;
        std::vector<Place> states;            // of one bucket after the other
        std::vector<int64_t> lengths, fresh;  // of the buckets
        std::vector<Place> bounded;           // where a way to the goal was seen
        std::vector<float> upper;             // the length of the best way
        std::vector<Place> dead_ends;         // that expansions found
        std::vector<int64_t> goal_steps;      // when each episode that reached a goal ended
        std::vector<int64_t> counters;        // of RtdpProgress
        std::vector<double> sums;
    };
    Memory memory() const;
    void restore(const Memory& memory);

  private:
    // The values that a network gave to states; they hold as long as its version.
    struct Values {
        uint64_t version = 0;  // of the weights
        std::unique_ptr<NlmWeights> weights = std::make_unique<NlmWeights>();
        struct Value {
            uint64_t version = ~uint64_t{0};
            float value = 0;
        };
        std::vector<std::vector<Value>> known;  // per problem and state
    };
    void walk(int problem, const Limits& limits);
    void search(int problem, const Limits& limits);
    void finish_episode(double earned, bool reached_goal);
    void observe(Place place, const Limits& limits);
    void update();
    void apply_adam();
    double backup(Place place);
    void add_successors(Place place, std::vector<Place>& to);  // those that are no ends
    void fill_q(Place place, Values& by);
    size_t choose_action();
    void evaluate(std::span<const Place> places, Values& by);
    void renew(Values& by);  // after its parameters have changed
    NlmBatch fill_batch(std::span<const Place> places);
    double value(Place place, const Values& by) const { return by.known[place.problem][place.state].value; }
    double phi(Place place) const;
    float& upper(Place place);
    void see_way(int problem, std::span<const StateId> states);

    std::vector<EnvironmentProblem*> problems_;
    std::vector<int> bucket_of_;
    std::unique_ptr<NlmRunner> network_;
    RtdpOptions options_;
    int threads_;
    Random random_;
    RtdpProgress progress_;
    std::vector<int64_t> goal_steps_;
    Weights weights_;
    Values online_, copied_;
    std::vector<ReplayBucket> buckets_;
    std::vector<std::vector<float>> upper_;  // per problem and state
    int64_t last_step_ = 0;
    double learning_rate_ = 0;
    // Scratch.
    std::vector<Place> batch_, places_, unknown_;
    std::vector<double> q_, targets_;
    std::vector<int> sizes_;
    std::vector<int64_t> starts_;
    std::vector<NlmEntry> entries_;
    std::vector<float> gradient_, entry_values_, outputs_;
};

}  // namespace hstar
