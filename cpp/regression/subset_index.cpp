#include "regression/subset_index.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hstar {

SubsetIndex::SubsetIndex(const Task& task, const Rows<int>& sets, const Limits& limits)
    : task_(task), sets_(sets), value_(sets.size(), INT_MAX), order_(sets.size()), leaf_of_(sets.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    build(limits);
}

void SubsetIndex::build(const Limits& limits) {
    WorkMeter meter(limits);
    nodes_.push_back({.last = sets_.size()});
    // Nodes to split, and which variables the path to them has asked for.
    std::vector<std::pair<int, std::vector<int>>> waiting{{0, {}}};
    std::vector<int> assigned(task_.num_variables()), seen;
    std::vector<char> is_asked(task_.num_variables());
    std::vector<std::pair<int, int>> keyed;  // the fact of the variable, and the set
    while (!waiting.empty()) {
        auto [number, path] = std::move(waiting.back());
        waiting.pop_back();
        const int first = nodes_[number].first, last = nodes_[number].last;
        meter.spend(path.size() + 4 * static_cast<uint64_t>(last - first));
        for (int variable : path) is_asked[variable] = 1;
        // A few sets show which variable most of them have. Only if they show none, all are looked at.
        for (int step = 1 + (last - first) / kSample; last - first > kLeaf && seen.empty(); step = 1) {
            for (int i = first; i < last; i += step)
                for (int fact : sets_[order_[i]]) {
                    const int variable = task_.variable_of[fact];
                    if (!is_asked[variable] && assigned[variable]++ == 0) seen.push_back(variable);
                }
            if (step == 1) break;
        }
        for (int variable : path) is_asked[variable] = 0;
        int best = -1;
        for (int variable : seen)
            if (best < 0 || std::pair(-assigned[variable], variable) < std::pair(-assigned[best], best))
                best = variable;
        for (int variable : seen) assigned[variable] = 0;
        seen.clear();
        if (best < 0) {  // a leaf
            for (int i = first; i < last; ++i) leaf_of_[order_[i]] = number;
            continue;
        }
        keyed.clear();
        for (int i = first; i < last; ++i) keyed.push_back({fact_in(order_[i], best), order_[i]});
        std::sort(keyed.begin(), keyed.end());
        path.push_back(best);
        nodes_[number].variable = best;
        nodes_[number].first = static_cast<int>(branches_.size());
        for (size_t begin = 0, end; begin < keyed.size(); begin = end) {
            const int fact = keyed[begin].first, child = static_cast<int>(nodes_.size());
            for (end = begin; end < keyed.size() && keyed[end].first == fact; ++end)
                order_[first + end] = keyed[end].second;
            nodes_.push_back({.first = first + static_cast<int>(begin),
                              .last = first + static_cast<int>(end),
                              .parent = number});
            if (fact < 0)
                nodes_[number].open = child;
            else
                branches_.push_back({fact, child});
            waiting.push_back({child, path});
        }
        nodes_[number].last = static_cast<int>(branches_.size());
    }
}

int SubsetIndex::fact_in(int set, int variable) const {
    const auto facts = sets_[set];
    const auto found = std::lower_bound(facts.begin(), facts.end(), task_.first_fact[variable]);
    return found != facts.end() && *found < task_.first_fact[variable + 1] ? *found : -1;
}

int SubsetIndex::child_of(const Node& node, int fact) const {
    if (fact < 0) return -1;
    const auto begin = branches_.begin() + node.first, end = branches_.begin() + node.last;
    const auto found = std::lower_bound(begin, end, fact, [](Branch b, int f) { return b.fact < f; });
    return found != end && found->fact == fact ? found->node : -1;
}

bool SubsetIndex::is_within(int set, const std::vector<int>& fact_of) const {
    for (int fact : sets_[set])
        if (fact_of[task_.variable_of[fact]] != fact) return false;
    return true;
}

void SubsetIndex::lower(int set, int value) {
    value_[set] = value;
    ++clock_;
    for (int number = leaf_of_[set]; number >= 0; number = nodes_[number].parent) {
        Node& node = nodes_[number];
        node.smallest = std::min(node.smallest, value);
        node.changed = clock_;
    }
}

int SubsetIndex::smallest(const std::vector<int>& fact_of, int bound, uint64_t since, uint64_t& work) const {
    stack_.assign(1, 0);
    const auto push = [&](int number) {
        if (number >= 0 && nodes_[number].smallest < bound && nodes_[number].changed > since)
            stack_.push_back(number);
    };
    while (!stack_.empty()) {
        const Node& node = nodes_[stack_.back()];
        stack_.pop_back();
        ++work;
        if (node.smallest >= bound) continue;  // since it was pushed
        if (node.variable < 0) {
            work += static_cast<uint64_t>(node.last - node.first);
            for (int i = node.first; i < node.last; ++i)
                if (value_[order_[i]] < bound && is_within(order_[i], fact_of)) bound = value_[order_[i]];
            continue;
        }
        const int child = child_of(node, fact_of[node.variable]);
        const bool is_open_better =
            child >= 0 && node.open >= 0 && nodes_[node.open].smallest < nodes_[child].smallest;
        push(is_open_better ? child : node.open);
        push(is_open_better ? node.open : child);  // is looked at first
    }
    return bound;
}

}  // namespace hstar
