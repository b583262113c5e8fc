// Native tests of the core, run plainly and under the address and undefined-behaviour sanitizers.
// Random lifted tasks go through the whole pipeline; each part is compared with a plain version of itself.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "grounding/finite_domain.hpp"
#include "heuristics/relaxation_heuristics.hpp"
#include "search/open_list.hpp"
#include "search/search.hpp"
#include "spaces/task_space.hpp"
#include "task/packing.hpp"
#include "task/registry.hpp"
#include "task/successors.hpp"
#include "tests.hpp"

using namespace hstar;

static int g_passed = 0, g_failed = 0;

void check(bool holds, const char* what, int seed) {
    (holds ? g_passed : g_failed) += 1;
    if (!holds) std::printf("FAILED (seed %d): %s\n", seed, what);
}

namespace {

// Random lifted tasks with negative, conditional, quantified and disjunctive parts, and costs from 0 to 3.
class RandomTask {
  public:
    explicit RandomTask(int seed) : random_(seed) {
        auto lifted = std::make_shared<LiftedTask>();
        int num_objects = number(2, 4), num_predicates = number(2, 4);
        for (int i = 0; i < num_objects; ++i) lifted->objects.push_back("o" + std::to_string(i));
        for (int i = 0; i < num_predicates; ++i) {
            lifted->predicates.push_back("p" + std::to_string(i));
            lifted->predicate_arity.push_back(number(0, 2));
        }
        std::vector<int> all, some;
        for (int i = 0; i < num_objects; ++i) {
            all.push_back(i);
            if (i % 2 == 0) some.push_back(i);
        }
        lifted->type_sets = {all, some};
        lifted_ = lifted;
        int num_actions = number(2, 5);
        for (int a = 0; a < num_actions; ++a) {
            lifted->actions.push_back("a" + std::to_string(a));
            ActionSchema schema;
            schema.action = a;
            int arity = number(0, 2);
            lifted->action_arity.push_back(arity);
            for (int i = 0; i < arity; ++i) schema.parameter_types.push_back(number(0, 1));
            schema.precondition = condition(arity, number(0, 2));
            for (int i = number(1, 3); i > 0; --i) {
                EffectSchema effect;
                int variables = arity;
                if (number(0, 4) == 0) effect.variable_types.push_back(number(0, 1)), ++variables;
                if (number(0, 2) == 0) effect.condition = condition(variables, number(1, 2));
                effect.atom = literal(variables);
                schema.effects.push_back(effect);
            }
            schema.cost = number(0, 3);
            lifted->schemas.push_back(schema);
        }
        for (int p = 0; p < num_predicates; ++p) {
            std::vector<int> args(lifted->predicate_arity[p], 0);
            int tuples = 1;
            for (size_t i = 0; i < args.size(); ++i) tuples *= num_objects;
            for (int t = 0; t < tuples; ++t) {
                if (number(0, 2) != 0) continue;
                lifted->init.push_back(p);
                int rest = t;
                for (size_t i = 0; i < args.size(); ++i, rest /= num_objects)
                    lifted->init.push_back(rest % num_objects);
            }
        }
        for (int i = number(1, 4) == 1 ? 2 : 1; i > 0; --i)
            lifted->goals.push_back({{}, condition(0, number(1, 2))});
    }

    std::shared_ptr<const LiftedTask> lifted() const { return lifted_; }

  private:
    int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
    Term term(int variables) {
        int objects = static_cast<int>(lifted_->objects.size());
        return variables > 0 && number(0, 3) > 0 ? number(0, variables - 1) : ~number(0, objects - 1);
    }
    Literal literal(int variables) {
        Literal result;
        result.predicate = number(0, static_cast<int>(lifted_->predicates.size()) - 1);
        result.negated = number(0, 2) == 0;
        for (int i = 0; i < lifted_->predicate_arity[result.predicate]; ++i)
            result.args.push_back(term(variables));
        return result;
    }
    Condition condition(int variables, int count) {
        Condition result;
        for (int i = 0; i < count; ++i) result.literals.push_back(literal(variables));
        if (variables == 2 && number(0, 3) == 0) result.literals.push_back({kEquality, true, {0, 1}});
        if (number(0, 5) == 0) {
            Formula body;
            body.kind = Formula::Kind::Or;
            for (int i = 0; i < 2; ++i) {
                Formula part;
                part.kind = Formula::Kind::Literal;
                part.literal = literal(variables + 1);
                body.parts.push_back(part);
            }
            Formula forall;
            forall.kind = number(0, 1) ? Formula::Kind::Forall : Formula::Kind::Exists;
            forall.variables = {variables};
            forall.variable_types = {number(0, 1)};
            forall.parts = {body};
            result.formulas.push_back(forall);
        }
        return result;
    }

