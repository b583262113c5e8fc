#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "regression/regression.hpp"
#include "regression/subset_index.hpp"

namespace hstar {

namespace {

class Completer {
  public:
    Completer(const SetTask& task, const Mutexes& mutexes, uint64_t seed)
        : set_task_(task),
          task_(task.task),
          mutexes_(mutexes),
          random_(seed),
          state_(mutexes.words()),
          excluded_(mutexes.words()) {
        for (int fact = 0; fact < task_.num_facts(); ++fact)
            if (task.is_fact[fact]) free_.push_back(fact);
        for (auto [negation, atom] : task.negations) std::erase(free_, negation);
        const auto& groups = task_.mutex_groups;
        groups_of_ = transpose(groups, task_.num_facts());
        members_.resize(groups.size());
        group_order_.resize(groups.size());
        std::iota(group_order_.begin(), group_order_.end(), 0);
        variable_order_.resize(task_.num_variables());
        std::iota(variable_order_.begin(), variable_order_.end(), 0);
    }

    void complete(std::span<const int> image, Completion way) {
        std::fill(state_.begin(), state_.end(), 0);
        std::fill(excluded_.begin(), excluded_.end(), 0);
        for (int fact : image) keep(fact);
        for (auto [negation, atom] : set_task_.negations)
            if (has(negation)) exclude(atom);
        if (way == Completion::Variables)
            fill_variables();
        else if (way == Completion::Exclusive)
            fill_exclusive();
        else
            fill_atoms(image);
        for (auto [negation, atom] : set_task_.negations) {
            state_[negation / 64] &= ~bit(negation);
            if (!has(atom)) state_[negation / 64] |= bit(negation);
        }
    }

    void append_to(Rows<int>& states) const {
        for (size_t w = 0; w < state_.size(); ++w)
            for (uint64_t word = state_[w]; word; word &= word - 1)
                states.push(static_cast<int>(w) * 64 + std::countr_zero(word));
        states.close_row();
    }

  private:
    static uint64_t bit(int fact) { return uint64_t{1} << (fact % 64); }
    bool has(int fact) const { return state_[fact / 64] & bit(fact); }
    bool is_excluded(int fact) const { return excluded_[fact / 64] & bit(fact); }
    void exclude(int fact) { excluded_[fact / 64] |= bit(fact); }
    void keep(int fact) {
        state_[fact / 64] |= bit(fact);
        auto row = mutexes_.row(fact);
        for (size_t w = 0; w < excluded_.size(); ++w) excluded_[w] |= row[w];
    }

    // Half of the facts, each with chance 1/2.
    void draw_half() {
        drawn_.clear();
        uint64_t coins = 0;
        for (size_t i = 0; i < free_.size(); ++i) {
            if (i % 64 == 0) coins = random_.bits();
            if (coins >> (i % 64) & 1) drawn_.push_back(free_[i]);
        }
    }

    void fill_exclusive() {
        draw_half();
        random_.shuffle(std::span(drawn_));
        for (int fact : drawn_)
            if (!is_excluded(fact)) keep(fact);
    }

    void fill_atoms(std::span<const int> image) {
        draw_half();
        const std::vector<uint64_t> given = state_;
        auto is_given = [&](int fact) { return (given[fact / 64] & bit(fact)) != 0; };
        for (auto& members : members_) members.clear();
        auto list = [&](int fact) {
            state_[fact / 64] |= bit(fact);
            for (int group : groups_of_[fact]) members_[group].push_back(fact);
        };
        for (int fact : drawn_)
            if (!is_given(fact)) list(fact);
        for (int fact : image) list(fact);
        for (auto [negation, atom] : set_task_.negations)
            if (is_given(negation)) state_[atom / 64] &= ~bit(atom);
        random_.shuffle(std::span(group_order_));
        for (int group : group_order_) {
            auto& members = members_[group];
            std::erase_if(members, [&](int fact) { return !has(fact); });
            if (members.size() < 2) continue;
            auto kept = std::find_if(members.begin(), members.end(), is_given);
            if (kept == members.end())
                kept = members.begin() + random_.below(static_cast<uint32_t>(members.size()));
            const int only = *kept;
            for (int fact : members)
                if (fact != only) state_[fact / 64] &= ~bit(fact);
        }
    }

    void fill_variables() {
        random_.shuffle(std::span(variable_order_));
        for (int variable : variable_order_) {
            drawn_.clear();
            bool is_set = false;
            for (int fact = task_.first_fact[variable]; fact < task_.first_fact[variable + 1]; ++fact) {
                is_set |= has(fact);
                if (!set_task_.is_fact[fact])
                    drawn_.push_back(-1);  // none of those
                else if (!is_excluded(fact))
                    drawn_.push_back(fact);
            }
            if (is_set || drawn_.empty()) continue;
            int fact = drawn_[random_.below(static_cast<uint32_t>(drawn_.size()))];
            if (fact >= 0) keep(fact);
        }
    }

    const SetTask& set_task_;
    const Task& task_;
    const Mutexes& mutexes_;
    Random random_;
    std::vector<uint64_t> state_, excluded_;
    std::vector<int> free_;                  // all facts but negations
    Rows<int> groups_of_;                    // per fact
    std::vector<std::vector<int>> members_;  // per group: facts drawn for a state
    std::vector<int> group_order_, variable_order_, drawn_;
};

}  // namespace

Rows<int> complete(const SetTask& task, const Mutexes& mutexes, const PreImages& images,
                   const std::vector<int>& chosen, Completion way, uint64_t seed, const Limits& limits) {
    Completer completer(task, mutexes, seed);
    WorkMeter meter(limits);
    Rows<int> states;
    for (int image : chosen) {
        meter.spend(static_cast<uint64_t>(task.task.num_facts()));
        completer.complete(image < 0 ? std::span<const int>() : images.facts[image], way);
        completer.append_to(states);
        if (states.data.size() > UINT32_MAX)
            throw std::length_error("the states hold too many facts; ask for fewer states");
    }
    return states;
}

std::vector<int> smallest_depths(const SetTask& task, const PreImages& images, const Rows<int>& states,
                                 const Limits& limits) {
    SubsetIndex index(task.task, images.facts, limits);
    for (int image = 0; image < images.size(); ++image) index.lower(image, images.depth[image]);
    WorkMeter meter(limits);
    std::vector<int> depths, fact_of;
    for (int s = 0; s < states.size(); ++s) {
        fact_of.assign(task.task.num_variables(), -1);
        for (int fact : states[s]) fact_of[task.task.variable_of[fact]] = fact;
        uint64_t work = fact_of.size();
        const int depth = index.smallest(fact_of, INT_MAX, 0, work);
        depths.push_back(depth == INT_MAX ? -1 : depth);
        meter.spend(work);
    }
    return depths;
}

}  // namespace hstar
