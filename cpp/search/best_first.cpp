// Best-first search, eager and lazy, and beam search.
//
//     repeat: take the best entries from OPEN; generate; evaluate the new states; open them
//
// An eager OPEN holds states, ordered by their own values; all successors of an entry are generated. A lazy
// OPEN holds edges (a state and an operator), ordered by the values of the state; the one successor is
// generated, evaluated, and opened by entering its edges. So a lazy search evaluates only what it expands. It
// may also follow relaxed plans: where one leads, and whether that is nearer to the goal, is seen at once.
//
// Queues of OPEN take turns. Each new smallest value of an evaluator gives the queues of preferred operators
// kBoost turns in advance (Richter & Helmert, ICAPS 2009).
//
// Partial expansion is greedy and eager: it evaluates the next successors of the best state, until one of
// them is better than the state. If successors are left, the state stays in OPEN. An eager search evaluates
// every successor on the way to the goal; with a good heuristic and many operators most of that is in vain:
// the first better successor is good enough. None is lost, so the search is complete.
//
// Values of edges (Evaluator::is_of_edges) order a state by the best edge to it that was found so far; a
// look-ahead chooses among the edges of the state where it stands. The plan goes through the first edge.
//
// Beam search is eager and goes layer by layer: it expands the whole layer, and the best `width` of the
// states found become the next one. The others stay in OPEN, so none is lost and the search is complete. The
// next layer is taken from OPEN, by its turns, when the last one brought no state, or when there was no new
// smallest value for kPatience layers: a beam that a heuristic misled would else wander on through a large
// space.
#include <cmath>
#include <deque>
#include <type_traits>
#include <unordered_map>

#include "search/lazy_edges.hpp"
#include "search/local_search.hpp"
#include "search/open_list.hpp"
#include "search/search_space.hpp"

namespace hstar {

namespace {

template <class Entry>
class BestFirst {
    static constexpr bool kLazy = std::is_same_v<Entry, LazyEdge>;

  public:
    explicit BestFirst(SearchSpace& space)
        : space_(space),
          options_(space.options),
          counters_(space.result.counters),
          open_(space.options.queues.size()),
          found_(space.options.queues.size()),
          edges_(space),
          best_h_(space.num_values, kDeadEnd) {
        for (bool wanted : space.wants_preferred) wants_preferred_ |= wanted;
    }

    void run() {
        StateId initial = space_.insert_initial();
        pending_ = {initial};
        if (!kLazy) counters_.evaluations += options_.use_h;
        evaluate_pending();
        space_.result.initial_h = space_.last_value(0);
        if (!kLazy && options_.early_goal_test && space_.is_goal(initial)) return space_.finish(initial);
        if (open_pending()) return;
        while (!open_.empty() || !layer_.empty()) {
            if (space_.exhausted()) {
                space_.result.status = SearchStatus::GaveUp;
                return;
            }
            if constexpr (!kLazy)
                if (options_.partial) {
                    if (expand_in_parts()) return;
                    continue;
                }
            if (fetch()) return;
            if constexpr (!kLazy)
                if (wants_preferred_) space_.find_preferred(batch_);
            for (size_t i = 0; i < batch_.size(); ++i)
                if (generate(batch_[i], i)) return;
            evaluate_pending();
            if (open_pending()) return;
            if constexpr (kLazy) {
                while (look_ahead_along_plans()) {
                    evaluate_pending();
                    if (open_pending()) return;
                }
            } else {
                open_known();
                if (options_.local_steps)
                    for (StateId id : batch_)
                        if (local_search(space_, id)) return;
            }
        }
        space_.result.status =
            incomplete_ || space_.has_left_out() ? SearchStatus::GaveUp : SearchStatus::Unsolvable;
    }

