// IDA* on puzzles of pieces with pattern databases: the path is followed in the databases' own indices.
#pragma once
#include "pdb/pdb.hpp"
#include "search/search.hpp"
#include "spaces/puzzle.hpp"

namespace hstar {

class PieceMoves;

// One database and the moves of its pattern.
struct TrackedPattern {
    std::shared_ptr<const Pdb> pdb;
    const PieceIndex* index;
    std::shared_ptr<const PieceMoves> moves;
    AlignedVector<uint8_t> memory;  // a copy of the table, which may lie in small pages of a file
    TableView table;

    // A state in the pattern, and the cell that holds its value.
    struct Place {
        uint32_t permutation, orientation;
        uint64_t cell;
    };
    Place place(uint32_t permutation, uint32_t orientation) const;
};

// Made once for a maximum of databases, then used for any number of searches.
class PieceDeepening {
  public:
    // Null if a database has no tables of moves (a sum, a base, symmetry classes, tiles); use
    // search_deepening for those. Throws Stopped.
    static std::unique_ptr<PieceDeepening> make(const Puzzle& puzzle, const PdbEvaluator& evaluator,
                                                const Limits& limits);
    SearchResult search(const std::vector<int>& start, const SearchOptions& options) const;

  private:
    explicit PieceDeepening(const PiecePuzzle& puzzle) : puzzle_(puzzle) {}
    const PiecePuzzle& puzzle_;
    std::vector<TrackedPattern> patterns_;
};

}  // namespace hstar
