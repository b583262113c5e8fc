// The landmark-cut heuristic (Helmert & Domshlak, "Landmarks, critical paths and abstractions: what's the
// difference anyway?", ICAPS 2009).
//
//     h := 0
//     while h^max(goal) > 0:
//         each operator has an arc from its supporter, a precondition of largest h^max, to its effects
//         Z := facts from which the goal is reached through arcs of free operators
//         L := operators that enter Z and whose supporter is reached without an operator that enters Z
//         m := smallest cost in L
//         h += m;  cost(o) -= m for all o in L
//
// Any precondition of largest h^max may be the supporter, and the value depends much on the choice. What a
// cut charges is lost to the cuts after it, so a cut should hold few operators. The rules for a free
// operator, in this order:
//
// 1. A precondition in Z. It does not let Z grow, and an operator that enters Z from Z is not in the cut.
// 2. For the goal: the fact whose h^max was smallest at first. Cuts have cheapened it least.
//    For an operator that earlier cuts made free: a fact that no free operator achieves. The next cut then
//    lies right before that fact. (Small zones: Lauer & Fickert, "Beating LM-cut with LM-cut", HSDIP 2020.)
//    Operators that were free from the start have no such rule: it would prefer facts that many operators
//    share, such as the place of a lift, over those of one passenger.
// 3. The fact that the fewest operators need or the fewest achieve, whichever are more. Its cut is small and
//    concerns little else, so that other cuts rarely need the same operators.
// 4. The supporter it has. It is replaced when its h^max falls below that of another precondition, by the one
//    of largest h^max that was settled first.
//
// Rules 2 and 3 are applied where they decide about Z. Other operators have only rules 1 and 4.
//
// Two things make a round cheap. Whether a supporter is reached is asked only for the operators that enter Z,
// and answered backwards along the arcs that gave the facts their h^max, with a search only where that path
// uses an operator that enters Z; no sweep over the whole graph is needed. And h^max only falls between
// rounds, from the operators of L onwards, so it is repaired, not recomputed.
//
// Conditional effects: each is a part with its own preconditions, but an operator's parts share one cost. A
// cut that holds any part holds the operator, so costs are partitioned among landmarks of the real operators:
// admissible.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "heuristics/evaluator.hpp"
#include "heuristics/relaxed_exploration.hpp"
#include "runtime/sort_unique.hpp"

namespace hstar {

namespace {

class LandmarkCut : public Evaluator {
  public:
    LandmarkCut(const Task& task, CostType type, const Limits& limits) : task_(task) {
        always_true_ = task.num_facts();
        goal_fact_ = always_true_ + 1;
        int num_facts = goal_fact_ + 1;
        build_parts(adjusted_costs(task, type), limits);
        parts_.resize(initial_parts_.size());
        consumers_ = transpose(pre_, num_facts);
        achievers_ = transpose(eff_, num_facts);
        hmax_.resize(num_facts);
        for (int fact = 0; fact < num_facts; ++fact)
            breadth_.push_back(std::max(consumers_[fact].size(), achievers_[fact].size()));
        settled_.assign(num_facts, 0);
        in_zone_.assign(num_facts, 0);
        probed_.assign(num_facts, kUnknown);
        reached_by_.resize(num_facts);
        enters_zone_.assign(initial_parts_.size(), 0);
        in_cut_.assign(first_part_.size(), 0);
    }

    int slice() const override { return 1; }

    void evaluate(const StateBatch& batch, float* h, Rows<int>*) override {
        for (int i = 0; i < batch.count; ++i) h[i] = evaluate_one(batch.row(i));
    }

  private:
    static constexpr int kUnreached = 1'000'000'000;
    static constexpr int kNone = -1;

    struct Part {
        int cost;
        int unsatisfied;
        int supporter;  // precondition of largest h^max, kNone while unreached
        int shared;     // parts with the same number share one cost
    };

    void build_parts(const std::vector<int>& cost, const Limits& limits) {
        // Operators that are equal in the relaxation are one; the cheapest counts.
        std::map<std::pair<std::vector<int>, std::vector<int>>, int> known;
        int last_op = -1;
        for_each_relaxed_effect(task_, limits, [&](int op, std::vector<int>& pre, std::vector<int>& eff) {
            sort_unique(eff);
            if (task_.conditional[op].empty()) {
                auto [it, is_new] = known.try_emplace({pre, eff}, pre_.size());
                if (!is_new) {
                    Part& same = initial_parts_[it->second];
                    same.cost = std::min(same.cost, cost[op]);
                    return;
                }
            }
            if (std::exchange(last_op, op) != op) first_part_.push_back(pre_.size());
            add_part(pre, eff, cost[op]);
        });
        std::vector<int> goals;
        for (auto a : task_.goal) goals.push_back(task_.fact(a));
        first_part_.push_back(pre_.size());
        add_part(goals, {goal_fact_}, 0);
        first_part_.push_back(pre_.size());
    }

