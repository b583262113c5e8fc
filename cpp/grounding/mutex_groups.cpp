#include "grounding/mutex_groups.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>

namespace hstar {

namespace {

constexpr size_t kMaxCandidates = 300;
constexpr int kMaxMatches = 24;  // ways to match the arguments of one fact with the parameters

// One predicate of a candidate. parameter[p] is the parameter at argument position p, kCounted for the
// counted one.
constexpr int kCounted = -1;
struct Part {
    int predicate;
    std::vector<int> parameter;
    auto operator<=>(const Part&) const = default;
};
using Candidate = std::vector<Part>;  // sorted, at most one part per predicate

class GroupFinder {
  public:
    GroupFinder(const StripsTask& task, const FactTable& facts, int num_predicates, const Limits& limits)
        : task_(task), facts_(facts), num_predicates_(num_predicates), meter_(limits) {
        // Complement facts have predicates of their own.
        facts_of_.resize(2 * num_predicates);
        predicate_.resize(task.num_facts);
        for (int fact = 0; fact < task.num_facts; ++fact) {
            predicate_[fact] = task.complement_of[fact] < 0
                                   ? facts.predicate(fact)
                                   : num_predicates + facts.predicate(task.complement_of[fact]);
            facts_of_[predicate_[fact]].push_back(fact);
        }
        adders_of_.resize(2 * num_predicates);
        std::vector<char> is_deleted(task.num_facts, 0);
        for (int op = 0; op < task.num_operators(); ++op) {
            for (int fact : task.add[op]) note_adder(predicate_[fact], op);
            for (int effect : task.conditional[op])
                if (task.effects.adds[effect]) note_adder(predicate_[task.effects.fact[effect]], op);
            for (int fact : task.del[op]) is_deleted[fact] = 1;
            for (int fact : task.pre[op])
                if (is_deleted[fact]) given_up_.push(fact);
            given_up_.close_row();
            for (int fact : task.del[op]) is_deleted[fact] = 0;
        }
        instance_.assign(task.num_facts, -1);
        checked_.assign(task.num_operators(), 0);
    }

    std::vector<std::vector<int>> run() {
        for (int predicate = 0; predicate < 2 * num_predicates_; ++predicate) {
            if (facts_of_[predicate].empty() || adders_of_[predicate].empty()) continue;
            int arity = static_cast<int>(args(facts_of_[predicate][0]).size());
            for (int counted = kCounted; counted < arity; ++counted) {
                Part part{predicate, {}};
                for (int p = 0, next = 0; p < arity; ++p)
                    part.parameter.push_back(p == counted ? kCounted : next++);
                enqueue({part});
            }
        }
        for (size_t i = 0; i < queue_.size(); ++i) {
            meter_.spend(1 << 12);
            prove(queue_[i]);
        }
        return std::move(groups_);
    }

  private:
    std::span<const int> args(int fact) const {
        return facts_.args(task_.complement_of[fact] < 0 ? fact : task_.complement_of[fact]);
    }

    void note_adder(int predicate, int op) {
        if (adders_of_[predicate].empty() || adders_of_[predicate].back() != op)
            adders_of_[predicate].push_back(op);
    }

    void enqueue(Candidate candidate) {
        std::sort(candidate.begin(), candidate.end());
        if (queue_.size() < kMaxCandidates && known_.insert(candidate).second)
            queue_.push_back(std::move(candidate));
    }

    static int num_parameters(const Candidate& candidate) {
        int count = 0;
        for (int parameter : candidate[0].parameter) count += parameter != kCounted;
        return count;
    }

    // Numbers the candidate's instances (parameter tuples) and notes each fact's instance.
    int assign_instances(const Candidate& candidate) {
        int k = num_parameters(candidate);
        FactTable tuples({k});
        std::vector<int> tuple(std::max(1, k));
        for (const Part& part : candidate)
            for (int fact : facts_of_[part.predicate]) {
                auto fact_args = args(fact);
                for (size_t p = 0; p < part.parameter.size(); ++p)
                    if (part.parameter[p] != kCounted) tuple[part.parameter[p]] = fact_args[p];
                instance_[fact] = tuples.intern(0, tuple.data()).first;
            }
        return tuples.size();
    }

