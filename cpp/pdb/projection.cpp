#include "pdb/projection.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "pdb/build.hpp"
#include "runtime/hash.hpp"
#include "runtime/require.hpp"
#include "task/successors.hpp"

namespace hstar {

ProjectionIndex::ProjectionIndex(const Task& task, std::vector<int> variables)
    : PatternIndex(std::move(variables)) {
    for (size_t i = 0; i < variables_.size(); ++i) {
        int variable = variables_[i];
        if (variable < 0 || variable >= task.num_variables()) refuse("the task has no variable ", variable);
        if (std::count(variables_.begin(), variables_.end(), variable) > 1)
            refuse("variable ", variable, " is in the pattern twice");
        multiplier_.push_back(size_);
        domain_size_.push_back(task.domain_size[variable]);
        size_ *= static_cast<uint64_t>(task.domain_size[variable]);
        if (size_ > uint64_t{1} << 31) refuse("the pattern has more than two billion abstract states");
    }
}

uint64_t ProjectionIndex::rank(const int* state) const {
    uint64_t rank = 0;
    for (size_t i = 0; i < variables_.size(); ++i)
        rank += multiplier_[i] * static_cast<uint64_t>(state[variables_[i]]);
    return rank;
}

void ProjectionIndex::unrank(uint64_t rank, int* state) const {
    for (size_t i = 0; i < variables_.size(); ++i) {
        state[variables_[i]] = static_cast<int>(rank % static_cast<uint64_t>(domain_size_[i]));
        rank /= static_cast<uint64_t>(domain_size_[i]);
    }
}

namespace {

constexpr size_t kMaxBranches = 1 << 16;  // abstract transitions one operator may become

// A reversed transition between abstract states: where `after` holds, it leads back to `before`. Both have a
// value per variable of the pattern, -1 for none.
struct Transition {
    std::vector<int> before, after;
    auto operator<=>(const Transition&) const = default;
};

// All abstract transitions with their least cost, variables being positions in the pattern.
class Abstraction {
  public:
    Abstraction(const Task& task, const ProjectionIndex& index) : task_(task), index_(index) {
        position_.assign(task.num_variables(), -1);
        for (size_t i = 0; i < index.variables().size(); ++i)
            position_[index.variables()[i]] = static_cast<int>(i);
    }

    const std::map<Transition, int>& transitions() const { return transitions_; }

    void add(int op, int cost) {
        size_t count = index_.variables().size();
        Transition t{std::vector<int>(count, -1), std::vector<int>(count, -1)};
        for (auto [variable, value] : task_.pre[op])
            if (position_[variable] >= 0) t.before[position_[variable]] = value;
        t.after = t.before;
        // Every variable that changes, or decides what changes, needs a value before the operator.
        std::vector<int> tested;
        for (auto [variable, value] : task_.effects[op])
            if (position_[variable] >= 0) {
                t.after[position_[variable]] = value;
                tested.push_back(position_[variable]);
            }
        for (const ConditionalEffect& e : task_.conditional[op]) {
            int effect = position_[e.effect.variable];
            if (effect < 0) continue;
            tested.push_back(effect);
            for (auto [variable, value] : task_.condition(e))
                if (position_[variable] >= 0) tested.push_back(position_[variable]);
        }
        if (tested.empty()) return;
        branches_ = 0;
        multiply_out(op, cost, t, tested, 0);
    }

  private:
    void multiply_out(int op, int cost, Transition& t, const std::vector<int>& tested, size_t next) {
        while (next < tested.size() && t.before[tested[next]] >= 0) ++next;
        if (next == tested.size()) {
            branch(op, cost, t, t.after, 0);
            return;
        }
        int position = tested[next], after = t.after[position];
        for (int value = 0; value < index_.domain_size(position); ++value) {
            t.before[position] = value;
            if (after < 0) t.after[position] = value;
            multiply_out(op, cost, t, tested, next + 1);
        }
        t.before[position] = -1;
        t.after[position] = after;
    }

