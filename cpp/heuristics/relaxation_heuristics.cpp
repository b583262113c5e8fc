#include "heuristics/relaxation_heuristics.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "lanes/cost_lanes.hpp"
#include "runtime/cache_aligned.hpp"
#include "runtime/kernels.hpp"
#include "runtime/sort_unique.hpp"

namespace hstar {

// What the heuristics of a task share: searches that take turns often have one each, and on large tasks this
// takes seconds to make and gigabytes to keep.
struct Relaxation {
    Relaxation(const Task& task, CostType type, const Limits& limits) : relaxed(task, type, limits) {
        if (!fits()) return;
        std::vector<int> position;
        for (int op = 0; op < relaxed.num_operators(); ++op) {
            position.push_back(static_cast<int>(records.size()));
            records.insert(records.end(), {relaxed.cost[op], static_cast<int>(relaxed.pre[op].size()),
                                           static_cast<int>(relaxed.eff[op].size())});
            records.insert(records.end(), relaxed.pre[op].begin(), relaxed.pre[op].end());
            records.insert(records.end(), relaxed.eff[op].begin(), relaxed.eff[op].end());
        }
        for (int op : relaxed.consumers.data) consumers.push_back(position[op]);
        for (int edge : relaxed.achievers.data) {
            achievers.push_back(position[relaxed.edge_operator[edge]]);
            achiever_origin.push_back(relaxed.edge_origin[edge]);
        }
    }

    // The one that other heuristics of the task use, or a new one.
    static std::shared_ptr<const Relaxation> of(const Task& task, CostType type, const Limits& limits) {
        static std::mutex mutex;
        static std::map<std::pair<const Task*, CostType>, std::weak_ptr<const Relaxation>> in_use;
        std::lock_guard lock(mutex);
        std::erase_if(in_use, [](const auto& one) { return one.second.expired(); });
        auto& known = in_use[{&task, type}];
        if (auto shared = known.lock()) return shared;
        auto made = std::make_shared<const Relaxation>(task, type, limits);
        known = made;
        return made;
    }

    int cost_limit() const {
        size_t most = 1;
        for (int op = 0; op < relaxed.num_operators(); ++op) most = std::max(most, relaxed.pre[op].size());
        return static_cast<int>(65535 / (most + 1));
    }
    // Whether costs fit into the lanes of the kernel.
    bool fits() const {
        int limit = cost_limit();
        if (relaxed.has_zero_cost && relaxed.num_facts > 65535) return false;  // free steps may be as many
        return std::all_of(relaxed.cost.begin(), relaxed.cost.end(), [&](int c) { return c < limit; });
    }

    RelaxedTask relaxed;
    std::vector<int> records, consumers, achievers, achiever_origin;  // for the kernel, if they fit
};

// The kernel's arrays and the code that moves states in and results out.
class WideWorkspace {
  public:
    WideWorkspace(const Task& task, const Relaxation& shared, bool with_free_steps)
        : task_(task), relaxed_(shared.relaxed), kernel_(HSTAR_KERNELS(wide).back()) {
        const RelaxedTask& relaxed = shared.relaxed;
        const size_t facts = static_cast<size_t>(relaxed.num_facts);
        const size_t ops = static_cast<size_t>(task.num_operators());
        cost_.resize(facts * kLanes);
        if (with_free_steps) free_steps_.resize(facts * kLanes);
        auto ints = [&](size_t size, int value) { return ints_.emplace_back(size, value).data(); };
        auto masks = [&](size_t size) { return masks_.emplace_back(size, 0).data(); };
        data_.records = shared.records.data();
        data_.consumer_begin = relaxed.consumers.offset.data();
        data_.consumers = shared.consumers.data();
        data_.achiever_begin = relaxed.achievers.offset.data();
        data_.achievers = shared.achievers.data();
        data_.achiever_origin = shared.achiever_origin.data();
        data_.goals = relaxed.goals.data();
        data_.num_goals = static_cast<int>(relaxed.goals.size());
        data_.num_facts = relaxed.num_facts;
        data_.cost_limit = shared.cost_limit();
        data_.cost = cost_.data();
        data_.free_steps = with_free_steps ? free_steps_.data() : nullptr;
        for (int** links : {&data_.next, &data_.previous}) {  // all buckets are empty
            *links = ints(facts + 65536, 0);
            std::iota(*links, *links + facts + 65536, 0);
        }
        data_.oldest_first = relaxed.has_zero_cost;
        data_.queued_key = ints(facts, -1);
        data_.needed = masks(facts);
        data_.pending = masks(facts);
        data_.stack = ints(facts, 0);
        data_.needed_facts = ints(facts, 0);
        data_.in_plan = masks(ops);
        data_.plan = ints(ops, 0);
    }

