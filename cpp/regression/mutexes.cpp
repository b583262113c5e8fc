#include <algorithm>
#include <bit>
#include <stdexcept>

#include "regression/regression.hpp"

namespace hstar {

namespace {

// The fixed point of h^2, computed on rows of bits: possible[f] holds the facts that are possible with f.
class PairReachability {
  public:
    PairReachability(const SetTask& task, int words)
        : task_(task.task),
          set_task_(task),
          words_(words),
          possible_(static_cast<size_t>(task.task.num_facts()) * words),
          changed_(task.task.num_facts(), 0),
          done_(task.task.num_operators(), 0),
          reached_(words),
          kept_(words) {}

    void run(const Limits& limits) {
        limits.check();  // the matrix may be all that fits
        WorkMeter meter(limits);
        add_initial_state();
        bool is_finished = false;
        while (!is_finished) {
            is_finished = true;
            for (int op = 0; op < task_.num_operators(); ++op) {
                meter.spend();
                if (!is_due(op)) continue;
                is_finished = false;
                done_[op] = ++clock_;
                meter.spend(static_cast<uint64_t>(words_) *
                            (task_.pre[op].size() + task_.effects[op].size()) / 4);
                apply(op);
            }
        }
    }

    bool is_possible(int a, int b) const { return possible_[index(a) + b / 64] >> (b % 64) & 1; }
    std::span<const uint64_t> row(int fact) const {
        return {possible_.data() + index(fact), static_cast<size_t>(words_)};
    }
    bool can_apply(int op) { return is_consistent(op, {}, {}); }

  private:
    size_t index(int fact) const { return static_cast<size_t>(fact) * words_; }

    void add_initial_state() {
        std::vector<int> initial;
        for (int v = 0; v < task_.num_variables(); ++v) {
            int fact = task_.fact({v, task_.initial_state[v]});
            if (set_task_.is_fact[fact]) initial.push_back(fact);
        }
        for (int a : initial)
            for (int b : initial) set(a, b);
    }

    void set(int a, int b) {
        uint64_t& word = possible_[index(a) + b / 64];
        uint64_t bit = uint64_t{1} << (b % 64);
        if (word & bit) return;
        word |= bit;
        if (a == b) reached_[b / 64] |= bit;
        changed_[a] = any_change_ = clock_;
    }

    // Whether a fact that the operator depends on has new partners since it was last applied: one of its
    // preconditions, or any fact if it has none or has conditions of effects.
    bool is_due(int op) {
        auto pre = task_.pre[op];
        bool is_new = done_[op] == 0;
        if (pre.empty() || !set_task_.is_usable[op]) is_new |= any_change_ >= done_[op];
        for (Assignment needed : pre) is_new |= changed_[task_.fact(needed)] >= done_[op];
        return is_new && can_apply(op);
    }

    void apply(int op) {
        find_kept(task_.pre[op], {});
        std::vector<int> added;
        for (Assignment effect : task_.effects[op]) {
            clear_variable(effect.variable);
            if (set_task_.is_fact[task_.fact(effect)]) added.push_back(task_.fact(effect));
        }
        for (int fact : set_task_.deletes[op]) kept_[fact / 64] &= ~(uint64_t{1} << (fact % 64));
        join(added, added);
        join_kept(added);
        if (!set_task_.is_usable[op]) apply_conditional(op, added);
    }

    // Each conditional effect as if it fired alone, and each pair as if both fired. What they delete is kept.
    void apply_conditional(int op, const std::vector<int>& always) {
        auto effects = task_.conditional[op];
        for (const ConditionalEffect& first : effects) {
            const int fact = task_.fact(first.effect);
            if (!set_task_.is_fact[fact]) continue;
            find_kept(task_.pre[op], task_.condition(first));
            if (!is_consistent(op, task_.condition(first), {})) continue;
            for (Assignment effect : task_.effects[op]) clear_variable(effect.variable);
            clear_variable(first.effect.variable);
            join({fact}, always);
            join_kept({fact});
            for (const ConditionalEffect& second : effects)
                if (set_task_.is_fact[task_.fact(second.effect)] &&
                    second.effect.variable != first.effect.variable &&
                    is_consistent(op, task_.condition(first), task_.condition(second)))
                    join({fact}, {task_.fact(second.effect)});
            set(fact, fact);
        }
    }

