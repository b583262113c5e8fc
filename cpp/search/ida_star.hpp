// IDA* (Korf, "Depth-first iterative-deepening", 1985): depth-first searches with growing bounds on f = g +
// h.
//
//     bound = h(start)
//     repeat: visit(start);  bound = the smallest f seen that is larger than bound
//     visit(n): if n is a goal, done; for each child n' with f(n') <= bound: visit(n')
//
// A walker holds the path and generates the children of its end, all at once, with their h:
//     reset(counters)                  the path is the start alone; its h is start_h()
//     expand(last, budget, counters)   generates the children of the end and returns their number. It may
//     leave
//                                      out those with cost + h over the budget: smallest_left_out() is then a
//                                      lower bound on their cost + h that is over the budget
//     op(i), cost(i), h(i)             of child i; still there after entering and leaving one of them
//     enter(i), leave()                append a child to the path; take the end off again
//     is_goal()                        of the end
//     kStepsPerCheck                   how many expansions go between two looks at the clock
#pragma once
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
        double start = monotonic_seconds();
        try {
            deepen();
        } catch (const Stopped& stopped) {
            result_.status = status_of(stopped.reason);
        } catch (const std::bad_alloc&) {
            result_.status = SearchStatus::OutOfMemory;
        }
        if (result_.status != SearchStatus::Solved) result_.plan.clear();
        result_.counters.evaluations = result_.counters.evaluated;
        result_.seconds = monotonic_seconds() - start;
        return std::move(result_);
    }

  private:
    void deepen() {
        walker_.reset(result_.counters);
        result_.initial_h = walker_.start_h();
        double bound = result_.initial_h;
        while (bound < static_cast<double>(kDeadEnd)) {
            next_bound_ = kDeadEnd;
            if (visit(0, bound, -1)) {
                result_.status = exhausted_ ? SearchStatus::GaveUp : SearchStatus::Solved;
                return;
            }
            bound = next_bound_;
        }
        result_.status = SearchStatus::Unsolvable;
    }

    // True: the search is over.
    bool visit(int64_t g, double bound, int last) {
        if (walker_.is_goal()) return true;
        check_limits();
        if (exhausted_) return true;
        ++result_.counters.expanded;
        int count = walker_.expand(last, bound - static_cast<double>(g), result_.counters);
        double over = static_cast<double>(g) + walker_.smallest_left_out();
        if (over > bound && over < next_bound_) next_bound_ = over;
        for (int i = 0; i < count; ++i) {
            int op = walker_.op(i);
            int64_t child_g = g + walker_.cost(i);
            double f = static_cast<double>(child_g) + static_cast<double>(walker_.h(i));
            if (f > bound) {
                if (f < next_bound_) next_bound_ = f;
                continue;
            }
            walker_.enter(i);
            result_.plan.push_back(op);
            if (visit(child_g, bound, op)) return true;
            result_.plan.pop_back();
            walker_.leave();
        }
        return false;
    }

    // Throws Stopped when time or memory is spent, or a signal came.
    void check_limits() {
        const SearchCounters& c = result_.counters;
        exhausted_ = (options_.max_evaluations && c.evaluated >= options_.max_evaluations) ||
                     (options_.max_expansions && c.expanded >= options_.max_expansions);
        if (++steps_ % Walker::kStepsPerCheck) return;
        double now = monotonic_seconds();
        if (now < next_check_) return;
        options_.limits.check();
        next_check_ = now + 0.005;
    }

    Walker& walker_;
    const SearchOptions& options_;
    SearchResult result_;
    double next_bound_ = 0, next_check_ = 0;
    uint64_t steps_ = 0;
    bool exhausted_ = false;
};

}  // namespace hstar
