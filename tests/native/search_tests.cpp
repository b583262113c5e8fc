// Searches: plans lead to the goal, A* is optimal, and incremental evaluators change nothing.
#include <algorithm>
#include <set>

#include "heuristics/relaxation_heuristics.hpp"
#include "search/search.hpp"
#include "spaces/task_space.hpp"
#include "task/packing.hpp"
#include "task/successors.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

// Goal count, computed from scratch for a parent only and updated for its children by what operators change.
class IncrementalGoalCount : public Evaluator {
  public:
    explicit IncrementalGoalCount(const Task& task) : task_(task), wanted_(task.num_variables(), -1) {
        for (auto [variable, value] : task.goal) wanted_[variable] = value;
    }
    void evaluate(const StateBatch& batch, float* h, Rows<int>*) override {
        for (int i = 0; i < batch.count; ++i) h[i] = count(batch.row(i));
        from_scratch += batch.count;
    }
    void evaluate_expansions(const ExpansionBatch& batch, float* h, Rows<int>* preferred) override {
        State parent(task_.num_variables());
        for (const Expansion& expansion : batch.expansions) {
            StateBatch rows{batch.children.row(expansion.first), expansion.count, task_.num_variables()};
            if (!expansion.parent) {
                evaluate(rows, h + expansion.first, preferred);
                continue;
            }
            batch.packing.unpack(expansion.parent, parent.data());
            float before = count(parent.data());
            for (int i = expansion.first; i < expansion.first + expansion.count; ++i) {
                h[i] = before;
                std::set<int> changed;
                for (auto [variable, value] : task_.effects[batch.ops[i]]) changed.insert(variable);
                for (const auto& e : task_.conditional[batch.ops[i]]) changed.insert(e.effect.variable);
                for (int v : changed)
                    if (wanted_[v] >= 0)
                        h[i] += (parent[v] == wanted_[v]) - (batch.children.row(i)[v] == wanted_[v]);
            }
        }
    }
    int from_scratch = 0;

  private:
    float count(const int* values) const {
        if (task_.goal_is_false) return kDeadEnd;
        float open = 0;
        for (auto [variable, value] : task_.goal) open += values[variable] != value;
        return open;
    }
    const Task& task_;
    std::vector<int> wanted_;
};

// h^FF, which counts the states it is asked about.
class CountedFF : public Evaluator {
  public:
    explicit CountedFF(const Task& task) : ff_(make_evaluator("ff", task, CostType::Normal)) {}
    void evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) override {
        asked += static_cast<uint64_t>(batch.count);
        ff_->evaluate(batch, h, preferred);
    }
    bool has_preferred_operators() const override { return true; }
    uint64_t asked = 0;

  private:
    std::unique_ptr<Evaluator> ff_;
};

}  // namespace

SearchOptions options_of(const std::string& algorithm) {
    SearchOptions options;
    if (algorithm == "astar" || algorithm == "wastar") {
        options.g_weight = 1;
        options.h_weight = algorithm == "wastar" ? 2 : 1;
        options.tie_by_h = options.reopen = true;
        options.early_goal_test = false;
    }
    options.look_ahead = algorithm == "look-ahead";
    options.lazy = algorithm == "lazy" || options.look_ahead;
    if (options.lazy) options.queues = {{0}, {0, 0}};
    options.local_steps = algorithm == "gbfls" ? 50 : 0;
    options.use_h = algorithm != "bfs";
    options.width = algorithm == "beam" ? 2 : 0;
    options.deepen = algorithm == "idastar";
    return options;
}

void test_searches(const Task& task, const std::map<State, int>& states, bool complete, int seed) {
    SuccessorGenerator generator(task);
    int best = -1;
    for (const auto& [state, distance] : states)
        if (task.is_goal(state.data()) && (best < 0 || distance < best)) best = distance;
    TaskSpace space(task, generator, task.initial_state);
    for (const char* algorithm : {"gbfs", "lazy", "look-ahead", "astar", "wastar", "gbfls", "bfs", "beam"})
        for (const std::string name : {"blind", "goalcount", "hmax", "hadd", "ff", "lmcut"})
            for (int batch : {1, 3}) {
                SearchOptions options = options_of(algorithm);
                options.batch = batch;
                options.max_expansions = 20000;
                auto evaluator = make_evaluator(name, task, CostType::Normal);
                SearchResult result = run_search(space, {evaluator.get()}, options);
                if (result.status != SearchStatus::Solved) {
                    if (complete) check(best < 0, "a search without a plan means there is none", seed);
                    continue;
                }
                State state = task.initial_state, next(task.num_variables());
                int cost = 0;
                bool executable = true;
                for (int op : result.plan) {
                    auto ops = applicable_by_scan(task, state);
                    executable &= std::binary_search(ops.begin(), ops.end(), op);
                    task.apply(op, state.data(), next.data());
                    state = next;
                    cost += task.cost[op];
                }
                check(executable && task.is_goal(state.data()), "the plan leads to the goal", seed);
                bool admissible = name == "blind" || name == "hmax" || name == "lmcut";
                if (complete && admissible && std::string(algorithm) == "astar")
                    check(cost == best, "A* with an admissible heuristic is optimal", seed);
            }
}