    // False if the costs may not fit into 16 bits.
    bool explore(const StateBatch& batch, int first, int count, bool sum) {
        std::ranges::fill(cost_, 65535);
        std::ranges::fill(free_steps_, 0);
        seeds_.clear();
        auto hold_in_all = [&](int fact) {
            std::fill_n(cost_.begin() + static_cast<int64_t>(fact) * kLanes, kLanes, 0);
            seeds_.push_back(fact);
        };
        hold_in_all(relaxed_.always_true);
        const int* base = batch.row(first);
        for (int v = 0; v < batch.num_variables; ++v) {
            int fact = relaxed_.fact_of[task_.first_fact[v] + base[v]];
            if (fact >= 0) hold_in_all(fact);
        }
        // Unused lanes keep the first state; the others are corrected where they differ from it.
        for (int lane = 1; lane < count; ++lane) {
            const int* values = batch.row(first + lane);
            for (int v = 0; v < batch.num_variables; ++v) {
                if (values[v] == base[v]) continue;
                int gone = relaxed_.fact_of[task_.first_fact[v] + base[v]];
                int here = relaxed_.fact_of[task_.first_fact[v] + values[v]];
                if (gone >= 0) cost_[static_cast<size_t>(gone) * kLanes + lane] = 65535;
                if (here >= 0) {
                    cost_[static_cast<size_t>(here) * kLanes + lane] = 0;
                    seeds_.push_back(here);
                }
            }
        }
        return kernel_.explore(data_, seeds_.data(), static_cast<int>(seeds_.size()), sum);
    }

    int cost(int fact, int lane) const { return cost_[static_cast<size_t>(fact) * kLanes + lane]; }

    void extract(uint32_t lanes) { kernel_.extract(data_, lanes); }
    const WideKernelData& data() const { return data_; }
    void clear_plan() {
        for (int i = 0; i < data_.num_needed_facts; ++i) data_.needed[data_.needed_facts[i]] = 0;
        for (int i = 0; i < data_.plan_size; ++i) data_.in_plan[data_.plan[i]] = 0;
    }

  private:
    const Task& task_;
    const RelaxedTask& relaxed_;
    WideKernel kernel_;
    WideKernelData data_{};
    AlignedVector<uint16_t> cost_, free_steps_;
    std::vector<int> seeds_;
    std::vector<std::vector<int>> ints_;  // the kernel's work space
    std::vector<std::vector<uint32_t>> masks_;
};

RelaxationHeuristic::RelaxationHeuristic(const Task& task, CostType type, Kind kind, const Limits& limits)
    : task_(task),
      kind_(kind),
      relaxation_(Relaxation::of(task, type, limits)),
      relaxed_(relaxation_->relaxed),
      exploration_(relaxed_),
      follower_(task, relaxed_) {
    needed_at_.assign(relaxed_.num_facts, 0);
    const bool with_free_steps = kind == Kind::FF && relaxed_.has_zero_cost;
    if (relaxation_->fits()) wide_ = std::make_unique<WideWorkspace>(task, *relaxation_, with_free_steps);
}

RelaxationHeuristic::~RelaxationHeuristic() = default;

void RelaxationHeuristic::evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) {
    for (int first = 0; first < batch.count;) {
        int count = std::min(kLanes, batch.count - first);
        bool done = wide_ && count >= wide_threshold_ && !relaxed_.goal_is_false &&
                    evaluate_wide(batch, first, count, h, preferred);
        if (!done)
            for (int i = first; i < first + count; ++i) h[i] = evaluate_one(batch.row(i), preferred);
        first += count;
    }
}

bool RelaxationHeuristic::evaluate_wide(const StateBatch& batch, int first, int count, float* h,
                                        Rows<int>* preferred) {
    if (!wide_->explore(batch, first, count, kind_ != Kind::Max)) return false;
    states_side_by_side_ += count;
    uint32_t alive = count == kLanes ? ~0u : (1u << count) - 1;
    for (int lane = 0; lane < count; ++lane) {
        int64_t total = 0;
        for (int goal : relaxed_.goals) {
            int cost = wide_->cost(goal, lane);
            if (cost == 65535) alive &= ~(1u << lane);
            total = kind_ == Kind::Max ? std::max<int64_t>(total, cost) : total + cost;
        }
        h[first + lane] = (alive >> lane) & 1 ? to_float_below(total) : kDeadEnd;
    }
    if (kind_ != Kind::FF) return true;
    wide_->extract(alive);
    const WideKernelData& data = wide_->data();
    int64_t total[kLanes] = {};
    for (int i = 0; i < data.plan_size; ++i) {
        int cost = relaxed_.task_cost[data.plan[i]];
        for (uint32_t lanes = data.in_plan[data.plan[i]]; lanes; lanes &= lanes - 1)
            total[__builtin_ctz(lanes)] += cost;
    }
    for (int lane = 0; lane < count; ++lane) {
        if ((alive >> lane) & 1) h[first + lane] = to_float_below(total[lane]);
        if (!preferred) continue;
        relaxed_plan_.clear();  // stays empty in dead ends
        for (int i = 0; i < data.plan_size; ++i)
            if ((data.in_plan[data.plan[i]] >> lane) & 1) relaxed_plan_.push_back(data.plan[i]);
        add_preferred(batch.row(first + lane), *preferred, [&](int fact) { return wide_->cost(fact, lane); });
    }
    wide_->clear_plan();
    return true;
}

