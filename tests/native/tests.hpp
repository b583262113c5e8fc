// What the files of the native tests share.
#pragma once
#include "task/task.hpp"

// Counts, and prints what failed.
void check(bool holds, const char* what, int seed);

void test_nlm(int seed);
void test_mlp(int seed);
void test_puzzles(int seed);
void test_learned_pdbs(int seed);
void test_projection(const hstar::Task& task, int seed);
void test_learned_heuristics(const hstar::Task& task, int seed);
