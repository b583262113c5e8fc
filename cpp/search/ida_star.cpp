#include "search/ida_star.hpp"

#include <algorithm>
#include <limits>

namespace hstar {

namespace {

class SpaceWalker {
  public:
    static constexpr uint64_t kStepsPerCheck = 1;

    SpaceWalker(const StateSpace& space, Evaluator& evaluator)
        : space_(space), evaluator_(evaluator), variables_(space.num_variables()) {}

    void reset(SearchCounters& counters) {
        path_ = space_.initial_state;
        h_.resize(1);
        evaluator_.evaluate({path_.data(), 1, variables_}, h_.data(), nullptr);
        start_h_ = h_[0];
        ++counters.evaluated;
        counters.deadends += start_h_ == kDeadEnd;
    }
    float start_h() const { return start_h_; }
    bool is_goal() const { return space_.is_goal(end()); }

    int expand(int last, double, SearchCounters& counters) {
        level_ = static_cast<int>(path_.size() / variables_) - 1;
        if (static_cast<int>(levels_.size()) <= level_) levels_.emplace_back();
        Level& level = levels_[level_];
        space_.successors(end(), last, level.ops, level.states);
        counters.generated += level.ops.size();
        drop_cycles(level);
        int count = static_cast<int>(level.ops.size());
        level.h.resize(count);
        for (int first = 0; first < count;) {
            int slice = std::min(count - first, evaluator_.slice());
            evaluator_.evaluate(
                {level.states.data() + static_cast<size_t>(first) * variables_, slice, variables_},
                level.h.data() + first, nullptr);
            first += slice;
        }
        counters.evaluated += count;
        counters.deadends += std::count(level.h.begin(), level.h.end(), kDeadEnd);
        return count;
    }
    double smallest_left_out() const { return kDeadEnd; }
    int op(int i) const { return levels_[level_].ops[i]; }
    int cost(int i) const { return space_.cost(op(i)); }
    float h(int i) const { return levels_[level_].h[i]; }

    void enter(int i) {
        const int* child = levels_[level_].states.data() + static_cast<size_t>(i) * variables_;
        path_.insert(path_.end(), child, child + variables_);
    }
    void leave() {
        path_.resize(path_.size() - variables_);
        level_ = static_cast<int>(path_.size() / variables_) - 1;
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
            for (size_t at = 0; at < path_.size() && !on_path; at += variables_)
                on_path = std::equal(child, child + variables_, path_.data() + at);
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
    int variables_;
    std::vector<int> path_;      // the states on the path, one after the other
    std::vector<Level> levels_;  // the children of each of them
    int level_ = 0;
    std::vector<float> h_;
    float start_h_ = 0;
};

}  // namespace

SearchResult search_deepening(const StateSpace& space, Evaluator& evaluator, const SearchOptions& options) {
    if (space.num_variables() == 0) throw std::invalid_argument("idastar needs states with variables");
    SpaceWalker walker(space, evaluator);
    SearchResult result = IdaStar(walker, options).run();
    if (result.status == SearchStatus::Unsolvable && result.counters.deadends > 0 && !evaluator.is_safe())
        result.status = SearchStatus::GaveUp;
    result.state_bytes = space.packing().num_bytes();
    return result;
}

}  // namespace hstar
