// Native tests of the core, run plainly and under the address and undefined-behaviour sanitizers.
// Random lifted tasks go through the whole pipeline; each part is compared with a plain version of itself.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "grounding/finite_domain.hpp"
#include "heuristics/relaxation_heuristics.hpp"
#include "search/open_list.hpp"
#include "search/search.hpp"
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

std::vector<int> applicable_by_scan(const Task& task, const State& state) {
    std::vector<int> ops;
    for (int op = 0; op < task.num_operators(); ++op) {
        auto pre = task.pre[op];
        if (std::all_of(pre.begin(), pre.end(), [&](Assignment a) { return state[a.variable] == a.value; }))
            ops.push_back(op);
    }
    return ops;
}

namespace {

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

int main(int argc, char** argv) {
    int count = argc > 1 ? std::atoi(argv[1]) : 300;
    test_open_list(true);
    test_open_list(false);
    test_linear_deadlines();
    for (int seed = 0; seed < count; ++seed) test_nlm(seed);
    for (int seed = 0; seed < count; ++seed) test_mlp(seed);
    for (int seed = 0; seed < count; ++seed) test_narrow(seed);
    for (int seed = 0; seed < count; ++seed) test_replay(seed);
    for (int seed = 0; seed < count; ++seed) test_rank_svm(seed);
    for (int seed = 0; seed < count; ++seed) test_newton(seed);
    for (int seed = 0; seed < count; ++seed) test_turns(seed);
    for (int seed = 0; seed < count; ++seed) test_trainer(seed);
    for (int seed = 0; seed < count; ++seed) test_puzzles(seed);
    for (int seed = 0; seed < count; ++seed) test_learned_pdbs(seed);
    for (int seed = 0; seed < count; ++seed) {
        auto lifted = random_lifted_task(seed);
        for (bool keep_irrelevant : {true, false}) {
            Task task = ground(lifted, GroundingOptions{keep_irrelevant}, Limits());
            constexpr size_t kLimit = 400;
            auto states = reachable(task, kLimit);
            bool complete = states.size() < kLimit;
            test_successors_and_packing(task, states, seed);
            test_wide_equals_single(task, states, seed);
            test_learned_heuristics(task, seed);
            test_projection(task, seed);
            test_searches(task, states, complete, seed);
            test_expansions(task, seed);
            test_advisers(task, complete, seed);
            test_ways(task, states, seed);
            test_regression(task, states, seed);
            test_environment(task, seed);
            test_rtdp(task, seed);
            test_wl(task, states, seed);
            if (complete) test_lmcut_is_admissible(task, states, seed);
        }
    }
    std::printf("%d passed, %d failed\n", g_passed, g_failed);
    return g_failed > 0;
}
