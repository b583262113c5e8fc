// What every search algorithm shares: states, nodes, evaluation in batches, plan extraction, limits.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "runtime/chunked_array.hpp"
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

// Parts every algorithm shares: the state space, nodes, evaluation in batches, plan extraction, limits.
class SearchSpace {
  public:
    SearchSpace(const StateSpace& space, Evaluator& evaluator, const SearchOptions& options)
        : space(space),
          evaluator(evaluator),
          options(options),
          packing(space.packing()),
          registry(packing),
          row_bytes_(packing.buffer_bytes()),
          keep_h_(options.algorithm != "bfs" && !(evaluator.is_trivial() && options.algorithm != "gbfls")) {
        buffer_.resize(row_bytes_);
        if (space.num_operators() >= static_cast<int>(kNoOperator))
            throw std::length_error("more than a billion operators");
    }

    const StateSpace& space;
    Evaluator& evaluator;
    const SearchOptions& options;
    const Packing& packing;
    StateRegistry registry;
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

    void load(StateId id) {
        parent_buffer_.assign(row_bytes_, 0);
        std::memcpy(parent_buffer_.data(), registry.row(id), packing.num_bytes());
    }

    const std::vector<int>& applicable_operators(StateId id) {
        load(id);
        space.applicable(parent_buffer_.data(), ops_);
        return ops_;
    }

    bool is_goal(StateId id) const { return space.is_goal(registry.row(id)); }

    // Evaluates states not evaluated before. Fills h and, if wanted, `preferred` with a row each.
    void evaluate(const std::vector<StateId>& ids, bool want_preferred = false) {
        if (ids.empty()) return;
        int variables = space.num_variables();
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
        values_.resize(std::max(1, space.num_variables()));
        packing.unpack(registry.row(id), values_.data());
        evaluator.evaluate({values_.data(), 1, space.num_variables()}, &result, nullptr);
        return result;
    }
    // Of the states given to evaluate() last.
    float last_value(size_t i) const { return batch_h_[i]; }

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

    size_t row_bytes_;
    bool keep_h_;
    std::vector<unsigned char> buffer_, parent_buffer_;
    std::vector<int> ops_, values_;
    std::vector<uint64_t> hashes_;
    std::vector<float> batch_h_;
    double next_check_ = 0;
};

// The algorithms: they fill space.result.
void search_eagerly(SearchSpace& space);
void search_lazily(SearchSpace& space);

}  // namespace hstar