    void prove(const Candidate candidate) {
        int num_instances = assign_instances(candidate);
        std::vector<int> weight(num_instances, 0);
        for (const Part& part : candidate)
            for (int fact : facts_of_[part.predicate]) weight[instance_[fact]] += task_.init[fact];
        alive_.assign(num_instances, 1);
        balance_.assign(num_instances, 0);
        int num_alive = 0;
        for (int i = 0; i < num_instances; ++i) num_alive += (alive_[i] = weight[i] <= 1);

        ++round_;
        int threat = -1, threatened = -1;
        for (const Part& part : candidate) {
            for (int op : adders_of_[part.predicate]) {
                if (num_alive == 0) break;
                if (checked_[op] == round_) continue;
                checked_[op] = round_;
                meter_.spend(4);
                find_broken(op);
                for (int instance : broken_) {
                    if (threat < 0) threat = op, threatened = instance;
                    alive_[instance] = 0;
                    --num_alive;
                }
            }
        }
        if (num_alive > 0) collect(candidate, num_instances);
        if (threat >= 0) refine(candidate, threat, threatened);
        for (const Part& part : candidate)
            for (int fact : facts_of_[part.predicate]) instance_[fact] = -1;
    }

    bool in_live_instance(int fact) const { return instance_[fact] >= 0 && alive_[instance_[fact]]; }

    // Fills broken_ with the live instances that the operator may add to without removing as much.
    void find_broken(int op) {
        broken_.clear();
        auto conditional = task_.conditional[op];
        auto count = [&](int fact, int by) {
            if (instance_[fact] >= 0) balance_[instance_[fact]] += by;
        };
        auto count_adds = [&](int by) {
            for (int fact : task_.add[op]) count(fact, by);
            for (int effect : conditional)
                if (task_.effects.adds[effect]) count(task_.effects.fact[effect], by);
        };
        auto report = [&](int instance) {
            if (std::find(broken_.begin(), broken_.end(), instance) == broken_.end())
                broken_.push_back(instance);
        };
        count_adds(1);
        // A conditional add must be the only add, and imply a delete of a fact that is true.
        deletes_.clear();
        if (!conditional.empty()) collect_deletes(op);
        for (int effect : conditional) {
            meter_.spend(4);
            int fact = task_.effects.fact[effect];
            if (!task_.effects.adds[effect] || !in_live_instance(fact)) continue;
            if (balance_[instance_[fact]] > 1 || !gives_up(op, effect, instance_[fact]))
                report(instance_[fact]);
        }
        for (int fact : given_up_[op]) count(fact, -1);
        for (int fact : task_.add[op])
            if (in_live_instance(fact) && balance_[instance_[fact]] > 0) report(instance_[fact]);
        for (int fact : given_up_[op]) count(fact, 1);
        count_adds(-1);
    }

    // The operator's deletes by instance: (instance, effect), unconditional ones as ~fact.
    void collect_deletes(int op) {
        for (int fact : task_.del[op])
            if (in_live_instance(fact)) deletes_.push_back({instance_[fact], ~fact});
        for (int effect : task_.conditional[op])
            if (!task_.effects.adds[effect] && in_live_instance(task_.effects.fact[effect]))
                deletes_.push_back({instance_[task_.effects.fact[effect]], effect});
        std::sort(deletes_.begin(), deletes_.end());
    }

    // Whether the operator certainly deletes a true fact of the instance whenever the effect fires.
    bool gives_up(int op, int effect, int instance) const {
        auto fires_with = [&](int fact) {
            auto pre = task_.pre[op];
            auto condition = task_.effects.condition[effect];
            return std::find(pre.begin(), pre.end(), fact) != pre.end() ||
                   std::find(condition.begin(), condition.end(), fact) != condition.end();
        };
        auto first = std::pair{instance, std::numeric_limits<int>::min()};
        for (auto at = std::lower_bound(deletes_.begin(), deletes_.end(), first);
             at != deletes_.end() && at->first == instance; ++at) {
            int deletion = at->second;
            if (deletion < 0) {
                if (fires_with(~deletion)) return true;
                continue;
            }
            auto condition = task_.effects.condition[deletion];
            if (fires_with(task_.effects.fact[deletion]) &&
                std::all_of(condition.begin(), condition.end(), fires_with))
                return true;
        }
        return false;
    }

