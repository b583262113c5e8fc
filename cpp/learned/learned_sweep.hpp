// Every state of a pattern, its learned value against the exact one.
//
// Work goes over ranges of indices in chunks; all results are counts and sorted lists, so they depend neither
// on the number of threads nor on the size of the chunks. Indices that the exact table does not reach are
// counted and skipped: nothing can be overestimated there. Where symmetric states share an index, an index
// counts as often as it stands for states.
#pragma once
#include "learned/learned_pdb.hpp"

namespace hstar {

// Where a sweep goes, and what it keeps to.
struct SweepOrder {
    uint64_t first, end;  // indices
    int threads, chunk;
    Limits limits = {};
};

// What choosing thresholds needs: `below` and `just` count indices, since each would be an exception,
// `within` the states. `grid` are thresholds in ascending order; level k of a state falls into the cell of
// the first that accepts it, or the last cell, grid.size(), if none does.
struct LevelCounts {
    std::vector<uint64_t> below;   // [level][cell]: exact class below k - 1
    std::vector<uint64_t> just;    //                exact class k - 1: level k overestimates by one
    std::vector<uint64_t> within;  //                exact class k or more: level k is right
    uint64_t states = 0, unreached = 0;
};
LevelCounts count_levels(const LearnedPdb& learned, const Pdb& exact, const SweepOrder& order,
                         const std::vector<uint64_t>& grid);

// Indices whose class, exceptions included, exceeds the exact one; list j those that exceed it by more than
// j.
std::vector<std::vector<uint64_t>> find_overestimates(const LearnedPdb& learned, const Pdb& exact,
                                                      const SweepOrder& order);

struct SweepCounts {
    std::vector<uint64_t> classes;        // how often each class is the result
    std::vector<uint64_t> overestimates;  // [exact class * classes + result]
    uint64_t states = 0, unreached = 0;
};
SweepCounts count_values(const LearnedPdb& learned, const Pdb& exact, const SweepOrder& order);

}  // namespace hstar
