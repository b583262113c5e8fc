// IDA* (Korf, "Depth-first iterative-deepening", 1985): depth-first searches with growing bounds on
// f = g + h.
//
//     bound = h(start)
//     repeat: visit(start);  bound = the smallest f seen that is larger than bound
//     visit(n): if n is a goal, done; for each child n' with f(n') <= bound: visit(n')
//
// A walker holds the path and generates the children of its end, all at once, with their h:
//     reset(counters)                  the path is the start alone; its h is start_h()
//     expand(last, budget, counters)   generates the children of the end, returns how many. It may leave
//                                      out those with cost + h over the budget: smallest_left_out() is
//                                      then a lower bound on their cost + h that is over the budget
//     op(i), cost(i), h(i)             of child i; still there after entering and leaving one of them
//     enter(i), leave()                append a child to the path; take the end off again
//     is_goal()                        of the end
//     kStepsPerCheck                   how many expansions go between two looks at the clock
//
// The search is a loop over frames, not a recursion: operators without cost make paths as long as a space has
// states, and the machine's stack is short.
#pragma once
#include <algorithm>
#include <cmath>

#include "search/search.hpp"

namespace hstar {

// With any evaluator, on any space: the children of a node are evaluated in one batch.
SearchResult search_deepening(const StateSpace& space, Evaluator& evaluator, const SearchOptions& options);

template <class Walker>
class IdaStar {
  public:
    IdaStar(Walker& walker, const SearchOptions& options) : walker_(walker), options_(options) {}

    SearchResult run() {
        result_.run([&] { deepen(); });
        if (result_.status != SearchStatus::Solved) result_.plan.clear();
        result_.counters.evaluations = result_.counters.evaluated;
        return std::move(result_);
    }

  private:
    void deepen() {
        walker_.reset(result_.counters);
        result_.initial_h = walker_.start_h();
        double bound = result_.initial_h;
        while (bound < static_cast<double>(kDeadEnd)) {
            next_bound_ = kDeadEnd;
            if (search_within(bound)) {
                result_.status = exhausted_ ? SearchStatus::GaveUp : SearchStatus::Solved;
                return;
            }
            bound = next_bound_;
        }
        // What a limit on evaluations left out could have had a bound.
        result_.status = is_spent() ? SearchStatus::GaveUp : SearchStatus::Unsolvable;
    }

    // True: the search is over.
    bool search_within(double bound) {
        frames_.clear();
        if (visit(0, bound, -1)) return true;
        while (true) {
            Frame& frame = frames_.back();
            if (frame.next == frame.count) {
                frames_.pop_back();
                if (frames_.empty()) return false;
                result_.plan.pop_back();
                walker_.leave();
                continue;
            }
            int i = frame.next++;
            int64_t child_g = frame.g + walker_.cost(i);
            double f = static_cast<double>(child_g) + static_cast<double>(walker_.h(i));
            if (f > bound) {
                next_bound_ = std::min(next_bound_, f);
                continue;
            }
            int op = walker_.op(i);
            walker_.enter(i);
            result_.plan.push_back(op);
            if (visit(child_g, bound, op)) return true;
        }
    }

    // Opens a frame for the end of the path. True: it is a goal, or a limit is reached.
    bool visit(int64_t g, double bound, int last) {
        if (walker_.is_goal()) return true;
        if (++steps_ % Walker::kStepsPerCheck == 0) clock_.check();
        exhausted_ = is_spent();
        if (exhausted_) return true;
        ++result_.counters.expanded;
        int count = walker_.expand(last, bound - static_cast<double>(g), result_.counters);
        double over = static_cast<double>(g) + walker_.smallest_left_out();
        if (over > bound) next_bound_ = std::min(next_bound_, over);
        frames_.push_back({g, count, 0});
        return false;
    }

    bool is_spent() const { return options_.is_spent(result_.counters.evaluated, result_.counters.expanded); }

    struct Frame {
        int64_t g;
        int count, next;  // children
    };

    Walker& walker_;
    const SearchOptions& options_;
    SearchResult result_;
    std::vector<Frame> frames_;
    LimitClock clock_{options_.limits};
    double next_bound_ = 0;
    uint64_t steps_ = 0;
    bool exhausted_ = false;
};

}  // namespace hstar