    void collect(const Candidate& candidate, int num_instances) {
        std::vector<std::vector<int>> members(num_instances);
        for (const Part& part : candidate)
            for (int fact : facts_of_[part.predicate])
                if (alive_[instance_[fact]]) members[instance_[fact]].push_back(fact);
        for (auto& group : members)
            if (group.size() > 1) groups_.push_back(std::move(group));
    }

    // Extends the candidate by a predicate of which the breaking operator removes a fact, so that the weight
    // of the broken instance no longer grows.
    void refine(const Candidate& candidate, int op, int instance) {
        int k = num_parameters(candidate);
        std::vector<int> tuple(k);
        bool found = false;
        for (const Part& part : candidate) {
            for (int fact : facts_of_[part.predicate])
                if (instance_[fact] == instance) {
                    auto fact_args = args(fact);
                    for (size_t p = 0; p < part.parameter.size(); ++p)
                        if (part.parameter[p] != kCounted) tuple[part.parameter[p]] = fact_args[p];
                    found = true;
                    break;
                }
            if (found) break;
        }
        std::vector<int> given(given_up_[op].begin(), given_up_[op].end());
        for (int effect : task_.conditional[op])
            if (!task_.effects.adds[effect]) given.push_back(task_.effects.fact[effect]);
        for (int fact : given) {
            int predicate = predicate_[fact];
            bool present = std::any_of(candidate.begin(), candidate.end(),
                                       [&](const Part& part) { return part.predicate == predicate; });
            auto fact_args = args(fact);
            int arity = static_cast<int>(fact_args.size());
            if (present || (arity != k && arity != k + 1)) continue;
            Part part{predicate, std::vector<int>(arity, kCounted)};
            matches_left_ = kMaxMatches;
            match_parameters(candidate, part, tuple, fact_args, 0);
        }
    }

    // Tries every way to match parameter values with arguments; the argument left over is the counted one.
    void match_parameters(const Candidate& candidate, Part& part, const std::vector<int>& tuple,
                          std::span<const int> fact_args, int parameter) {
        if (queue_.size() >= kMaxCandidates || matches_left_ == 0) return;
        if (parameter == static_cast<int>(tuple.size())) {
            --matches_left_;
            Candidate extended = candidate;
            extended.push_back(part);
            enqueue(std::move(extended));
            return;
        }
        for (size_t p = 0; p < fact_args.size(); ++p) {
            if (part.parameter[p] != kCounted || fact_args[p] != tuple[parameter]) continue;
            part.parameter[p] = parameter;
            match_parameters(candidate, part, tuple, fact_args, parameter + 1);
            part.parameter[p] = kCounted;
        }
    }

    const StripsTask& task_;
    const FactTable& facts_;
    int num_predicates_;
    WorkMeter meter_;
    std::vector<int> predicate_;               // per fact
    std::vector<std::vector<int>> facts_of_;   // per predicate
    std::vector<std::vector<int>> adders_of_;  // per predicate: operators
    Rows<int> given_up_;                       // per operator: facts it requires and deletes
    std::deque<Candidate> queue_;
    std::set<Candidate> known_;
    std::vector<int> instance_;  // per fact, of the candidate under proof
    std::vector<char> alive_;    // per instance
    std::vector<int> balance_;   // per instance, 0 between operators
    std::vector<int> broken_;    // instances broken by the operator looked at last
    std::vector<std::pair<int, int>> deletes_;
    int matches_left_ = 0;
    std::vector<int> checked_;
    int round_ = 0;
    std::vector<std::vector<int>> groups_;
};

}  // namespace

std::vector<std::vector<int>> find_mutex_groups(const StripsTask& task, const FactTable& facts,
                                                int num_predicates, const Limits& limits) {
    return GroupFinder(task, facts, num_predicates, limits).run();
}

}  // namespace hstar