  private:
    // Takes the best entries from OPEN. True if one is a goal that ends the search.
    bool fetch() {
        batch_.clear();
        const size_t size = static_cast<size_t>(space_.batch_size());
        if constexpr (!kLazy)
            if (options_.width) {
                if (layer_.empty()) choose_layer();
                while (batch_.size() < size && !layer_.empty()) {
                    batch_.push_back(layer_.front());
                    layer_.pop_front();
                }
                return false;
            }
        while (batch_.size() < size && !open_.empty()) {
            size_t list = open_.next();
            if constexpr (kLazy) {
                batch_.push_back(edges_.take(open_, list));
            } else {
                StateId id = open_[list].top();
                bool stale = space_.nodes[id].status != kOpen;
                if (!stale && !options_.early_goal_test && space_.is_goal(id)) {
                    // A goal ends the search only when nothing better is being expanded along with it.
                    if (!batch_.empty()) return false;
                    space_.finish(id);
                    return true;
                }
                open_.pop(list);
                if (stale) continue;
                space_.nodes[id].status = kClosed;
                batch_.push_back(id);
            }
        }
        return false;
    }

    void choose_layer() {
        bool is_stuck = layers_without_progress_ >= kPatience;
        layers_without_progress_ = is_stuck ? 0 : layers_without_progress_ + 1;
        AlternatingLists<Entry>& candidates = is_stuck || found_.empty() ? open_ : found_;
        while (layer_.size() < static_cast<size_t>(options_.width) && !candidates.empty()) {
            StateId id = candidates.pop(candidates.next());
            if (space_.nodes[id].status != kOpen) continue;
            space_.nodes[id].status = kClosed;
            layer_.push_back(id);
        }
        found_ = AlternatingLists<Entry>(options_.queues.size());
    }

    // New states wait for evaluation. True if a goal was generated that ends the search. The entry is number
    // `i` of the batch.
    bool generate(LazyEdge edge, size_t) {
        const uint64_t generated = counters_.generated;
        wait_for_evaluation(space_.walk(edge.state, {&edge.op, 1}), pending_);
        counters_.generated = generated;  // counted when the parent was expanded
        return false;
    }

    // Unless the state was evaluated before, or waits already.
    bool wait_for_evaluation(StateId id, std::vector<StateId>& waiting) {
        if (space_.nodes[id].status != kSeen) return false;
        space_.nodes[id].status = kOpen;
        waiting.push_back(id);
        return true;
    }

    bool generate(StateId id, size_t i) {
        if (space_.nodes[id].status == kDead) return false;  // an adviser proved it
        ++counters_.expanded;
        space_.generate(id);
        return take_successors(id, i);
    }

    bool take_successors(StateId id, size_t i) {
        const int g = space_.nodes[id].g;
        Known known{id, i, {}};
        for (const auto& successor : space_.successors) {
            Node& node = space_.nodes[successor.id];
            int successor_g = space_.extended(g, successor.op);
            if (space_.at_evaluation_limit()) break;
            if (successor.is_new) {
                space_.set_parent(successor.id, id, successor.op, successor_g);
                if (options_.early_goal_test && space_.is_goal(successor.id)) {
                    counters_.evaluations += options_.partial;
                    space_.finish(successor.id);
                    return true;
                }
                node.status = kOpen;
                pending_.push_back(successor.id);
                if (wants_preferred_) pending_preferred_.push_back(preferring(successor.op, i));
            } else if (space_.has_edge_values) {
                if (node.status == kOpen || node.status == kSeen) known.edges.push_back(successor);
            } else if (node.status == kSeen) {
                open_again(successor, i);
            } else if (options_.reopen && successor_g < node.g && node.status != kDead) {
                space_.set_parent(successor.id, id, successor.op, successor_g);
                if (node.status == kClosed) ++counters_.reopened;
                if (!std::isnan(space_.value(successor.id))) open_again(successor, i);  // else it is pending
            }
            counters_.evaluations += options_.use_h;
        }
        if (!known.edges.empty()) known_.push_back(std::move(known));
        return false;
    }

