#include <cmath>

#include "search/open_list.hpp"
#include "search/search_space.hpp"

namespace hstar {

namespace {

// Expands whole nodes: gbfs, astar, wastar, gbfls, bfs.
class EagerSearch {
  public:
    explicit EagerSearch(SearchSpace& space) : space_(space) {
        const std::string& name = space.options.algorithm;
        is_astar_ = name == "astar" || name == "wastar";
        is_bfs_ = name == "bfs";
        lookahead_ = name == "gbfls";
        weight_ = name == "wastar" ? space.options.weight : 1.0;
    }

    void run() {
        StateId initial = space_.insert_initial();
        auto& counters = space_.result.counters;
        if (!is_astar_ && space_.is_goal(initial)) {
            evaluate_initial(initial);
            space_.finish(initial);
            return;
        }
        evaluate_initial(initial);
        if (space_.nodes[initial].status != kDead) open(initial, space_.result.initial_h);
        std::vector<StateId> batch;
        while (!open_.empty()) {
            if (space_.exhausted()) {
                space_.result.status = SearchStatus::GaveUp;
                return;
            }
            if (!fetch(batch)) return;
            for (StateId id : batch) {
                ++counters.expanded;
                if (expand(id)) return;
            }
            flush();
            if (lookahead_)
                for (StateId id : batch)
                    if (look_ahead(id)) return;
        }
        space_.result.status = incomplete_ ? SearchStatus::GaveUp : SearchStatus::Unsolvable;
    }

  private:
    void evaluate_initial(StateId initial) {
        if (is_bfs_) return;
        space_.evaluate({initial});
        space_.result.counters.evaluations = 1;
        space_.result.initial_h = space_.last_value(0);
    }

    void open(StateId id, float h) {
        Node& node = space_.nodes[id];
        node.status = kOpen;
        double f = is_bfs_ ? 0 : is_astar_ ? node.g + weight_ * h : h;
        open_.push({f, is_astar_ ? h : 0}, id);
    }

    // Takes the best nodes from OPEN and closes them; false if one is a goal.
    bool fetch(std::vector<StateId>& batch) {
        batch.clear();
        int size = space_.batch_size();
        while (!open_.empty() && static_cast<int>(batch.size()) < size) {
            StateId id = open_.top();
            bool stale = space_.nodes[id].status != kOpen;
            if (!stale && is_astar_ && space_.is_goal(id)) {
                // A goal ends the search only when nothing better is being expanded along with it.
                if (!batch.empty()) return true;
                space_.finish(id);
                return false;
            }
            open_.pop();
            if (stale) continue;
            space_.nodes[id].status = kClosed;
            batch.push_back(id);
        }
        return true;
    }

    // Generates the successors; new ones wait for evaluation. True if a goal was generated and ends the
    // search.
    bool expand(StateId id) {
        auto& counters = space_.result.counters;
        space_.generate(id);
        int g = space_.nodes[id].g;
        for (const auto& successor : space_.successors) {
            Node& node = space_.nodes[successor.id];
            int successor_g = space_.extended(g, successor.op);
            if (at_evaluation_limit()) break;
            if (successor.is_new) {
                space_.set_parent(successor.id, id, successor.op, successor_g);
                if (!is_astar_ && space_.is_goal(successor.id)) {
                    space_.finish(successor.id);
                    return true;
                }
                node.status = kOpen;
                pending_.push_back(successor.id);
            } else if (node.status == kSeen) {
                open(successor.id, space_.value(successor.id));
            } else if (is_astar_ && successor_g < node.g && node.status != kDead) {
                space_.set_parent(successor.id, id, successor.op, successor_g);
                if (node.status == kClosed) ++counters.reopened;
                float h = space_.value(successor.id);
                if (!std::isnan(h)) open(successor.id, h);  // else it is opened after evaluation
            }
            if (!is_bfs_) ++counters.evaluations;
        }
        return false;
    }

    // Once true, successors are left out, and running out of nodes proves nothing.
    bool at_evaluation_limit() {
        uint64_t limit = space_.options.max_evaluations;
        incomplete_ |= limit && space_.result.counters.evaluations >= limit;
        return incomplete_;
    }

    // Evaluates the states generated since the last call and opens them.
    void flush() {
        if (!is_bfs_) space_.evaluate(pending_);
        for (size_t i = 0; i < pending_.size(); ++i)
            if (space_.nodes[pending_[i]].status != kDead)
                open(pending_[i], is_bfs_ ? 0 : space_.last_value(i));
        pending_.clear();
    }

    // Algorithm 4 of the reward-shaping paper: follow the best successor, opening nothing on the way.
    bool look_ahead(StateId id) {
        auto& counters = space_.result.counters;
        StateId s = best_successor(id);
        for (int depth = 1; depth < space_.options.lookahead_depth && s != kNoState; ++depth) {
            if (space_.exhausted()) return false;
            ++counters.expanded;
            space_.generate(s);
            std::vector<StateId> fresh;
            int g = space_.nodes[s].g;
            for (const auto& successor : space_.successors) {
                if (at_evaluation_limit()) return false;
                if (successor.is_new) {
                    space_.set_parent(successor.id, s, successor.op, space_.extended(g, successor.op));
                    if (space_.is_goal(successor.id)) {
                        space_.finish(successor.id);
                        return true;
                    }
                    fresh.push_back(successor.id);
                }
                ++counters.evaluations;
            }
            auto successors = space_.successors;
            space_.evaluate(fresh);
            s = best_of(successors);
        }
        return false;
    }

    StateId best_successor(StateId id) {
        // The successors of the expansion are known and evaluated; generating them again only finds their
        // ids.
        auto generated = space_.result.counters.generated;
        space_.generate(id);
        space_.result.counters.generated = generated;
        return best_of(space_.successors);
    }

    StateId best_of(const std::vector<SearchSpace::Successor>& successors) const {
        StateId best = kNoState;
        for (const auto& successor : successors)
            if (space_.h[successor.id] < (best == kNoState ? kDeadEnd : space_.h[best])) best = successor.id;
        return best;
    }

    SearchSpace& space_;
    OpenList<StateId> open_;
    bool is_astar_, is_bfs_, lookahead_;
    bool incomplete_ = false;
    double weight_;
    std::vector<StateId> pending_;
};

}  // namespace

void search_eagerly(SearchSpace& space) {
    EagerSearch(space).run();
}

}  // namespace hstar
