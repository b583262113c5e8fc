// What best-first search works on: states, nodes, evaluation in batches, plan extraction, limits.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "runtime/rows.hpp"
#include "search/open_list.hpp"
#include "search/search.hpp"
#include "task/packing.hpp"
#include "task/registry.hpp"

namespace hstar {

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

class SearchSpace {
  public:
    SearchSpace(const StateSpace& space, std::vector<Evaluator*> evaluators, const SearchOptions& options)
        : space(space),
          evaluators(std::move(evaluators)),
          num_values(this->evaluators.size() - static_cast<size_t>(options.advisers)),
          options(options),
          packing(space.packing()),
          registry(packing),
          row_bytes_(packing.buffer_bytes()),
          clock_(options.limits) {
        buffer_.resize(row_bytes_);
        if (space.num_operators() >= static_cast<int>(kNoOperator))
            throw std::length_error("more than a billion operators");
        bool trivial = true;
        for (size_t e = 0; e < num_values; ++e) trivial &= this->evaluators[e]->is_trivial();
        keep_h_ = options.use_h && (!trivial || options.local_steps);
        batch_h_.resize(this->evaluators.size());
        preferred.resize(this->evaluators.size());
        wants_preferred.resize(this->evaluators.size());
        for (const Queue& queue : options.queues)
            if (queue.only_preferred() && this->evaluators[queue.preferred_by]->has_preferred_operators())
                wants_preferred[queue.preferred_by] = true;
        for (size_t e = 0; e < num_values; ++e) has_edge_values |= this->evaluators[e]->is_of_edges();
        if (options.ranked)
            for (Evaluator* evaluator : this->evaluators)
                if (!ranker_ && evaluator->ranks_operators()) ranker_ = evaluator;
        if (options.look_ahead)
            for (size_t e = 0; e < this->evaluators.size() && planner_ == nullptr; ++e)
                if (wants_preferred[e] && this->evaluators[e]->has_ways()) planner_ = this->evaluators[e];
        if (planner_) planner_->write_ways_to(&ways);  // last, so that the destructor ends it
    }
    ~SearchSpace() {
        if (planner_) planner_->write_ways_to(nullptr);
    }
    SearchSpace(const SearchSpace&) = delete;
    SearchSpace& operator=(const SearchSpace&) = delete;

    const StateSpace& space;
    const std::vector<Evaluator*> evaluators;
    const size_t num_values;       // per state: one by each evaluator that is no adviser
    bool has_edge_values = false;  // whether one of them is of edges
    const SearchOptions& options;
    const Packing& packing;
    StateRegistry registry;
    ChunkedArray<Node> nodes;
    SearchResult result;
    std::vector<Rows<int>> preferred;   // per evaluator: what it preferred in the states given to it last
    Rows<int> ways;                     // how far relaxed plans of the same states go, if they are followed
    std::vector<bool> wants_preferred;  // per evaluator: whether a queue holds only preferred operators

    struct Successor {
        int op;
        StateId id;
        bool is_new;
    };
    std::vector<Successor> successors;

    // Registers the initial state.
    StateId insert_initial() {
        packing.pack(space.initial_state.data(), buffer_.data());
        auto [id, is_new] = registry.insert(buffer_.data(), registry.hash(buffer_.data()));
        add_node(id, {kNoState, kNoOperator, kSeen, 0});
        return id;
    }

    // Generates all successors of a state and registers them; `successors` lists them in operator order.
    void generate(StateId id) { generate_with(applicable_operators(id)); }

