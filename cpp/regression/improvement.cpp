// Smaller depths for pre-images, by steps between them that the sampling did not take.
//
// Bettker et al. 2024 (sample and successor improvement). If an operator leads from a set s to a set that
// contains t, then depth(s) <= depth(t) + 1, because all states that contain s reach one that contains t.
// If s itself contains t, then depth(s) <= depth(t).
#include <algorithm>
#include <numeric>

#include "regression/regression.hpp"
#include "regression/subset_index.hpp"
#include "task/successors.hpp"

namespace hstar {

namespace {

// The distinct sets among pre-images.
struct DistinctSets {
    explicit DistinctSets(const PreImages& images) : number(images.size()) {
        std::vector<int> order(images.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::sort(order, std::ranges::lexicographical_compare,
                          [&](int image) { return images.facts[image]; });
        for (int image : order) {
            const auto set = images.facts[image];
            if (facts.size() == 0 || !std::ranges::equal(facts[facts.size() - 1], set)) facts.add_row(set);
            number[image] = facts.size() - 1;
        }
    }
    Rows<int> facts;
    std::vector<int> number;  // per pre-image: its set
};

class Improver {
  public:
    Improver(const SetTask& task, const Rows<int>& sets, const std::vector<int>& depths, const Limits& limits)
        : task_(task),
          sets_(sets),
          meter_(limits),
          generator_(task.task, limits),
          known_(task.task, sets, limits),
          checked_(sets.size(), 0),
          fact_of_(task.task.num_variables(), -1) {
        for (int set = 0; set < sets.size(); ++set) known_.lower(set, depths[set]);
    }

    int depth(int set) const { return known_.value(set); }

    void run() {
        std::vector<int> order(sets_.size());
        std::iota(order.begin(), order.end(), 0);
        uint64_t before;
        do {
            before = known_.clock();
            // Short distances first: they make others shorter.
            std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return depth(a) < depth(b); });
            for (int set : order) improve(set);
        } while (known_.clock() - before > static_cast<uint64_t>(sets_.size()) / kFew);
    }

  private:
    void improve(int set) {
        const uint64_t since = std::exchange(checked_[set], known_.clock());
        if (since == known_.clock()) return;
        for (int fact : sets_[set]) fact_of_[task_.task.variable_of[fact]] = fact;
        uint64_t work = 1;
        int best = known_.smallest(fact_of_, depth(set), since, work);
        ops_.clear();
        generator_.applicable([&](int v) { return std::max(-1, fact_of_[v] - task_.task.first_fact[v]); },
                              ops_);
        for (int op : ops_) {
            if (!task_.is_usable[op]) continue;
            const int step = !task_.task.is_artificial(op);
            apply(op);
            best = known_.smallest(fact_of_, best - step, since, work) + step;
            undo();
        }
        for (int fact : sets_[set]) fact_of_[task_.task.variable_of[fact]] = -1;
        if (best < depth(set)) known_.lower(set, best);
        meter_.spend(work);
    }

    void apply(int op) {
        for (int fact : task_.deletes[op])
            if (fact_of_[task_.task.variable_of[fact]] == fact) change(task_.task.variable_of[fact], -1);
        for (Assignment effect : task_.task.effects[op]) {
            const int fact = task_.task.fact(effect);
            change(effect.variable, task_.is_fact[fact] ? fact : -1);
        }
    }
    void change(int variable, int fact) {
        changed_.push_back({variable, std::exchange(fact_of_[variable], fact)});
    }
    void undo() {
        for (; !changed_.empty(); changed_.pop_back())
            fact_of_[changed_.back().first] = changed_.back().second;
    }

    static constexpr int kFew = 1000;  // a pass that lowers less than one set in so many is the last
    const SetTask& task_;
    const Rows<int>& sets_;
    WorkMeter meter_;
    const SuccessorGenerator generator_;
    SubsetIndex known_;
    std::vector<uint64_t> checked_;  // per set: the clock of known_ when its bounds were last checked
    std::vector<int> fact_of_;       // per variable: the fact of the current set, or -1
    std::vector<int> ops_;
    std::vector<std::pair<int, int>> changed_;
};

}  // namespace

void improve_depths(const SetTask& task, PreImages& images, const Limits& limits) {
    limits.check();
    const DistinctSets sets(images);
    std::vector<int> depths(sets.facts.size(), INT_MAX);
    for (int image = 0; image < images.size(); ++image)
        depths[sets.number[image]] = std::min(depths[sets.number[image]], images.depth[image]);
    Improver improver(task, sets.facts, depths, limits);
    const auto store = [&] {
        for (int image = 0; image < images.size(); ++image)
            images.depth[image] = improver.depth(sets.number[image]);
    };
    try {
        improver.run();
    } catch (const Stopped&) {
        store();
        throw;
    }
    store();
}

}  // namespace hstar
