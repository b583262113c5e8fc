// Puzzles and pattern databases as Python holds them.
#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include "bindings/bindings.hpp"
#include "learned/learned_pdb.hpp"
#include "pdb/pdb.hpp"
#include "spaces/puzzle.hpp"

namespace hstar::bindings {

using Indices = Array<int64_t, 1>;
using Bytes = Array<uint8_t, 1>;

struct BoundPuzzle : BoundSpace {
    explicit BoundPuzzle(const std::string& name) : puzzle(make_puzzle(name)) {}
    std::unique_ptr<Puzzle> puzzle;

    void check_state(const int* state) const override { puzzle->check_state(state); }
    std::unique_ptr<Evaluator> make_evaluator(const std::string& name, CostType cost,
                                              const Limits& limits) const override;
    std::unique_ptr<StateSpace> make_space(Ints initial_state, const Limits& limits) const override;
    std::string operator_name(int op) const override { return puzzle->move_names[op]; }
    const Ints& domain_sizes() const override { return puzzle->domain_size; }
    const Puzzle* as_puzzle() const override { return puzzle.get(); }
};

// The index of a pattern of a puzzle or a task.
struct BoundIndex {
    const BoundSpace& space;
    std::shared_ptr<const PatternIndex> index;
    // Throws std::invalid_argument for rows whose pattern has no index.
    StateRows checked(const States& states) const;
};

struct BoundPdb {
    BoundIndex index;
    std::shared_ptr<const Pdb> pdb;
};

// Null for None.
inline std::shared_ptr<const Pdb> pdb_of(const BoundPdb* bound) {
    return bound ? bound->pdb : nullptr;
}

struct BoundLearnedPdb {
    BoundIndex index;
    std::shared_ptr<const LearnedPdb> learned;
};

// int64[B] from states that were checked.
Numpy<int64_t> rank_rows(const PatternIndex& index, const StateRows& states);
// float32[B] from states int32[B, V]. Throws std::invalid_argument for rows without an index.
Numpy<float> look_up(const BoundIndex& index, const PatternHeuristic& heuristic, States states);

}  // namespace hstar::bindings
