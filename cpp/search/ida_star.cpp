#include "search/ida_star.hpp"

#include <algorithm>
#include <limits>

namespace hstar {

namespace {

class SpaceWalker {
  public:
    static constexpr uint64_t kStepsPerCheck = 1;

    SpaceWalker(const StateSpace& space, Evaluator& evaluator, uint64_t max_evaluations)
        : space_(space),
          evaluator_(evaluator),
          max_evaluations_(max_evaluations),
          variables_(static_cast<size_t>(space.num_variables())) {}

    void reset(SearchCounters& counters) {
        path_ = space_.initial_state;
        depth_ = 0;
        evaluator_.evaluate({path_.data(), 1, space_.num_variables()}, &start_h_, nullptr);
        ++counters.evaluated;
        counters.deadends += start_h_ == kDeadEnd;
    }
    float start_h() const { return start_h_; }
    bool is_goal() const { return space_.is_goal(end()); }

    int expand(int last, double budget, SearchCounters& counters) {
        if (levels_.size() <= depth_) levels_.emplace_back();
        Level& level = levels_[depth_];
        space_.successors(end(), last, level.ops, level.states);
        counters.generated += level.ops.size();
        drop_cycles(level);
        if (max_evaluations_)  // the search ends with the last one
            level.ops.resize(std::min(level.ops.size(), max_evaluations_ - counters.evaluated));
        int count = static_cast<int>(level.ops.size());
        level.h.resize(count);
        most_.resize(count);
        for (int i = 0; i < count; ++i) most_[i] = budget - space_.cost(level.ops[i]);
        for (int first = 0; first < count;) {
            int slice = std::min(count - first, evaluator_.slice());
            evaluator_.evaluate_within({level.states.data() + static_cast<size_t>(first) * variables_, slice,
                                        space_.num_variables()},
                                       most_.data() + first, level.h.data() + first);
            first += slice;
        }
        counters.evaluated += count;
        counters.deadends += std::count(level.h.begin(), level.h.end(), kDeadEnd);
        return count;
    }
    double smallest_left_out() const { return kDeadEnd; }
    int op(int i) const { return levels_[depth_].ops[i]; }
    int cost(int i) const { return space_.cost(op(i)); }
    float h(int i) const { return levels_[depth_].h[i]; }

    void enter(int i) {
        const int* child = levels_[depth_].states.data() + static_cast<size_t>(i) * variables_;
        path_.insert(path_.end(), child, child + variables_);
        ++depth_;
    }
    void leave() {
        path_.resize(path_.size() - variables_);
        --depth_;
    }

  private:
    struct Level {
        std::vector<int> ops, states;
        std::vector<float> h;
    };
    const int* end() const { return path_.data() + path_.size() - variables_; }

    // Children that are on the path already: with operators that cost nothing they would go on for ever.
    void drop_cycles(Level& level) {
        size_t kept = 0;
        for (size_t i = 0; i < level.ops.size(); ++i) {
            const int* child = level.states.data() + i * variables_;
            bool on_path = false;
            for (size_t d = 0; d <= depth_ && !on_path; ++d)
                on_path = std::equal(child, child + variables_, path_.data() + d * variables_);
            if (on_path) continue;
            if (kept < i) {
                level.ops[kept] = level.ops[i];
                std::copy(child, child + variables_, level.states.data() + kept * variables_);
            }
            ++kept;
        }
        level.ops.resize(kept);
        level.states.resize(kept * variables_);
    }

    const StateSpace& space_;
    Evaluator& evaluator_;
    uint64_t max_evaluations_;  // 0: no limit
    size_t variables_;
    std::vector<int> path_;      // the states on the path, one after the other
    std::vector<Level> levels_;  // the children of each of them
    size_t depth_ = 0;           // how many steps the path has
    std::vector<double> most_;
    float start_h_ = 0;
};

}  // namespace

SearchResult search_deepening(const StateSpace& space, Evaluator& evaluator, const SearchOptions& options) {
    SpaceWalker walker(space, evaluator, options.max_evaluations);
    SearchResult result = IdaStar(walker, options).run();
    if (result.status == SearchStatus::Unsolvable && result.counters.deadends > 0 && !evaluator.is_safe())
        result.status = SearchStatus::GaveUp;
    return result;
}

}  // namespace hstar
