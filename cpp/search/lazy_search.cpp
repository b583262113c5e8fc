#include <array>

#include "search/open_list.hpp"
#include "search/search_space.hpp"

namespace hstar {

namespace {

// Evaluates a state when it is expanded, not when it is generated; OPEN holds (parent, operator) ordered by
// the parent's h. Entries by preferred operators also enter a second list. The lists take turns; each
// improvement of the best h gives the preferred list `boost` turns in advance (Richter & Helmert, ICAPS
// 2009).
class LazySearch {
    struct OpenEntry {
        StateId state;
        int op;  // to be applied to the state
    };

  public:
    explicit LazySearch(SearchSpace& space) : space_(space) {}

    void run() {
        StateId initial = space_.insert_initial();
        ids_ = {initial};
        process();
        space_.result.initial_h = space_.last_value(0);
        if (done_) return;
        while (!open_[0].empty() || !open_[1].empty()) {
            if (space_.exhausted()) {
                space_.result.status = SearchStatus::GaveUp;
                return;
            }
            fetch();
            process();
            if (done_) return;
        }
        space_.result.status = SearchStatus::Unsolvable;
    }

  private:
    // Takes up to `batch` entries and generates their states; those seen for the first time wait in ids_.
    void fetch() {
        ids_.clear();
        int size = space_.batch_size();
        for (int taken = 0; taken < size && !(open_[0].empty() && open_[1].empty()); ++taken) {
            int list = open_[1].empty() || (!open_[0].empty() && turn_[0] <= turn_[1]) ? 0 : 1;
            ++turn_[list];
            OpenEntry entry = open_[list].pop();
            space_.load(entry.state);
            one_op_.assign(1, entry.op);
            uint64_t generated = space_.result.counters.generated;
            space_.generate_with(one_op_);
            space_.result.counters.generated = generated;  // counted when the parent was expanded
            auto successor = space_.successors[0];
            if (!successor.is_new) continue;
            space_.set_parent(successor.id, entry.state, entry.op,
                              space_.extended(space_.nodes[entry.state].g, entry.op));
            ids_.push_back(successor.id);
        }
    }

    // Evaluates and expands the states in ids_.
    void process() {
        auto& counters = space_.result.counters;
        counters.evaluations += ids_.size();
        bool want_preferred = space_.options.use_preferred && space_.evaluator.has_preferred_operators();
        space_.evaluate(ids_, want_preferred);
        for (size_t i = 0; i < ids_.size(); ++i) {
            StateId id = ids_[i];
            if (space_.nodes[id].status == kDead) continue;
            if (space_.is_goal(id)) {
                space_.finish(id);
                done_ = true;
                return;
            }
            float h = space_.last_value(i);
            if (h < best_h_) {
                best_h_ = h;
                turn_[1] -= space_.options.boost;
            }
            space_.nodes[id].status = kClosed;
            ++counters.expanded;
            const auto& ops = space_.applicable_operators(id);
            counters.generated += ops.size();
            OpenKey key{h, 0};
            for (int op : ops) open_[0].push(key, {id, op});
            if (want_preferred)
                for (int op : space_.preferred[static_cast<int>(i)]) open_[1].push(key, {id, op});
        }
    }

    SearchSpace& space_;
    std::array<OpenList<OpenEntry>, 2> open_;  // all operators, preferred operators
    std::array<int64_t, 2> turn_{0, 0};
    std::vector<StateId> ids_;
    std::vector<int> one_op_;
    float best_h_ = kDeadEnd;
    bool done_ = false;
};

}  // namespace

void search_lazily(SearchSpace& space) {
    LazySearch(space).run();
}

}  // namespace hstar
