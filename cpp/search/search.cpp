#include "search/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "chunked_array.hpp"
#include "search/open_list.hpp"
#include "task/packing.hpp"
#include "task/registry.hpp"

namespace hstar {

namespace {

// kSeen: met in a look-ahead only. kOpen: in OPEN, or about to be evaluated for it.
enum Status : uint8_t { kSeen = 0, kOpen = 1, kClosed = 2, kDead = 3 };

// What search knows of a state besides the state itself.
struct Node {
    StateId parent;
    uint32_t op : 30;  // the operator that led here
    uint32_t status : 2;
    int g;
};
constexpr uint32_t kNoOperator = (1u << 30) - 1;
constexpr float kNotEvaluated = std::numeric_limits<float>::quiet_NaN();

// Parts every algorithm shares: the state space, nodes, evaluation in batches, plan extraction, limits.
class SearchSpace {
  public:
    SearchSpace(const Task& task, const SuccessorGenerator& generator, Evaluator& evaluator,
                const SearchOptions& options)
        : task(task),
          evaluator(evaluator),
          options(options),
          packing(task),
          registry(packing),
          generator(generator),
          row_bytes_(packing.buffer_bytes()),
          keep_h_(options.algorithm != "bfs" && !(evaluator.is_trivial() && options.algorithm != "gbfls")) {
        buffer_.resize(row_bytes_);
        if (task.num_operators() >= static_cast<int>(kNoOperator))
            throw std::length_error("more than a billion operators");
    }

    const Task& task;
    Evaluator& evaluator;
    const SearchOptions& options;
    Packing packing;
    StateRegistry registry;
    const SuccessorGenerator& generator;
    ChunkedArray<Node> nodes;
    ChunkedArray<float> h;  // per state, once evaluated
    SearchResult result;

    struct Successor {
        int op;
        StateId id;
        bool is_new;
    };
    std::vector<Successor> successors;

    // Registers the initial state.
    StateId insert_initial() {
        packing.pack(task.initial_state.data(), buffer_.data());
        auto [id, is_new] = registry.insert(buffer_.data(), registry.hash(buffer_.data()));
        add_node(id, {kNoState, kNoOperator, kSeen, 0});
        return id;
    }

    // Generates all successors of a state and registers them; `successors` lists them in operator order.
    void generate(StateId id) { generate_with(applicable_operators(id)); }

    // The successors by the given operators, all applicable in the state last loaded.
    void generate_with(const std::vector<int>& ops) {
        // Three passes, so that the cache misses of the hash table and of the rows overlap.
        size_t count = ops.size();
        buffer_.resize((count + 1) * row_bytes_);
        hashes_.resize(count);
        for (size_t i = 0; i < count; ++i) {
            unsigned char* row = buffer_.data() + i * row_bytes_;
            std::memcpy(row, parent_buffer_.data(), row_bytes_);
            apply(ops[i], row);
            hashes_[i] = registry.hash(row);
            registry.prefetch_slot(hashes_[i]);
        }
        for (size_t i = 0; i < count; ++i) registry.prefetch_row(hashes_[i]);
        successors.clear();
        for (size_t i = 0; i < count; ++i) {
            auto [child, is_new] = registry.insert(buffer_.data() + i * row_bytes_, hashes_[i]);
            if (is_new) add_node(child, {kNoState, kNoOperator, kSeen, 0});
            successors.push_back({ops[i], child, is_new});
        }
        result.counters.generated += count;
    }

    void load(StateId id) {
        parent_buffer_.assign(row_bytes_, 0);
        std::memcpy(parent_buffer_.data(), registry.row(id), packing.num_bytes());
        parent_row_ = parent_buffer_.data();
    }

    const std::vector<int>& applicable_operators(StateId id) {
        load(id);
        ops_.clear();
        generator.applicable([&](int variable) { return packing.get(parent_row_, variable); }, ops_);
        std::sort(ops_.begin(), ops_.end());
        return ops_;
    }

    bool is_goal(StateId id) const {
        if (task.goal_is_false) return false;
        const unsigned char* row = registry.row(id);
        for (auto [variable, value] : task.goal)
            if (packing.get(row, variable) != value) return false;
        return true;
    }

    // Evaluates states not evaluated before. Fills h and, if wanted, `preferred` with a row each.
    void evaluate(const std::vector<StateId>& ids, bool want_preferred = false) {
        if (ids.empty()) return;
        int variables = task.num_variables();
        values_.resize(ids.size() * std::max(1, variables));
        batch_h_.resize(ids.size());
        for (size_t i = 0; i < ids.size(); ++i)
            packing.unpack(registry.row(ids[i]), values_.data() + i * variables);
        preferred = Rows<int>();
        const size_t slice = static_cast<size_t>(evaluator.slice());
        for (size_t first = 0; first < ids.size(); first += std::min(slice, ids.size() - first)) {
            check_limits();
            size_t count = std::min(slice, ids.size() - first);
            evaluator.evaluate({values_.data() + first * variables, static_cast<int>(count), variables},
                               batch_h_.data() + first, want_preferred ? &preferred : nullptr);
        }
        for (size_t i = 0; i < ids.size(); ++i) {
            if (keep_h_) h[ids[i]] = batch_h_[i];
            if (batch_h_[i] == kDeadEnd) {
                ++result.counters.deadends;
                nodes[ids[i]].status = kDead;
            }
        }
        result.counters.evaluated += ids.size();
    }
    Rows<int> preferred;