void test_expansions(const Task& task, int seed) {
    SuccessorGenerator generator(task);
    TaskSpace space(task, generator, task.initial_state);
    for (const char* algorithm : {"gbfs", "lazy", "look-ahead", "astar", "gbfls", "beam"})
        for (int batch : {1, 3}) {
            SearchOptions options = options_of(algorithm);
            options.batch = batch;
            options.max_expansions = 2000;
            auto plain = make_evaluator("goalcount", task, CostType::Normal);
            IncrementalGoalCount incremental(task);
            SearchResult one = run_search(space, {plain.get()}, options);
            SearchResult two = run_search(space, {&incremental}, options);
            check(one.plan == two.plan && one.counters.expanded == two.counters.expanded &&
                      one.counters.evaluated == two.counters.evaluated && one.status == two.status,
                  "an incremental evaluator searches as the plain one", seed);
            check(incremental.from_scratch == 1, "only the initial state has no parent", seed);
        }
}

void test_advisers(const Task& task, bool complete, int seed) {
    SuccessorGenerator generator(task);
    TaskSpace space(task, generator, task.initial_state);
    for (const char* algorithm : {"gbfs", "lazy", "beam"})
        for (int batch : {1, 3}) {
            SearchOptions options = options_of(algorithm);
            options.batch = batch;
            options.max_expansions = 20000;
            auto goals = make_evaluator("goalcount", task, CostType::Normal);
            options.queues = {{0}};
            SearchResult alone = run_search(space, {goals.get()}, options);
            options.queues = {{0}, {0, 1}};
            options.advisers = 1;
            CountedFF ff(task);
            SearchResult advised = run_search(space, {goals.get(), &ff}, options);
            if (complete)
                check(alone.status == advised.status, "an adviser loses no plan and invents none", seed);
            check(ff.asked <= advised.counters.expanded + advised.counters.deadends + 3,
                  "an adviser is asked about expanded states only", seed);
        }
}

void test_ways(const Task& task, const std::map<State, int>& states, int seed) {
    RelaxationHeuristic one_by_one(task, CostType::One, RelaxationHeuristic::Kind::FF);
    RelaxationHeuristic side_by_side(task, CostType::One, RelaxationHeuristic::Kind::FF);
    one_by_one.set_wide_threshold(1000);
    std::vector<int> values;
    int count = 0;
    for (const auto& [state, distance] : states) {
        if (++count > 40) break;
        values.insert(values.end(), state.begin(), state.end());
    }
    count = std::min(count, 40);
    const StateBatch batch{values.data(), count, task.num_variables()};
    std::vector<float> h(static_cast<size_t>(count));
    Rows<int> ways, others;
    for (auto [heuristic, rows] : {std::pair(&one_by_one, &ways), std::pair(&side_by_side, &others)}) {
        Rows<int> preferred;
        heuristic->write_ways_to(rows);
        heuristic->evaluate(batch, h.data(), &preferred);
        heuristic->write_ways_to(nullptr);
        Rows<int> again;
        heuristic->evaluate(batch, h.data(), &again);
        check(rows->size() == count && preferred.data == again.data, "each state has one way", seed);
    }
    check(ways.data == others.data && ways.offset == others.offset, "ways are the same side by side", seed);
    for (int i = 0; i < count; ++i) {
        State state(batch.row(i), batch.row(i) + task.num_variables()), next(state.size());
        bool is_goal = task.is_goal(state.data());
        check(!is_goal || ways[i].empty(), "nothing is done in a goal", seed);
        for (int op : ways[i]) {
            auto ops = applicable_by_scan(task, state);
            check(std::binary_search(ops.begin(), ops.end(), op), "each step is applicable", seed);
            check(!is_goal, "a way ends in the first goal", seed);
            task.apply(op, state.data(), next.data());
            std::swap(state, next);
            is_goal = task.is_goal(state.data());
        }
    }
}
