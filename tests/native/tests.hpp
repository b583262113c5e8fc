// What the files of the native tests share.
#pragma once
#include <string>

#include "search/search.hpp"
#include "task/task.hpp"

// Counts, and prints what failed.
void check(bool holds, const char* what, int seed);

// The settings of an algorithm, as src/hstar/algorithms.py has them.
hstar::SearchOptions options_of(const std::string& algorithm);

void test_nlm(int seed);
void test_mlp(int seed);
void test_narrow(int seed);
void test_trainer(int seed);
void test_puzzles(int seed);
void test_learned_pdbs(int seed);
void test_projection(const hstar::Task& task, int seed);
void test_learned_heuristics(const hstar::Task& task, int seed);