    // The conditional effects in order. Those that depend on other variables may happen or not: try both.
    void branch(int op, int cost, const Transition& t, std::vector<int> after, size_t effect) {
        auto effects = task_.conditional[op];
        for (; effect < effects.size(); ++effect) {
            const ConditionalEffect& e = effects[effect];
            int position = position_[e.effect.variable];
            if (position < 0) continue;
            bool possible = true, certain = true;
            for (auto [variable, value] : task_.condition(e)) {
                if (position_[variable] < 0)
                    certain = false;
                else
                    possible &= t.before[position_[variable]] == value;
            }
            if (!possible) continue;
            if (!certain) branch(op, cost, t, after, effect + 1);
            after[position] = e.effect.value;
        }
        if (++branches_ > kMaxBranches)
            refuse("the conditional effects of ", task_.operator_name(op),
                   " branch too often for a projection; choose other variables");
        if (after == t.before) return;
        auto [it, is_new] = transitions_.try_emplace(Transition{t.before, after}, cost);
        if (!is_new) it->second = std::min(it->second, cost);
    }

    const Task& task_;
    const ProjectionIndex& index_;
    std::vector<int> position_;
    std::map<Transition, int> transitions_;
    size_t branches_ = 0;
};

// The projection with every transition reversed, as a task: its operators regress.
Task reversed(const Abstraction& abstraction, const ProjectionIndex& index) {
    Task task;
    for (size_t i = 0; i < index.variables().size(); ++i)
        task.domain_size.push_back(index.domain_size(static_cast<int>(i)));
    for (const auto& [transition, cost] : abstraction.transitions()) {
        for (size_t i = 0; i < transition.after.size(); ++i) {
            int before = transition.before[i], after = transition.after[i];
            if (after >= 0) task.pre.push({static_cast<int>(i), after});
            if (before >= 0 && before != after) task.effects.push({static_cast<int>(i), before});
        }
        task.pre.close_row();
        task.effects.close_row();
        task.conditional.close_row();
        task.cost.push_back(cost);
    }
    return task;
}

}  // namespace

Table build_projection(const Task& task, const ProjectionIndex& index, const std::vector<int>& cost,
                       const Limits& limits) {
    Abstraction abstraction(task, index);
    for (int op = 0; op < task.num_operators(); ++op) {
        if (op % 256 == 0) limits.check();
        abstraction.add(op, cost[op]);
    }
    Task backward = reversed(abstraction, index);
    SuccessorGenerator generator(backward);
    Table best(index.size(), 32);
    const TableView distance = best.view();
    using Entry = std::pair<uint32_t, uint64_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;

    std::vector<int> full = task.initial_state, ops;
    for (auto [variable, value] : task.goal) full[variable] = value;  // the pattern decides
    const auto value_at = [&](int position) { return full[index.variables()[position]]; };
    for (uint64_t i = 0; i < index.size(); ++i) {
        if (i % 65536 == 0) limits.check();
        index.unrank(i, full.data());
        if (!task.is_goal(full.data())) continue;
        best.set(i, 0);
        open.emplace(0, i);
    }
    for (uint64_t steps = 0; !open.empty(); ++steps) {
        if (steps % 4096 == 0) limits.check();
        auto [d, i] = open.top();
        open.pop();
        if (d > distance.get(i)) continue;
        index.unrank(i, full.data());
        ops.clear();
        generator.applicable(value_at, ops);
        for (int op : ops) {
            uint64_t before = i;
            for (auto [position, value] : backward.effects[op])
                before += index.multiplier(position) *
                          (static_cast<uint64_t>(value) - static_cast<uint64_t>(value_at(position)));
            uint64_t through = static_cast<uint64_t>(d) + static_cast<uint64_t>(backward.cost[op]);
            if (through >= distance.get(before)) continue;
            best.set(before, static_cast<uint32_t>(through));
            open.emplace(through, before);
        }
    }
    return narrowed(std::move(best));
}

uint64_t fingerprint(const Task& task) {
    uint64_t hash = 1;
    auto add = [&]<class Item>(const std::vector<Item>& items) {
        static_assert(sizeof(Item) % sizeof(int) == 0 && std::is_trivially_copyable_v<Item>);
        const size_t count = items.size() * (sizeof(Item) / sizeof(int));
        hash = hash_ints(reinterpret_cast<const int*>(items.data()), count, hash ^ count);
    };
    add(task.domain_size);
    add(task.cost);
    add(task.goal);
    add(task.pre.data);
    add(task.pre.offset);
    add(task.effects.data);
    add(task.effects.offset);
    add(task.effect_conditions);
    add(task.conditional.offset);
    for (const ConditionalEffect& e : task.conditional.data) add(std::vector{e});
    add(std::vector<int>{task.goal_is_false});
    return hash;
}

}  // namespace hstar