    // The successors by the given operators, all applicable in the state last loaded.
    void generate_with(const std::vector<int>& ops) {
        // Several passes, so that the cache misses of the hash table and of the rows overlap.
        size_t count = ops.size();
        buffer_.resize((count + 1) * row_bytes_);
        hashes_.resize(count);
        space.apply(ops, parent_buffer_.data(), buffer_.data(), row_bytes_);
        for (size_t i = 0; i < count; ++i) {
            hashes_[i] = registry.hash(buffer_.data() + i * row_bytes_);
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

    // Takes steps from a state, one after the other, and returns where they lead. The states on the way are
    // registered; new ones get their parents, and nothing else. All count as generated.
    StateId walk(StateId state, std::span<const int> steps) {
        for (int op : steps) {
            load(state);
            generate_with({op});
            const auto [_, child, is_new] = successors[0];
            if (is_new) set_parent(child, state, op, extended(nodes[state].g, op));
            state = child;
        }
        return state;
    }

    void load(StateId id) {
        parent_buffer_.assign(row_bytes_, 0);
        std::memcpy(parent_buffer_.data(), registry.row(id), packing.num_bytes());
    }

    const std::vector<int>& applicable_operators(StateId id) {
        load(id);
        space.applicable(parent_buffer_.data(), ops_);
        reorder(ops_);
        return ops_;
    }
    // The same in the order in which to try them, if they are not all tried at once.
    const std::vector<int>& operators_to_try(StateId id) {
        applicable_operators(id);
        if (ranker_) rank();
        return ops_;
    }

    bool is_goal(StateId id) const { return space.is_goal(registry.row(id)); }

    // Evaluates states that were not evaluated before. A state is a dead end if a safe evaluator says so, or
    // if all do. If the states are expanded next, `preferred` is filled as well.
    void evaluate(const std::vector<StateId>& ids, bool are_expanded = false) {
        if (ids.empty()) return;
        unpack(ids);
        const size_t asked = are_expanded ? evaluators.size() : num_values;
        for (size_t e = 0; e < asked; ++e) compute(e, ids, are_expanded && wants_preferred[e]);
        for (size_t i = 0; i < ids.size(); ++i) {
            bool proved = false, all = true;
            for (size_t e = 0; e < asked; ++e) {
                const bool is_dead = batch_h_[e][i] == kDeadEnd;
                proved |= is_dead && evaluators[e]->is_safe();
                if (e >= num_values) continue;
                if (keep_h_) h_[ids[i] * num_values + e] = batch_h_[e][i];
                all &= is_dead;
            }
            if (!all && !proved) continue;
            unproven_ |= !proved;
            bury(ids[i]);
        }
        result.counters.evaluated += ids.size();
    }

    // Whether a state was left out without a proof that it has no plan.
    bool has_unproven_dead_ends() const { return unproven_; }

    // Fills `preferred` for states evaluated before. An adviser sees them for the first time, and may prove
    // some to be dead ends.
    void find_preferred(const std::vector<StateId>& ids) {
        unpack(ids);
        for (size_t e = 0; e < evaluators.size(); ++e) {
            if (!wants_preferred[e]) continue;
            compute(e, ids, true);
            if (e < num_values || !evaluators[e]->is_safe()) continue;
            for (size_t i = 0; i < ids.size(); ++i)
                if (batch_h_[e][i] == kDeadEnd && nodes[ids[i]].status != kDead) bury(ids[i]);
        }
    }

    // The value of a state evaluated before, or NaN if it still waits for evaluation.
    float value(StateId id, size_t e = 0) {
        if (!options.use_h) return 0;
        if (keep_h_) return h_[id * num_values + e];
        float value;
        values_.resize(std::max(1, space.num_variables()));
        packing.unpack(registry.row(id), values_.data());
        evaluators[e]->evaluate({values_.data(), 1, space.num_variables()}, &value, nullptr);
        return value;
    }
    void set_value(StateId id, size_t e, float h) { h_[id * num_values + e] = h; }

    // What evaluator e, which is of edges, says of edges from a state; valid until the next call.
    const std::vector<float>& edge_values(size_t e, StateId parent, std::span<const Successor> edges) {
        edge_h_.resize(edges.size());
        if (edges.empty()) return edge_h_;
        clock_.check();
        edge_children_.clear();
        child_ops_.clear();
        for (const Successor& edge : edges) {
            edge_children_.push_back(edge.id);
            child_ops_.push_back(edge.op);
        }
        unpack(edge_children_);
        const int count = static_cast<int>(edges.size());
        expansions_.assign(1, {registry.row(parent), 0, count});
        const StateBatch children{values_.data(), count, space.num_variables()};
        evaluators[e]->evaluate_expansions({children, expansions_, child_ops_, packing}, edge_h_.data(),
                                           nullptr);
        return edge_h_;
    }

    // Of the states given to evaluate() last.
    float last_value(size_t i, size_t e = 0) const { return options.use_h ? batch_h_[e][i] : 0; }

    OpenKey key(int g, float h) const {
        return {options.g_weight * g + options.h_weight * h, options.tie_by_h ? h : 0};
    }

    // The cost of a path, one step longer.
    int extended(int g, int op) const {
        int64_t sum = static_cast<int64_t>(g) + space.cost(op);
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

    // Once true, successors are left out, and running out of nodes proves nothing.
    bool at_evaluation_limit() {
        const uint64_t limit = options.max_evaluations;
        if (!limit || result.counters.evaluations < limit) return false;
        return has_left_out_ = true;
    }
    bool has_left_out() const { return has_left_out_; }

    // True: a limit on evaluations or expansions is reached. Throws Stopped for other limits.
    bool exhausted() {
        clock_.check();
        return options.is_spent(result.counters.evaluations, result.counters.expanded);
    }

  private:
    void bury(StateId id) {
        ++result.counters.deadends;
        nodes[id].status = kDead;
    }

    void add_node(StateId id, Node node) {
        nodes.grow_to(static_cast<size_t>(id) + 1);
        nodes[id] = node;
        if (!keep_h_) return;
        size_t end = (static_cast<size_t>(id) + 1) * num_values;
        h_.grow_to(end);
        for (size_t i = end - num_values; i < end; ++i) h_[i] = kNotEvaluated;
    }

    void unpack(const std::vector<StateId>& ids) {
        int variables = space.num_variables();
        values_.resize(ids.size() * std::max(1, variables));
        for (size_t i = 0; i < ids.size(); ++i)
            packing.unpack(registry.row(ids[i]), values_.data() + i * variables);
    }

    // Fills batch_h_[e], and preferred[e] if wanted, for states that were unpacked.
    void compute(size_t e, const std::vector<StateId>& ids, bool want_preferred) {
        batch_h_[e].resize(ids.size());
        preferred[e] = Rows<int>();
        if (evaluators[e] == planner_) ways = Rows<int>();
        Rows<int>* rows = want_preferred ? &preferred[e] : nullptr;
        int variables = space.num_variables();
        Evaluator& evaluator = *evaluators[e];
        const size_t slice = static_cast<size_t>(evaluator.slice());
        for (size_t first = 0; first < ids.size(); first += std::min(slice, ids.size() - first)) {
            clock_.check();
            size_t count = std::min(slice, ids.size() - first);
            StateBatch batch{values_.data() + first * variables, static_cast<int>(count), variables};
            float* h = batch_h_[e].data() + first;
            if (evaluator.is_trivial())
                evaluator.evaluate(batch, h, rows);
            else
                evaluator.evaluate_expansions(expanded(batch, ids.data() + first), h, rows);
        }
        if (!rows || !options.seed) return;
        for (size_t i = 0; i < ids.size(); ++i)
            reorder({rows->data.data() + rows->offset[i], rows->data.data() + rows->offset[i + 1]});
    }

    // A batch with the parents and operators of its states.
    ExpansionBatch expanded(const StateBatch& batch, const StateId* ids) {
        expansions_.clear();
        child_ops_.clear();
        StateId last = kNoState;
        for (int i = 0; i < batch.count; ++i) {
            const Node& node = nodes[ids[i]];
            if (i == 0 || node.parent != last) {
                last = node.parent;
                expansions_.push_back({last == kNoState ? nullptr : registry.row(last), i, 0});
            }
            ++expansions_.back().count;
            child_ops_.push_back(static_cast<int>(node.op));
        }
        return {batch, expansions_, child_ops_, packing};
    }

    // Sorts operators into the random order of the seed, the same on every machine, if there is one.
    void reorder(std::span<int> ops) const {
        const auto place = [&](int op) { return std::pair(hash_ints(&op, 1, options.seed), op); };
        if (options.seed) std::ranges::sort(ops, {}, place);
    }

    // Sorts ops_, the operators of the state last loaded, by their ranks.
    void rank() {
        values_.resize(std::max(1, space.num_variables()));
        packing.unpack(parent_buffer_.data(), values_.data());
        ranks_.resize(ops_.size());
        ranker_->rank_operators(values_.data(), ops_, ranks_.data());
        ranked_.clear();
        for (size_t i = 0; i < ops_.size(); ++i) ranked_.emplace_back(ranks_[i], ops_[i]);
        std::ranges::stable_sort(ranked_, {}, &std::pair<float, int>::first);
        for (size_t i = 0; i < ops_.size(); ++i) ops_[i] = ranked_[i].second;
    }

    Evaluator* planner_ = nullptr;  // has the relaxed plans that are followed
    Evaluator* ranker_ = nullptr;   // ranks the operators of a state
    std::vector<float> ranks_;
    std::vector<std::pair<float, int>> ranked_;  // operators
    size_t row_bytes_;
    LimitClock clock_;
    bool keep_h_ = false, unproven_ = false, has_left_out_ = false;
    ChunkedArray<float> h_;  // per state and evaluator, once evaluated
    std::vector<unsigned char> buffer_, parent_buffer_;
    std::vector<int> ops_, values_, child_ops_;
    std::vector<Expansion> expansions_;
    std::vector<uint64_t> hashes_;
    std::vector<std::vector<float>> batch_h_;  // per evaluator
    std::vector<StateId> edge_children_;
    std::vector<float> edge_h_;
};

// Fills space.result.
void search_best_first(SearchSpace& space);

}  // namespace hstar
