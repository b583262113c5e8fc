// Mutex groups: sets of facts of which at most one is true in any reachable state.
//
// Candidates are lifted: a set of predicates, each with at most one counted argument, the other arguments
// being shared parameters, for example { holding(b), on(b, *), ontable(b) } with parameter b (the candidates
// of Helmert, "Concise finite-domain representations for PDDL planning tasks", AIJ 2009). They are proved on
// the ground operators, instance by instance: a group is inductive if every operator adds no more of its
// facts than it both requires and deletes (fact-alternating mutex groups; Fiser, "Lifted fact-alternating
// mutex groups", AAAI 2020). An operator that breaks a candidate suggests the predicate to add to it. Proving
// on ground operators is linear in their number, sees static preconditions, and lets single instances survive
// where others fail.
#include <algorithm>
#include <deque>

#include "grounding/strips.hpp"

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
    GroupFinder(const StripsTask& task, const FactTable& facts, const Limits& limits)
        : task_(task), facts_(facts), meter_(limits) {
        // Complement facts have predicates of their own.
        const int num_predicates = facts.num_predicates();
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
            for (const StripsEffect& effect : task.effects[op]) {
                auto& adders = adders_of_[predicate_[effect.fact]];
                if (!effect.adds)
                    is_deleted[effect.fact] |= !effect.is_conditional();
                else if (adders.empty() || adders.back() != op)
                    adders.push_back(op);
            }
            for (int fact : task.pre[op])
                if (is_deleted[fact]) given_up_.push(fact);
            given_up_.close_row();
            for (const StripsEffect& effect : task.effects[op]) is_deleted[effect.fact] = 0;
        }
        instance_.assign(task.num_facts, -1);
        checked_.assign(task.num_operators(), 0);
    }

    std::vector<std::vector<int>> run() {
        for (int predicate = 0; predicate < static_cast<int>(facts_of_.size()); ++predicate) {
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

    void enqueue(Candidate candidate) {
        std::sort(candidate.begin(), candidate.end());
        if (queue_.size() < kMaxCandidates && std::ranges::find(queue_, candidate) == queue_.end())
            queue_.push_back(std::move(candidate));
    }

    // Numbers the candidate's instances (parameter tuples) and notes its facts and their instances.
    FactTable assign_instances(const Candidate& candidate) {
        const auto is_parameter = [](int parameter) { return parameter != kCounted; };
        FactTable tuples({static_cast<int>(std::ranges::count_if(candidate[0].parameter, is_parameter))});
        std::vector<int> tuple(candidate[0].parameter.size() + 1);
        members_.clear();
        for (const Part& part : candidate)
            for (int fact : facts_of_[part.predicate]) {
                auto fact_args = args(fact);
                for (size_t p = 0; p < part.parameter.size(); ++p)
                    if (is_parameter(part.parameter[p])) tuple[part.parameter[p]] = fact_args[p];
                instance_[fact] = tuples.intern(0, tuple.data()).first;
                members_.push_back(fact);
            }
        return tuples;
    }

    void prove(const Candidate candidate) {
        const FactTable tuples = assign_instances(candidate);
        const int num_instances = tuples.size();
        std::vector<int> weight(num_instances, 0);
        for (int fact : members_) weight[instance_[fact]] += task_.init[fact];
        alive_.clear();
        for (int w : weight) alive_.push_back(w <= 1);
        auto num_alive = std::ranges::count(alive_, 1);
        balance_.assign(num_instances, 0);

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
        if (num_alive > 0) collect(num_instances);
        if (threat >= 0) refine(candidate, threat, tuples.args(threatened));
        for (int fact : members_) instance_[fact] = -1;
    }

    // Fills broken_ with the live instances that the operator may add to without removing as much.
    void find_broken(int op) {
        broken_.clear();
        deletes_.clear();
        adds_.clear();
        auto report = [&](int instance) {
            if (std::ranges::find(broken_, instance) == broken_.end()) broken_.push_back(instance);
        };
        const auto effects = task_.effects[op];
        for (const StripsEffect& effect : effects) {
            if (!effect.adds || instance_[effect.fact] < 0) continue;
            ++balance_[instance_[effect.fact]];
            adds_.push_back(&effect);
        }
        // A conditional add must be the only add, and imply a delete of a fact that is true.
        if (!effects.empty() && effects.back().is_conditional()) collect_deletes(op);
        for (const StripsEffect* effect : adds_) {
            const int instance = instance_[effect->fact];
            if (!effect->is_conditional() || !alive_[instance]) continue;
            meter_.spend(4);
            if (balance_[instance] > 1 || !gives_up(op, *effect, instance)) report(instance);
        }
        const auto count_given_up = [&](int by) {
            for (int fact : given_up_[op])
                if (instance_[fact] >= 0) balance_[instance_[fact]] += by;
        };
        count_given_up(-1);
        for (const StripsEffect* effect : adds_) {
            const int instance = instance_[effect->fact];
            if (!effect->is_conditional() && alive_[instance] && balance_[instance] > 0) report(instance);
        }
        count_given_up(1);
        for (const StripsEffect* effect : adds_) --balance_[instance_[effect->fact]];
    }

    // The operator's deletes of facts in live instances, by instance.
    void collect_deletes(int op) {
        for (const StripsEffect& effect : task_.effects[op]) {
            meter_.spend();
            const int instance = instance_[effect.fact];
            if (!effect.adds && instance >= 0 && alive_[instance]) deletes_.push_back({instance, &effect});
        }
        std::sort(deletes_.begin(), deletes_.end());
    }

    // Whether the operator certainly deletes a true fact of the instance whenever the effect fires.
    bool gives_up(int op, const StripsEffect& effect, int instance) const {
        const auto fires_with = [&](int fact) {
            const auto pre = task_.pre[op], condition = task_.conditions[effect.condition];
            return std::ranges::find(pre, fact) != pre.end() ||
                   std::ranges::find(condition, fact) != condition.end();
        };
        for (const auto& [_, deletion] : std::ranges::equal_range(deletes_, instance, {}, &Delete::first))
            if (fires_with(deletion->fact) &&
                std::ranges::all_of(task_.conditions[deletion->condition], fires_with))
                return true;
        return false;
    }

    void collect(int num_instances) {
        std::vector<std::vector<int>> groups(num_instances);
        for (int fact : members_)
            if (alive_[instance_[fact]]) groups[instance_[fact]].push_back(fact);
        for (auto& group : groups)
            if (group.size() > 1) groups_.push_back(std::move(group));
    }

    // Extends the candidate by a predicate of which the breaking operator removes a fact, so that the weight
    // of the broken instance no longer grows.
    void refine(const Candidate& candidate, int op, std::span<const int> tuple) {
        const int k = static_cast<int>(tuple.size());
        std::vector<int> given(given_up_[op].begin(), given_up_[op].end());
        for (const StripsEffect& effect : task_.effects[op])
            if (!effect.adds && effect.is_conditional()) given.push_back(effect.fact);
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
    void match_parameters(const Candidate& candidate, Part& part, std::span<const int> tuple,
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
    WorkMeter meter_;
    std::vector<int> predicate_;               // per fact
    std::vector<std::vector<int>> facts_of_;   // per predicate
    std::vector<std::vector<int>> adders_of_;  // per predicate: operators
    Rows<int> given_up_;                       // per operator: facts it requires and deletes
    std::deque<Candidate> queue_;
    std::vector<int> instance_;                          // per fact, of the candidate under proof
    std::vector<int> members_;                           // the facts of this candidate
    std::vector<char> alive_;                            // per instance
    std::vector<int> balance_;                           // per instance, 0 between operators
    std::vector<int> broken_;                            // instances broken by the operator looked at last
    using Delete = std::pair<int, const StripsEffect*>;  // its instance
    std::vector<Delete> deletes_;
    std::vector<const StripsEffect*> adds_;
    int matches_left_ = 0;
    std::vector<int> checked_;
    int round_ = 0;
    std::vector<std::vector<int>> groups_;
};

}  // namespace

std::vector<std::vector<int>> find_mutex_groups(const StripsTask& task, const FactTable& facts,
                                                const Limits& limits) {
    return GroupFinder(task, facts, limits).run();
}

}  // namespace hstar