    // Partial: looks at the next successors of the best state, and closes it after the last. True if one is a
    // goal.
    bool expand_in_parts() {
        const size_t queue = open_.next();
        const int evaluator = options_.queues[queue].evaluator;
        const StateId id = open_.pop(queue);
        if (space_.nodes[id].status != kOpen) return false;
        const float h = space_.value(id, evaluator);
        const std::vector<int> ops = space_.operators_to_try(id);
        const auto [place, is_first] = tried_.try_emplace(id, 0);
        counters_.expanded += is_first;
        size_t& tried = place->second;
        bool is_better = false;
        for (size_t part = kFirstPart; tried < ops.size() && !is_better;
             part = std::min(2 * part, kLargestPart)) {
            const std::span<const int> left = std::span(ops).subspan(tried);
            const auto some = left.first(std::min(left.size(), part));
            space_.generate_with({some.begin(), some.end()});
            tried += some.size();
            if (take_successors(id, 0)) return true;
            if (space_.at_evaluation_limit()) return false;
            evaluate_pending();
            for (size_t i = 0; i < pending_.size(); ++i)
                is_better |= space_.nodes[pending_[i]].status != kDead && space_.last_value(i, evaluator) < h;
            open_pending();
        }
        if (is_better && tried < ops.size()) {
            open_[queue].push(space_.key(space_.nodes[id].g, h), id);
        } else {
            space_.nodes[id].status = kClosed;
            tried_.erase(id);
        }
        return false;
    }

    void evaluate_pending() {
        if (!options_.use_h) return;
        if (kLazy) counters_.evaluations += pending_.size();
        space_.evaluate(pending_, kLazy);
    }

    // True if a lazy search expands a goal.
    bool open_pending() {
        for (size_t i = 0; i < pending_.size(); ++i) {
            StateId id = pending_[i];
            if (space_.nodes[id].status == kDead) continue;
            if (kLazy && space_.is_goal(id)) {
                space_.finish(id);
                return true;
            }
            reward_progress(i);
            if constexpr (kLazy) {
                incomplete_ |= !edges_.enter(open_, id, i);
                if (options_.look_ahead) look_ahead_from(id, i);
            } else
                open(id, wants_preferred_ && space_.nodes[id].parent != kNoState ? pending_preferred_[i] : 0,
                     [&](int e) { return space_.last_value(i, e); });
        }
        pending_.clear();
        pending_preferred_.clear();
        to_beat_.clear();
        return false;
    }

    // Makes the states where relaxed plans led pending. False if there are none, or no limit allows more.
    bool look_ahead_along_plans() {
        const size_t allowed = space_.exhausted() ? 0 : static_cast<size_t>(space_.batch_size());
        while (ahead_.size() > allowed) {
            space_.nodes[ahead_.back()].status = kSeen;
            ahead_.pop_back();
        }
        std::swap(pending_, ahead_);
        std::swap(to_beat_, next_to_beat_);
        next_to_beat_.clear();
        return !pending_.empty();
    }

    // From state i of the states evaluated last, unless it is itself where a plan led, but not nearer to the
    // goal.
    void look_ahead_from(StateId id, size_t i) {
        const float h = space_.last_value(i);
        if ((i < to_beat_.size() && h >= to_beat_[i]) || space_.ways.size() == 0) return;
        if (wait_for_evaluation(space_.walk(id, space_.ways[static_cast<int>(i)]), ahead_))
            next_to_beat_.push_back(h);
    }

    // States that were known before and may have got a better edge.
    void open_known() {
        for (const auto& [parent, number, edges] : known_) {
            std::vector<bool> is_better(edges.size());
            for (size_t e = 0; e < space_.num_values; ++e) {
                if (!space_.evaluators[e]->is_of_edges()) continue;
                const auto& h = space_.edge_values(e, parent, edges);
                for (size_t k = 0; k < edges.size(); ++k) {
                    const uint32_t status = space_.nodes[edges[k].id].status;
                    // A look-ahead saw the value of another edge.
                    if (status == kSeen || (status == kOpen && h[k] < space_.value(edges[k].id, e))) {
                        space_.set_value(edges[k].id, e, h[k]);
                        is_better[k] = true;
                    }
                }
            }
            for (size_t k = 0; k < edges.size(); ++k)
                if (is_better[k]) open_again(edges[k], number);
        }
        known_.clear();
    }

