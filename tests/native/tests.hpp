// What the files of the native tests share.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "search/search.hpp"
#include "task/lifted.hpp"
#include "task/task.hpp"

// Counts, and prints what failed.
void check(bool holds, const char* what, int seed);

// The settings of an algorithm, as src/hstar/algorithms.py has them.
hstar::SearchOptions options_of(const std::string& algorithm);

// With negative, conditional, quantified and disjunctive parts, and costs from 0 to 3.
std::shared_ptr<const hstar::LiftedTask> random_lifted_task(int seed);

using State = std::vector<int>;

std::vector<int> applicable_by_scan(const hstar::Task& task, const State& state);

void test_nlm(int seed);
void test_mlp(int seed);
void test_narrow(int seed);
void test_trainer(int seed);
void test_puzzles(int seed);
void test_learned_pdbs(int seed);
void test_projection(const hstar::Task& task, int seed);
void test_learned_heuristics(const hstar::Task& task, int seed);
void test_searches(const hstar::Task& task, const std::map<State, int>& states, bool complete, int seed);
void test_regression(const hstar::Task& task, const std::map<State, int>& states, int seed);
void test_wl(const hstar::Task& task, const std::map<State, int>& states, int seed);
void test_replay(int seed);
void test_rank_svm(int seed);
void test_newton(int seed);
void test_linear_deadlines();
void test_turns(int seed);
void test_rtdp(const hstar::Task& task, int seed);
void test_environment(const hstar::Task& task, int seed);
void test_expansions(const hstar::Task& task, int seed);
// How far relaxed plans go.
void test_ways(const hstar::Task& task, const std::map<State, int>& states, int seed);
// A heuristic that only prefers operators.
void test_advisers(const hstar::Task& task, bool complete, int seed);