template <class CostOf>
void RelaxationHeuristic::add_preferred(const int* values, Rows<int>& preferred, CostOf cost_of) {
    for (int op : relaxed_plan_) {
        if (Task::all_hold(task_.pre[op], [&](int variable) { return values[variable]; })) preferred.push(op);
    }
    std::sort(preferred.data.begin() + preferred.offset.back(), preferred.data.end());
    preferred.close_row();
    if (!ways_) return;
    by_cost_.clear();
    for (int op : relaxed_plan_) {
        int cost = 0;
        for (Assignment a : task_.pre[op])
            if (const int fact = relaxed_.fact_of[task_.fact(a)]; fact >= 0)
                cost = std::max(cost, cost_of(fact));
        by_cost_.push_back({cost, op});
    }
    std::sort(by_cost_.begin(), by_cost_.end());
    std::transform(by_cost_.begin(), by_cost_.end(), relaxed_plan_.begin(),
                   [](auto step) { return step.second; });
    ways_->add_row(follower_.follow(values, relaxed_plan_));
}

void RelaxationHeuristic::extract_relaxed_plan() {
    ++clock_;
    auto need = [&](int fact) {
        if (std::exchange(needed_at_[fact], clock_) == clock_) return;
        if (exploration_.supporter(fact) != RelaxedExploration::kHolds) stack_.push_back(fact);
    };
    for (int goal : relaxed_.goals) need(goal);
    while (!stack_.empty()) {
        int edge = exploration_.supporter(stack_.back());
        stack_.pop_back();
        relaxed_plan_.push_back(relaxed_.edge_origin[edge]);
        for (int fact : relaxed_.pre[relaxed_.edge_operator[edge]]) need(fact);
    }
    sort_unique(relaxed_plan_);
}

float RelaxationHeuristic::evaluate_one(const int* values, Rows<int>* preferred) {
    const bool reachable =
        !relaxed_.goal_is_false &&
        (kind_ == Kind::Max ? exploration_.run<false>(task_, values) : exploration_.run<true>(task_, values));
    int64_t total = 0;
    if (kind_ == Kind::FF) {
        relaxed_plan_.clear();  // stays empty in dead ends
        if (reachable) extract_relaxed_plan();
        for (int op : relaxed_plan_) total += relaxed_.task_cost[op];
        if (preferred) add_preferred(values, *preferred, [&](int fact) { return exploration_.cost(fact); });
    }
    if (!reachable) return kDeadEnd;
    if (kind_ == Kind::FF) return to_float_below(total);
    for (int goal : relaxed_.goals) {
        const int cost = exploration_.cost(goal);
        total = kind_ == Kind::Max ? std::max<int64_t>(total, cost) : total + cost;
    }
    return to_float_below(total);
}

void RelaxationHeuristic::plan_features(const StateBatch& batch, float* features) {
    auto deletes = [&](int op) {
        auto pre = task_.pre[op];
        int count = static_cast<int>(task_.conditional[op].size());
        for (auto effect : task_.effects[op])
            count += std::any_of(pre.begin(), pre.end(),
                                 [&](Assignment a) { return a.variable == effect.variable; });
        return count;
    };
    for (int i = 0; i < batch.count; ++i) {
        float* row = features + static_cast<size_t>(i) * kNumFeatures;
        int open = 0, deleted = 0;
        for (auto [variable, value] : task_.goal) open += batch.row(i)[variable] != value;
        float h = evaluate_one(batch.row(i), nullptr);
        if (h != kDeadEnd)
            for (int op : relaxed_plan_) deleted += deletes(op);
        size_t length = h == kDeadEnd ? 0 : relaxed_plan_.size();
        row[0] = static_cast<float>(open);
        row[1] = h;
        row[2] = static_cast<float>(deleted);
        row[3] = length ? static_cast<float>(deleted) / static_cast<float>(length) : 0.0f;
    }
}

}  // namespace hstar
