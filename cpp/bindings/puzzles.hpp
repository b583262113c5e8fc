// Puzzles and pattern databases as Python holds them.
#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include "bindings/bindings.hpp"
#include "learned/learned_pdb.hpp"
#include "pdb/pdb.hpp"
#include "pdb/piece_walker.hpp"
#include "spaces/puzzle.hpp"

namespace hstar::bindings {

using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct BoundPuzzle {
    explicit BoundPuzzle(const std::string& name) : puzzle(make_puzzle(name)) {}
    std::unique_ptr<Puzzle> puzzle;
    // Throws std::invalid_argument for rows that are no states of the puzzle.
    void check_states(const StateRows& states) const;
};

// The index of a pattern of a puzzle or a task.
struct BoundIndex {
    nb::object owner;  // the puzzle or task
    std::shared_ptr<const PatternIndex> index;
    // Throws std::invalid_argument for rows whose pattern has no index.
    void check_states(const StateRows& states) const;
};

struct BoundPdb {
    BoundIndex index;
    std::shared_ptr<const Pdb> pdb;
};

struct BoundLearnedPdb {
    BoundIndex index;
    std::shared_ptr<const LearnedPdb> learned;
};

// int64[B] from states that were checked.
nb::object rank_rows(const PatternIndex& index, const StateRows& states);
// float32[B] from states int32[B, V]. Throws std::invalid_argument for rows without an index.
nb::object look_up(const BoundIndex& index, const PatternHeuristic& heuristic, States states);

// An evaluator of the core for a puzzle.
struct BoundPuzzleHeuristic {
    nb::object owner;  // keeps the puzzle alive
    const BoundPuzzle& bound;
    std::unique_ptr<Evaluator> evaluator;
    std::mutex mutex;
    std::unique_ptr<PieceDeepening> deepening;  // made when first needed, if the evaluator is fit for it
    bool is_prepared = false;

    BoundPuzzleHeuristic(nb::object puzzle, std::unique_ptr<Evaluator> made)
        : owner(std::move(puzzle)), bound(nb::cast<const BoundPuzzle&>(owner)), evaluator(std::move(made)) {}
};

}  // namespace hstar::bindings