    std::mt19937 random_;
    std::shared_ptr<LiftedTask> lifted_;
};

using State = std::vector<int>;

std::vector<int> applicable_by_scan(const Task& task, const State& state) {
    std::vector<int> ops;
    for (int op = 0; op < task.num_operators(); ++op) {
        auto pre = task.pre[op];
        if (std::all_of(pre.begin(), pre.end(), [&](Assignment a) { return state[a.variable] == a.value; }))
            ops.push_back(op);
    }
    return ops;
}

// All reachable states (up to a limit) with their distance from the initial state by uniform-cost search.
std::map<State, int> reachable(const Task& task, size_t limit) {
    std::map<State, int> distance{{task.initial_state, 0}};
    std::set<std::pair<int, State>> open{{0, task.initial_state}};
    State successor(task.num_variables());
    while (!open.empty() && distance.size() < limit) {
        auto [d, state] = *open.begin();
        open.erase(open.begin());
        for (int op : applicable_by_scan(task, state)) {
            task.apply(op, state.data(), successor.data());
            auto [it, is_new] = distance.try_emplace(successor, d + task.cost[op]);
            if (!is_new && it->second <= d + task.cost[op]) continue;
            open.erase({it->second, successor});
            it->second = d + task.cost[op];
            open.insert({it->second, successor});
        }
    }
    return distance;
}

void test_successors_and_packing(const Task& task, const std::map<State, int>& states, int seed) {
    SuccessorGenerator generator(task);
    Packing packing(task.domain_size);
    StateRegistry registry(packing);
    std::vector<unsigned char> buffer(packing.buffer_bytes());
    State unpacked(task.num_variables());
    bool same_ops = true, same_state = true, is_unique = true;
    for (int round = 0; round < 2; ++round)
        for (const auto& [state, distance] : states) {
            std::vector<int> ops;
            generator.applicable([&](int v) { return state[v]; }, ops);
            std::sort(ops.begin(), ops.end());
            same_ops &= ops == applicable_by_scan(task, state);
            packing.pack(state.data(), buffer.data());
            packing.unpack(buffer.data(), unpacked.data());
            same_state &= unpacked == state;
            auto [id, is_new] = registry.insert(buffer.data(), registry.hash(buffer.data()));
            is_unique &= is_new == (round == 0);
            packing.unpack(registry.row(id), unpacked.data());
            same_state &= unpacked == state;
        }
    check(same_ops, "the successor generator finds the applicable operators", seed);
    check(same_state, "packing and unpacking a state gives it back", seed);
    check(is_unique && registry.size() == states.size(), "the registry stores each state once", seed);
}

void test_wide_equals_single(const Task& task, const std::map<State, int>& states, int seed) {
    std::vector<int> values;
    int count = 0;
    for (const auto& [state, distance] : states) {
        values.insert(values.end(), state.begin(), state.end());
        if (++count == 75) break;
    }
    values.resize(std::max<size_t>(1, values.size()));
    StateBatch batch{values.data(), count, task.num_variables()};
    for (CostType cost : {CostType::Normal, CostType::One, CostType::PlusOne})
        for (auto kind : {RelaxationHeuristic::Kind::Max, RelaxationHeuristic::Kind::Add,
                          RelaxationHeuristic::Kind::FF}) {
            RelaxationHeuristic heuristic(task, cost, kind);
            std::vector<float> single(count), wide(count);
            Rows<int> single_preferred, wide_preferred;
            heuristic.set_wide_threshold(1000);
            heuristic.evaluate(batch, single.data(), &single_preferred);
            heuristic.set_wide_threshold(1);
            heuristic.evaluate(batch, wide.data(), &wide_preferred);
            check(single == wide, "32 states at once have the values they have alone", seed);
            check(single_preferred.data == wide_preferred.data &&
                      single_preferred.offset == wide_preferred.offset,
                  "32 states at once have the preferred operators they have alone", seed);
        }
}

void test_searches(const Task& task, const std::map<State, int>& states, bool complete, int seed) {
    SuccessorGenerator generator(task);
    int best = -1;
    for (const auto& [state, distance] : states)
        if (task.is_goal(state.data()) && (best < 0 || distance < best)) best = distance;
    TaskSpace space(task, generator, task.initial_state);
    for (const char* algorithm : {"gbfs", "lazy", "astar", "wastar", "gbfls", "bfs"})
        for (const char* name : {"blind", "goalcount", "hmax", "hadd", "ff", "lmcut"})
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

void test_expansions(const Task& task, int seed) {
    SuccessorGenerator generator(task);
    TaskSpace space(task, generator, task.initial_state);
    for (const char* algorithm : {"gbfs", "lazy", "astar", "gbfls"})
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

void test_lmcut_is_admissible(const Task& task, const std::map<State, int>& states, int seed) {
    // Exact goal distances by relaxing all transitions until nothing changes.
    std::map<State, int> exact;
    const int infinity = 1'000'000;
    for (const auto& [state, distance] : states) exact[state] = task.is_goal(state.data()) ? 0 : infinity;
    State next(task.num_variables());
    for (bool changed = true; changed;) {
        changed = false;
        for (auto& [state, value] : exact)
            for (int op : applicable_by_scan(task, state)) {
                task.apply(op, state.data(), next.data());
                int through = exact.at(next) + task.cost[op];
                if (through < value) value = through, changed = true;
            }
    }
    auto lmcut = make_evaluator("lmcut", task, CostType::Normal);
    auto hmax = make_evaluator("hmax", task, CostType::Normal);
    bool admissible = true, dominates = true;
    for (const auto& [state, value] : exact) {
        float h, m;
        lmcut->evaluate({state.data(), 1, task.num_variables()}, &h, nullptr);
        hmax->evaluate({state.data(), 1, task.num_variables()}, &m, nullptr);
        admissible &= h <= static_cast<float>(value) || value == infinity;
        dominates &= h >= m;
    }
    check(admissible, "LM-cut never exceeds the exact distance", seed);
    check(dominates, "LM-cut is at least h^max", seed);
}

// Keys of few values stay in buckets, real ones make a heap; the order is the same.
void test_open_list(bool few_values) {
    std::mt19937 random(1);
    OpenList<uint32_t> open;
    std::multimap<std::pair<double, float>, uint32_t> plain;  // equal keys keep insertion order
    bool same = true;
    for (uint32_t i = 0; i < 20000; ++i) {
        if (random() % 3 && !(open.size() > 500 && few_values)) {
            double f = few_values ? random() % 20 : random() % 4000 / 7.0;
            float h = static_cast<float>(random() % 5);
            open.push({f, h}, i);
            plain.emplace(std::pair{f, h}, i);
        } else if (!open.empty()) {
            same &= open.pop() == plain.begin()->second;
            plain.erase(plain.begin());
        }
    }
    check(same, "the open list pops by key, first in first out among equals", 0);
    check(open.is_heap() != few_values, "a list becomes a heap when most keys differ", 0);
}

}  // namespace

SearchOptions options_of(const std::string& algorithm) {
    SearchOptions options;
    if (algorithm == "astar" || algorithm == "wastar") {
        options.g_weight = 1;
        options.h_weight = algorithm == "wastar" ? 2 : 1;
        options.tie_by_h = options.reopen = true;
        options.early_goal_test = false;
    }
    options.lazy = algorithm == "lazy";
    if (options.lazy) options.queues = {{0, false}, {0, true}};
    options.lookahead = algorithm == "gbfls" ? 50 : 0;
    options.use_h = algorithm != "bfs";
    options.deepen = algorithm == "idastar";
    return options;
}

int main(int argc, char** argv) {
    int count = argc > 1 ? std::atoi(argv[1]) : 300;
    test_open_list(true);
    test_open_list(false);
    for (int seed = 0; seed < count; ++seed) test_nlm(seed);
    for (int seed = 0; seed < count; ++seed) test_mlp(seed);
    for (int seed = 0; seed < count; ++seed) test_puzzles(seed);
    for (int seed = 0; seed < count; ++seed) test_learned_pdbs(seed);
    for (int seed = 0; seed < count; ++seed) {
        RandomTask random(seed);
        for (bool keep_irrelevant : {true, false}) {
            Task task = ground(random.lifted(), GroundingOptions{keep_irrelevant}, Limits());
            constexpr size_t kLimit = 400;
            auto states = reachable(task, kLimit);
            bool complete = states.size() < kLimit;
            test_successors_and_packing(task, states, seed);
            test_wide_equals_single(task, states, seed);
            test_learned_heuristics(task, seed);
            test_projection(task, seed);
            test_searches(task, states, complete, seed);
            test_expansions(task, seed);
            if (complete) test_lmcut_is_admissible(task, states, seed);
        }
    }
    std::printf("%d passed, %d failed\n", g_passed, g_failed);
    return g_failed > 0;
}
