// Greedy best-first search that expands states in parts.
//
//     repeat: take the best state from OPEN; evaluate its next successors, until one of them is better than
//             the state; if successors are left, the state stays in OPEN
//
// An eager search evaluates every successor on the way to the goal. With a good heuristic and many operators
// most of that is in vain: the first better successor is good enough. None is lost, so the search is
// complete.
#include <unordered_map>

#include "search/open_list.hpp"
#include "search/search_space.hpp"

namespace hstar {

namespace {

class PartialExpansion {
  public:
    explicit PartialExpansion(SearchSpace& space)
        : space_(space),
          options_(space.options),
          counters_(space.result.counters),
          open_(space.options.queues.size()) {}

    void run() {
        const StateId initial = space_.insert_initial();
        ++counters_.evaluations;
        space_.evaluate({initial});
        space_.result.initial_h = space_.last_value(0);
        if (space_.is_goal(initial)) return space_.finish(initial);
        if (space_.nodes[initial].status != kDead) open(initial, 0);
        while (!open_.empty()) {
            if (space_.exhausted()) {
                space_.result.status = SearchStatus::GaveUp;
                return;
            }
            const size_t queue = open_.next();
            const StateId id = open_.pop(queue);
            if (space_.nodes[id].status != kOpen) continue;
            const float h = space_.value(id, options_.queues[queue].evaluator);
            if (expand(id, queue, h)) return;
            if (space_.nodes[id].status == kOpen) open_[queue].push(key(h), id);
        }
        space_.result.status = incomplete_ ? SearchStatus::GaveUp : SearchStatus::Unsolvable;
    }

  private:
    static constexpr size_t kFirstPart = 4, kLargestPart = 64;  // successors that are evaluated at once

    // Looks at the next successors of a state, and closes it after the last. True if one is a goal.
    bool expand(StateId id, size_t queue, float h) {
        const std::vector<int> ops = space_.operators_to_try(id);
        auto [place, is_first] = tried_.try_emplace(id, 0);
        counters_.expanded += is_first;
        uint32_t tried = place->second;
        for (size_t part = kFirstPart; tried < ops.size(); part = std::min(2 * part, kLargestPart)) {
            const size_t end = std::min(ops.size(), tried + part);
            part_.assign(ops.begin() + tried, ops.begin() + static_cast<int64_t>(end));
            space_.generate_with(part_);
            tried = static_cast<uint32_t>(end);
            if (take_successors(id)) return true;
            if (space_.at_evaluation_limit()) return false;  // the state stays in OPEN
            if (open_fresh(queue, h) && tried < ops.size()) {
                tried_[id] = tried;
                return false;
            }
        }
        space_.nodes[id].status = kClosed;
        tried_.erase(id);
        return false;
    }

    // New successors become fresh_. True if one is a goal, which ends the search.
    bool take_successors(StateId id) {
        fresh_.clear();
        for (const auto& successor : space_.successors) {
            if (space_.at_evaluation_limit()) return false;
            ++counters_.evaluations;
            if (!successor.is_new) continue;
            const int g = space_.extended(space_.nodes[id].g, successor.op);
            space_.set_parent(successor.id, id, successor.op, g);
            if (space_.is_goal(successor.id)) {
                space_.finish(successor.id);
                return true;
            }
            fresh_.push_back(successor.id);
        }
        return false;
    }

    // Evaluates and opens them. True if one is better than h, by the evaluator of the queue.
    bool open_fresh(size_t queue, float h) {
        space_.evaluate(fresh_);
        bool is_better = false;
        for (size_t i = 0; i < fresh_.size(); ++i) {
            if (space_.nodes[fresh_[i]].status == kDead) continue;
            open(fresh_[i], i);
            is_better |= space_.last_value(i, options_.queues[queue].evaluator) < h;
        }
        return is_better;
    }

    // The state is number `i` of those evaluated last.
    void open(StateId id, size_t i) {
        space_.nodes[id].status = kOpen;
        bool is_left_out = true;
        for (size_t q = 0; q < options_.queues.size(); ++q) {
            const float h = space_.last_value(i, options_.queues[q].evaluator);
            if (h == kDeadEnd) continue;  // not a proof, else the state would be dead
            open_[q].push(key(h), id);
            is_left_out = false;
        }
        incomplete_ |= is_left_out;
    }

    static OpenKey key(float h) { return {h, 0}; }

    SearchSpace& space_;
    const SearchOptions& options_;
    SearchCounters& counters_;
    AlternatingLists<StateId> open_;               // one per queue
    std::unordered_map<StateId, uint32_t> tried_;  // how many operators of states that are not done yet
    std::vector<StateId> fresh_;
    std::vector<int> part_;
    bool incomplete_ = false;
};

}  // namespace

void search_in_parts(SearchSpace& space) {
    PartialExpansion(space).run();
}

}  // namespace hstar