    void add_part(std::vector<int> pre, const std::vector<int>& eff, int cost) {
        if (pre.empty()) pre.push_back(always_true_);
        pre_.add_row(pre);
        eff_.add_row(eff);
        const int shared = static_cast<int>(first_part_.size()) - 1;
        initial_parts_.push_back({cost, static_cast<int>(pre.size()), kNone, shared});
    }

    void reach(int fact, int cost, int by_part) {
        if (cost >= kUnreached) throw std::overflow_error("LM-cut: costs add up to more than 10^9 units");
        if (cost < hmax_[fact]) {
            hmax_[fact] = cost;
            reached_by_[fact] = by_part;
            queue_.push(cost, fact);
        }
    }

    void explore(const int* values) {
        std::copy(initial_parts_.begin(), initial_parts_.end(), parts_.begin());
        std::fill(hmax_.begin(), hmax_.end(), kUnreached);
        queue_.clear();
        int num_settled = 0;
        reach(always_true_, 0, kNone);
        for (int v = 0; v < task_.num_variables(); ++v) reach(task_.first_fact[v] + values[v], 0, kNone);
        while (!queue_.empty()) {
            auto [key, fact] = queue_.pop();
            if (key > hmax_[fact]) continue;
            settled_[fact] = num_settled++;
            for (int p : consumers_[fact]) {
                Part& part = parts_[p];
                if (--part.unsatisfied > 0) continue;
                part.supporter = fact;  // settled last, hence largest
                for (int effect : eff_[p]) reach(effect, key + part.cost, p);
            }
        }
    }

    // Repairs h^max after the operators of the cut became cheaper.
    void repair() {
        queue_.clear();
        for (int p : cut_) {
            const Part& part = parts_[p];
            int cost = hmax_[part.supporter] + part.cost;
            for (int effect : eff_[p]) reach(effect, cost, p);
        }
        while (!queue_.empty()) {
            auto [key, fact] = queue_.pop();
            if (key > hmax_[fact]) continue;
            for (int p : consumers_[fact]) {
                Part& part = parts_[p];
                if (part.supporter != fact) continue;
                int largest = fact;
                for (int pre : pre_[p])
                    if (hmax_[pre] > hmax_[largest] || (hmax_[pre] == hmax_[largest] && largest != fact &&
                                                        settled_[pre] < settled_[largest]))
                        largest = pre;
                part.supporter = largest;
                int cost = hmax_[largest] + part.cost;
                for (int effect : eff_[p]) reach(effect, cost, p);
            }
        }
    }

    // Collects Z, and the parts that lead into it at a cost.
    void mark_zone() {
        zone_.clear();
        candidates_.clear();
        ++round_;
        auto enter = [&](int fact) {
            if (in_zone_[fact]) return;
            in_zone_[fact] = 1;
            zone_.push_back(fact);
        };
        enter(goal_fact_);
        for (size_t i = 0; i < zone_.size(); ++i)
            for (int p : achievers_[zone_[i]]) {
                Part& part = parts_[p];
                if (part.supporter == kNone || enters_zone_[p] == round_) continue;
                enters_zone_[p] = round_;
                if (part.cost > 0) {
                    candidates_.push_back(p);
                } else {
                    part.supporter = best_supporter(p);
                    enter(part.supporter);
                }
            }
    }

    // The supporter of a free part: one of its preconditions of largest h^max, chosen as the header says.
    int best_supporter(int p) const {
        int best = parts_[p].supporter;
        if (in_zone_[best]) return best;
        const int largest = hmax_[best];
        int best_rank = kNone;  // computed when there is a choice
        for (int fact : pre_[p]) {
            if (hmax_[fact] != largest || fact == best) continue;
            if (in_zone_[fact]) return fact;
            if (best_rank == kNone) best_rank = rank(best, p);
            const int fact_rank = rank(fact, p);
            if (fact_rank < best_rank || (fact_rank == best_rank && breadth_[fact] < breadth_[best])) {
                best = fact;
                best_rank = fact_rank;
            }
        }
        return best;
    }

    // Rule 2: facts of lower rank are better supporters of the part.
    int rank(int fact, int p) const {
        if (eff_[p][0] == goal_fact_) return first_hmax_[fact];
        return initial_parts_[p].cost > 0 && !no_free_achiever(fact);
    }

    bool no_free_achiever(int fact) const {
        auto parts = achievers_[fact];
        return std::none_of(parts.begin(), parts.end(),
                            [&](int p) { return parts_[p].cost == 0 && parts_[p].supporter != kNone; });
    }

