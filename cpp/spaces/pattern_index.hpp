// Numbering of abstract states: maps the values of some variables of a state to an index into a table.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace hstar {

// Numbers partial permutations: where k pieces are among n locations.
//
// Two orders. Myrvold-Ruskey (linear time): the location of piece 0 is the least significant digit, so
// neighbours in the order differ in the location of piece 0. Lexicographic: the location of the last piece is
// the least significant digit, so neighbours share the locations of all earlier pieces.
enum class IndexOrder { MyrvoldRuskey, Lexicographic };

class PartialPermutations {
  public:
    static constexpr int kMaxLocations = 36;

    // Throws std::length_error if there are 2^62 or more of them, or too many locations.
    PartialPermutations(int locations, int pieces, IndexOrder order)
        : n_(locations), k_(pieces), order_(order), size_(1) {
        if (n_ > kMaxLocations) throw std::length_error("more than 36 locations");
        for (int i = 0; i < k_; ++i) {
            size_ *= static_cast<uint64_t>(n_ - i);
            if (size_ >= uint64_t{1} << 56) throw std::length_error("too many permutations to number them");
        }
    }

    uint64_t size() const { return size_; }
    uint64_t rank(const int* location) const {
        return order_ == IndexOrder::MyrvoldRuskey ? rank_myrvold_ruskey(location)
                                                   : rank_lexicographic(location);
    }
    void unrank(uint64_t rank, int* location) const {
        if (order_ == IndexOrder::MyrvoldRuskey) {
            Locations at;
            set_identity(at, n_);
            for (int i = 0; i < k_; ++i) {
                uint64_t radix = static_cast<uint64_t>(n_ - i);
                std::swap(at[i + static_cast<int>(rank % radix)], at[i]);
                rank /= radix;
                location[i] = at[i];
            }
            return;
        }
        int digit[kMaxLocations];
        for (int i = k_ - 1; i >= 0; --i) {
            uint64_t radix = static_cast<uint64_t>(n_ - i);
            digit[i] = static_cast<int>(rank % radix);
            rank /= radix;
        }
        Locations rest;  // free locations in ascending order
        set_identity(rest, n_);
        for (int i = 0; i < k_; ++i) {
            location[i] = rest[digit[i]];
            for (int j = digit[i]; j + 1 < n_ - i; ++j) rest[j] = rest[j + 1];
        }
    }

  private:
    using Locations = uint8_t[kMaxLocations];
    static void set_identity(Locations& items, int n) {
        for (int i = 0; i < n; ++i) items[i] = static_cast<uint8_t>(i);
    }
    uint64_t rank_myrvold_ruskey(const int* location) const {
        Locations at, position;  // at[position[x]] == x
        set_identity(at, n_);
        set_identity(position, n_);
        uint64_t rank = 0, radix = 1;
        for (int i = 0; i < k_; ++i) {
            int from = position[location[i]];
            rank += radix * static_cast<uint64_t>(from - i);
            radix *= static_cast<uint64_t>(n_ - i);
            uint8_t displaced = at[i];
            at[from] = displaced;
            position[displaced] = static_cast<uint8_t>(from);
        }
        return rank;
    }
    uint64_t rank_lexicographic(const int* location) const {
        uint64_t rank = 0, used = 0;
        for (int i = 0; i < k_; ++i) {
            uint64_t bit = uint64_t{1} << location[i];
            int smaller_used = __builtin_popcountll(used & (bit - 1));
            rank = rank * static_cast<uint64_t>(n_ - i) + static_cast<uint64_t>(location[i] - smaller_used);
            used |= bit;
        }
        return rank;
    }

    int n_, k_;
    IndexOrder order_;
    uint64_t size_;
};

// Variables that are places of pieces of one sort: the value of piece i is location * orientations +
// orientation, no two pieces share a location, and the orientations of all pieces together sum to zero.
struct PieceGroup {
    const char* name;
    int first;  // variable of the first piece
    int count;
    int locations;
    int orientations;