    bool is_consistent(int op, std::span<const Assignment> a, std::span<const Assignment> b) {
        needed_.clear();
        for (auto part : {task_.pre[op], a, b})
            for (Assignment needed : part) needed_.push_back(task_.fact(needed));
        for (int first : needed_)
            for (int second : needed_)
                if (!is_possible(first, second)) return false;
        return true;
    }

    // The facts that are possible with every given one.
    void find_kept(std::span<const Assignment> pre, std::span<const Assignment> condition) {
        kept_ = reached_;
        for (auto part : {pre, condition})
            for (Assignment needed : part) {
                const uint64_t* row = possible_.data() + index(task_.fact(needed));
                for (int w = 0; w < words_; ++w) kept_[w] &= row[w];
            }
    }

    void clear_variable(int variable) {
        for (int fact = task_.first_fact[variable]; fact < task_.first_fact[variable + 1]; ++fact)
            kept_[fact / 64] &= ~(uint64_t{1} << (fact % 64));
    }

    void join(const std::vector<int>& some, const std::vector<int>& others) {
        for (int a : some)
            for (int b : others) {
                set(a, b);
                set(b, a);
            }
    }

    void join_kept(const std::vector<int>& added) {
        for (int a : added) {
            uint64_t* row = possible_.data() + index(a);
            for (int w = 0; w < words_; ++w) {
                uint64_t fresh = kept_[w] & ~row[w];
                if (!fresh) continue;
                row[w] |= fresh;
                changed_[a] = any_change_ = clock_;
                for (; fresh; fresh &= fresh - 1) set(w * 64 + std::countr_zero(fresh), a);
            }
        }
    }

    const Task& task_;
    const SetTask& set_task_;
    const int words_;
    std::vector<uint64_t> possible_;
    std::vector<uint64_t> changed_, done_;  // per fact and operator: when
    uint64_t clock_ = 1, any_change_ = 1;
    std::vector<uint64_t> reached_, kept_;
    std::vector<int> needed_;  // scratch
};

}  // namespace

Mutexes::Mutexes(const SetTask& task, const Limits& limits)
    : num_facts_(task.task.num_facts()), words_((task.task.num_facts() + 63) / 64) {
    if (num_facts_ > kMostFacts)
        throw std::length_error("the task has " + std::to_string(num_facts_) +
                                " facts; regression works with at most " + std::to_string(kMostFacts));
    WorkMeter meter(limits);
    bits_.resize(static_cast<size_t>(num_facts_) * words_);
    limits.check();  // the matrix may be all that fits
    auto exclude_all = [&](const std::vector<int>& group) {
        for (size_t i = 0; i < group.size(); ++i) {
            meter.spend(i);
            for (size_t j = 0; j < i; ++j) exclude(group[i], group[j]);
        }
    };
    for (const auto& group : task.task.mutex_groups) exclude_all(group);
    for (auto [negation, atom] : task.negations) exclude(negation, atom);
    for (int v = 0; v < task.task.num_variables(); ++v) {
        std::vector<int> values;
        for (int fact = task.task.first_fact[v]; fact < task.task.first_fact[v + 1]; ++fact)
            values.push_back(fact);
        exclude_all(values);
    }
}

std::vector<char> Mutexes::add_h2(const SetTask& task, const Limits& limits) {
    PairReachability pairs(task, words_);
    pairs.run(limits);
    std::vector<uint64_t> facts(words_);
    for (int fact = 0; fact < num_facts_; ++fact)
        if (task.is_fact[fact]) facts[fact / 64] |= uint64_t{1} << (fact % 64);
    for (int a = 0; a < num_facts_; ++a) {
        if (!task.is_fact[a]) continue;
        auto possible = pairs.row(a);
        for (int w = 0; w < words_; ++w)
            bits_[static_cast<size_t>(a) * words_ + w] |= facts[w] & ~possible[w];
    }
    std::vector<char> possible(task.task.num_operators());
    for (int op = 0; op < task.task.num_operators(); ++op) possible[op] = pairs.can_apply(op);
    return possible;
}

}  // namespace hstar