    // Whether a part that enters Z may have its supporter there, and so stays out of the cut.
    bool has_supporter_in_zone(int p) const {
        const int largest = hmax_[parts_[p].supporter];
        return std::ranges::any_of(pre_[p],
                                   [&](int fact) { return in_zone_[fact] && hmax_[fact] == largest; });
    }

    // Whether the fact is reached in the justification graph without an operator that enters Z: depth-first
    // search against the arcs. Usually the arcs that gave the facts their h^max lead back to the state, so
    // they are tried first.
    bool is_before_zone(int fact) {
        const size_t first = probes_.size();
        path_.clear();
        const auto is_reached = [&](int f) { return probed_[f] == kBefore || reached_by_[f] == kNone; };
        const auto enter = [&](int f) {
            if (probed_[f] != kUnknown) return;
            probed_[f] = kOnPath;
            probes_.push_back(f);
            path_.push_back({f, 0});
        };
        if (is_reached(fact)) return true;
        enter(fact);
        while (!path_.empty()) {
            auto& [f, tried] = path_.back();
            const auto achievers = achievers_[f];
            if (tried > achievers.size()) {
                path_.pop_back();
                continue;
            }
            const int p = tried == 0 ? reached_by_[f] : achievers[tried - 1];
            ++tried;
            const int supporter = parts_[p].supporter;
            if (supporter == kNone || enters_zone_[p] == round_) continue;
            if (is_reached(supporter)) {
                // Facts given up on the way may still be reached through those on the path: forget them.
                for (size_t i = first; i < probes_.size(); ++i) probed_[probes_[i]] = kUnknown;
                for (auto& [on_path, ignored] : path_) probed_[on_path] = kBefore;
                return true;
            }
            enter(supporter);
        }
        for (size_t i = first; i < probes_.size(); ++i) probed_[probes_[i]] = kNotBefore;
        return false;
    }

    float evaluate_one(const int* values) {
        if (task_.goal_is_false) return kDeadEnd;
        explore(values);
        if (hmax_[goal_fact_] == kUnreached) return kDeadEnd;
        first_hmax_ = hmax_;
        int64_t total = 0;
        while (hmax_[goal_fact_] > 0) {
            mark_zone();
            cut_.clear();
            int least = kUnreached;
            cut_shared_.clear();
            for (int p : candidates_) {
                const Part& part = parts_[p];
                if (in_cut_[part.shared] || has_supporter_in_zone(p) || !is_before_zone(part.supporter))
                    continue;
                in_cut_[part.shared] = 1;
                cut_shared_.push_back(part.shared);
                least = std::min(least, part.cost);
            }
            for (int fact : zone_) in_zone_[fact] = 0;
            for (int fact : probes_) probed_[fact] = kUnknown;
            probes_.clear();
            if (cut_shared_.empty()) throw std::logic_error("LM-cut: no cut although the goal is not free");
            total += least;
            for (int shared : cut_shared_) {
                in_cut_[shared] = 0;
                for (int p = first_part_[shared]; p < first_part_[shared + 1]; ++p) {
                    parts_[p].cost -= least;
                    if (parts_[p].supporter != kNone) cut_.push_back(p);
                }
            }
            repair();
        }
        // Where parts share a cost, a cut may also cheapen what lies beyond it, and the sum fall short of
        // h^max.
        return to_float_below(std::max<int64_t>(total, first_hmax_[goal_fact_]));
    }

    enum Probe : char { kUnknown, kOnPath, kBefore, kNotBefore };

    const Task& task_;
    int always_true_, goal_fact_;
    Rows<int> pre_, eff_, consumers_, achievers_;
    std::vector<Part> initial_parts_, parts_;
    std::vector<int> first_part_;  // per shared cost, and one past the end
    std::vector<size_t> breadth_;  // per fact: how many parts need it or achieve it, the larger number
    std::vector<int> hmax_, first_hmax_;
    std::vector<int> settled_;     // per fact: when the first exploration settled it
    std::vector<int> reached_by_;  // per fact: the part that gave it its h^max, kNone where it holds
    std::vector<char> in_zone_, in_cut_;
    std::vector<Probe> probed_;          // per fact, kUnknown between rounds
    std::vector<uint32_t> enters_zone_;  // per part: the round in which it did last
    uint32_t round_ = 0;
    std::vector<int> zone_, candidates_, cut_, cut_shared_, probes_;
    std::vector<std::pair<int, size_t>> path_;  // facts and how many of their achievers were tried
    KeyQueue queue_;
};

}  // namespace

std::unique_ptr<Evaluator> make_lmcut(const Task& task, CostType type, const Limits& limits) {
    return std::make_unique<LandmarkCut>(task, type, limits);
}

}  // namespace hstar