    // The value of a state evaluated before, or NaN if it still waits for evaluation.
    float value(StateId id) {
        if (keep_h_) return h[id];
        float result;
        values_.resize(std::max(1, task.num_variables()));
        packing.unpack(registry.row(id), values_.data());
        evaluator.evaluate({values_.data(), 1, task.num_variables()}, &result, nullptr);
        return result;
    }
    // Of the states given to evaluate() last.
    float last_value(size_t i) const { return batch_h_[i]; }

    // The cost of a path, one step longer.
    int extended(int g, int op) const {
        int64_t sum = static_cast<int64_t>(g) + task.cost[op];
        if (sum > std::numeric_limits<int>::max())
            throw std::overflow_error(
                "a path costs more than 2^31 units; divide the action costs by a common factor");
        return static_cast<int>(sum);
    }

    // How many nodes may be expanded at once without passing a limit.
    int batch_size() const {
        uint64_t size = static_cast<uint64_t>(options.batch);
        if (options.max_expansions) size = std::min(size, options.max_expansions - result.counters.expanded);
        if (options.max_evaluations)
            size = std::min(size, options.max_evaluations - result.counters.evaluations);
        return static_cast<int>(size);
    }

    void set_parent(StateId child, StateId parent, int op, int g) {
        Node& node = nodes[child];
        node.parent = parent;
        node.op = static_cast<uint32_t>(op);
        node.g = g;
    }

    void finish(StateId goal) {
        result.status = SearchStatus::Solved;
        for (StateId id = goal; nodes[id].parent != kNoState; id = nodes[id].parent)
            result.plan.push_back(static_cast<int>(nodes[id].op));
        std::reverse(result.plan.begin(), result.plan.end());
    }

    // Throws Stopped when time or memory is spent, or a signal came.
    void check_limits() {
        double now = monotonic_seconds();
        if (now < next_check_) return;
        options.limits.check();
        next_check_ = now + 0.005;
    }

    // True: a limit on evaluations or expansions is reached.
    bool exhausted() {
        check_limits();
        const auto& c = result.counters;
        return (options.max_evaluations && c.evaluations >= options.max_evaluations) ||
               (options.max_expansions && c.expanded >= options.max_expansions);
    }

  private:
    void add_node(StateId id, Node node) {
        nodes.grow_to(static_cast<size_t>(id) + 1);
        nodes[id] = node;
        if (!keep_h_) return;
        h.grow_to(static_cast<size_t>(id) + 1);
        h[id] = kNotEvaluated;
    }

    void apply(int op, unsigned char* row) const {
        for (auto [variable, value] : task.effects[op]) packing.set(row, variable, value);
        for (const ConditionalEffect& e : task.conditional[op]) {
            bool fires = true;
            for (uint32_t i = e.condition_begin; i < e.condition_end && fires; ++i)
                fires = packing.get(parent_row_, task.effect_conditions[i].variable) ==
                        task.effect_conditions[i].value;
            if (fires) packing.set(row, e.effect.variable, e.effect.value);
        }
    }

    size_t row_bytes_;
    bool keep_h_;
    std::vector<unsigned char> buffer_, parent_buffer_;
    const unsigned char* parent_row_ = nullptr;
    std::vector<int> ops_, values_;
    std::vector<uint64_t> hashes_;
    std::vector<float> batch_h_;
    double next_check_ = 0;
};

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

SearchResult run_search(const Task& task, const SuccessorGenerator& generator, Evaluator& evaluator,
                        const SearchOptions& options) {
    double start = monotonic_seconds();
    SearchSpace space(task, generator, evaluator, options);
    try {
        if (options.algorithm == "lazy")
            LazySearch(space).run();
        else
            EagerSearch(space).run();
    } catch (const Stopped& stopped) {
        switch (stopped.reason) {
            case StopReason::Time:
                space.result.status = SearchStatus::OutOfTime;
                break;
            case StopReason::Memory:
                space.result.status = SearchStatus::OutOfMemory;
                break;
            case StopReason::Interrupt:
                space.result.status = SearchStatus::Interrupted;
                break;
            case StopReason::Terminate:
                space.result.status = SearchStatus::Terminated;
                break;
        }
    } catch (const std::bad_alloc&) {
        space.result.status = SearchStatus::OutOfMemory;
    }
    if (space.result.status == SearchStatus::Unsolvable && space.result.counters.deadends > 0 &&
        !evaluator.is_safe())
        space.result.status = SearchStatus::GaveUp;
    space.result.num_states = space.registry.size();
    space.result.state_bytes = space.packing.num_bytes();
    space.result.seconds = monotonic_seconds() - start;
    return std::move(space.result);
}

}  // namespace hstar