    void reward_progress(size_t i) {
        bool progress = false;
        for (size_t e = 0; e < best_h_.size(); ++e) {
            float h = space_.last_value(i, e);
            if (h < best_h_[e]) best_h_[e] = h, progress = true;
        }
        if (!progress) return;
        layers_without_progress_ = 0;
        for (size_t q = 0; q < options_.queues.size(); ++q)
            if (options_.queues[q].only_preferred()) open_.boost(q, kBoost);
    }

    // Eager: `value(e)` is the state's value by evaluator e, `preferred_by` a set of evaluators.
    template <class Value>
    void open(StateId id, uint64_t preferred_by, Value value) {
        Node& node = space_.nodes[id];
        node.status = kOpen;
        bool is_left_out = true;
        for (size_t q = 0; q < options_.queues.size(); ++q) {
            const Queue& queue = options_.queues[q];
            if (queue.only_preferred() && !(preferred_by >> queue.preferred_by & 1)) continue;
            float h = value(queue.evaluator);
            if (h == kDeadEnd) continue;  // not a proof, else the state would be dead
            open_[q].push(space_.key(node.g, h), id);
            if (options_.width) found_[q].push(space_.key(node.g, h), id);
            is_left_out = false;
        }
        incomplete_ |= is_left_out;
    }

    // The number of the parent in the batch is `i`.
    void open_again(const SearchSpace::Successor& successor, size_t i) {
        open(successor.id, wants_preferred_ ? preferring(successor.op, i) : 0,
             [&](int e) { return space_.value(successor.id, e); });
    }

    // The evaluators that prefer an operator in state i of the batch.
    uint64_t preferring(int op, size_t i) const {
        uint64_t set = 0;
        for (size_t e = 0; e < space_.preferred.size(); ++e) {
            if (!space_.wants_preferred[e]) continue;
            auto ops = space_.preferred[e][static_cast<int>(i)];
            if (std::find(ops.begin(), ops.end(), op) != ops.end()) set |= uint64_t{1} << e;
        }
        return set;
    }

    SearchSpace& space_;
    const SearchOptions& options_;
    SearchCounters& counters_;
    AlternatingLists<Entry> open_;   // one per queue
    AlternatingLists<Entry> found_;  // beam: the part of OPEN that the expansion of this layer found
    std::deque<Entry> layer_;        // beam: chosen, to be expanded
    static constexpr int kPatience = 100, kBoost = 1000;
    int layers_without_progress_ = 0;
    std::vector<Entry> batch_;
    LazyEdges edges_;
    std::vector<StateId> pending_;               // generated, to be evaluated and opened
    std::vector<StateId> ahead_;                 // where relaxed plans lead; pending next
    std::vector<float> to_beat_, next_to_beat_;  // per state of pending_ and ahead_: the value where it began
    std::vector<uint64_t> pending_preferred_;
    struct Known {
        StateId parent;
        size_t number;  // of the parent in the batch
        std::vector<SearchSpace::Successor> edges;
    };
    std::vector<Known> known_;   // edges to states that were known before, if there are values of edges
    std::vector<float> best_h_;  // per evaluator
    static constexpr size_t kFirstPart = 4, kLargestPart = 64;  // successors that are evaluated at once
    std::unordered_map<StateId, size_t> tried_;  // partial: how many operators, of states that are not done
    bool wants_preferred_ = false;               // and an evaluator has preferred operators
    bool incomplete_ = false;
};

}  // namespace

void search_best_first(SearchSpace& space) {
    if (space.options.lazy)
        BestFirst<LazyEdge>(space).run();
    else
        BestFirst<StateId>(space).run();
}

}  // namespace hstar