    // Of the first so many pieces.
    std::vector<int> variables(int pieces) const {
        std::vector<int> result(pieces);
        std::iota(result.begin(), result.end(), first);
        return result;
    }
};

class PatternIndex {
  public:
    virtual ~PatternIndex() = default;
    virtual uint64_t size() const = 0;
    // From the values of all variables of a state.
    virtual uint64_t rank(const int* state) const = 0;
    // Writes the variables of the pattern into a state and leaves the others alone.
    virtual void unrank(uint64_t rank, int* state) const = 0;
    const std::vector<int>& variables() const { return variables_; }
    // As much of a state as unrank() writes to.
    std::vector<int> scratch_state() const {
        return std::vector<int>(variables_.empty() ? 0 : 1 + *std::ranges::max_element(variables_));
    }
    // The values of the pattern's variables; if symmetric states share an index, those of the state that
    // unrank() returns.
    virtual void representative(const int* state, int* values) const {
        for (std::size_t v = 0; v < variables_.size(); ++v) values[v] = state[variables_[v]];
    }
    // Index i stands for multiplicities()[i % size] states.
    virtual std::vector<uint32_t> multiplicities() const { return {1}; }

  protected:
    explicit PatternIndex(std::vector<int> variables) : variables_(std::move(variables)) {}
    std::vector<int> variables_;
};

// index = orientations * permutations.size() + rank of the locations. The orientations are a number with the
// first piece as its most significant digit; if the pattern holds all pieces of the group, the last digit is
// implied and left out.
class PieceIndex : public PatternIndex {
  public:
    PieceIndex(const PieceGroup& group, std::vector<int> variables, IndexOrder order)
        : PatternIndex(std::move(variables)),
          group(group),
          order(order),
          permutations(group.locations, static_cast<int>(variables_.size()), order) {
        int pieces = static_cast<int>(variables_.size());
        num_digits = group.orientations == 1 ? 0 : pieces == group.count ? pieces - 1 : pieces;
        num_orientations = 1;
        for (int i = 0; i < num_digits; ++i) num_orientations *= static_cast<uint64_t>(group.orientations);
    }

    uint64_t size() const override { return permutations.size() * num_orientations; }
    uint64_t rank(const int* state) const override {
        return rank_orientation(state) * permutations.size() + rank_permutation(state);
    }
    void unrank(uint64_t rank, int* state) const override {
        unrank_parts(rank % permutations.size(), rank / permutations.size(), state);
    }

    const PieceGroup group;
    const IndexOrder order;
    const PartialPermutations permutations;
    int num_digits;             // orientations that are stored
    uint64_t num_orientations;  // group.orientations ^ num_digits

    // The same in two parts.
    uint64_t rank_permutation(const int* state) const {
        int location[PartialPermutations::kMaxLocations];
        int divisor = group.orientations;
        for (size_t i = 0; i < variables_.size(); ++i) location[i] = state[variables_[i]] / divisor;
        return permutations.rank(location);
    }
    uint64_t rank_orientation(const int* state) const {
        uint64_t orientation = 0;
        for (int i = 0; i < num_digits; ++i)
            orientation = orientation * static_cast<uint64_t>(group.orientations) +
                          static_cast<uint64_t>(state[variables_[i]] % group.orientations);
        return orientation;
    }
    void unrank_parts(uint64_t permutation, uint64_t orientation, int* state) const {
        int location[PartialPermutations::kMaxLocations];
        permutations.unrank(permutation, location);
        uint64_t base = static_cast<uint64_t>(group.orientations);
        int sum = 0;
        for (int i = static_cast<int>(variables_.size()) - 1; i >= 0; --i) {
            int digit = 0;
            if (i < num_digits) {
                digit = static_cast<int>(orientation % base);
                orientation /= base;
            }
            sum += digit;
            state[variables_[i]] = location[i] * group.orientations + digit;
        }
        if (num_digits > 0 && num_digits < static_cast<int>(variables_.size())) {
            int implied = (group.orientations - sum % group.orientations) % group.orientations;
            state[variables_.back()] += implied;
        }
    }
};

}  // namespace hstar
