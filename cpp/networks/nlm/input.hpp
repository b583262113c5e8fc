// The input of a Neural Logic Machine for one state, and which of its tuples are alike.
//
// Inputs are sparse, so few different combinations occur. Tuples that agree in everything their value depends
// on are computed once. Equal inputs give equal bits, so this changes no result.
//
//   type    of a pair: the channels of (i, j) and of (j, i)
//
//   colour  of a pair: its type and the unary channels of i and of j; decides its value in the first layer
//
//   class   of a triple: the types of its pairs and its own channels; decides its value in the first layer
//
//   set     of a pair: its type and which types (i, k) and (j, k) occur together for some k; decides the
//           reductions of the triples in the first layer
//
//   shade   of a triple: the colours of its pairs; decides its value in the second layer
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "networks/nlm/kernel.hpp"
#include "networks/nlm/shape.hpp"
#include "runtime/cache_aligned.hpp"
#include "runtime/numbering.hpp"

namespace hstar {

// An arena allocator: pieces are freed all at once, and the memory is reused for the next state. Pieces are
// aligned to 64 bytes and not initialised. An empty piece is not null either: null means that there is none.
class Arena {
  public:
    template <class T>
    T* take(int64_t count) {
        size_t bytes = static_cast<size_t>(count) * sizeof(T);
#ifdef __SANITIZE_ADDRESS__
        // A block of its own, so that its ends are guarded.
        return reinterpret_cast<T*>(blocks_.emplace_back(std::max<size_t>(1, bytes)).data());
#endif
        bytes = (bytes + 63) / 64 * 64;
        while (block_ < blocks_.size() && used_ + bytes > blocks_[block_].size()) {
            ++block_;
            used_ = 0;
        }
        if (block_ == blocks_.size()) blocks_.emplace_back(std::max(bytes, kBlockBytes));
        T* piece = reinterpret_cast<T*>(blocks_[block_].data() + used_);
        used_ += bytes;
        return piece;
    }
    template <class T>
    T* take_zeros(int64_t count) {
        T* piece = take<T>(count);
        std::memset(static_cast<void*>(piece), 0, static_cast<size_t>(count) * sizeof(T));
        return piece;
    }
    template <class T>
    std::span<const T> copy(std::span<const T> items) {
        T* piece = take<T>(static_cast<int64_t>(items.size()));
        std::uninitialized_copy(items.begin(), items.end(), piece);
        return {piece, items.size()};
    }
    void clear() {
        block_ = used_ = 0;
#ifdef __SANITIZE_ADDRESS__
        blocks_.clear();
#endif
    }

  private:
    static constexpr size_t kBlockBytes = size_t{1} << 20;
    std::vector<AlignedVector<unsigned char>> blocks_;
    size_t block_ = 0, used_ = 0;
};

// Permutations of three indices in lexicographic order: block p reads the tuple (t[p0], t[p1], t[p2]).
constexpr int kPermutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
constexpr int kInversePermutation[6] = {0, 1, 2, 4, 3, 5};

// Rows that stand for several pairs each.
struct PairIndex {
    int count = 0;
    const int* of_pair = nullptr;     // n^2; null: there is no such index
    const int* transposed = nullptr;  // per row: that of the mirrored pairs
};

// Pairs that a linear map is applied to, all or one of each colour, and where they are in other tables.
struct PairDomain {
    int64_t count = 0;
    const int* member[2] = {};
    const int* index[3] = {};  // types, colours and sets
};

// Rows that stand for several triples each: those with the same labels of their pairs.
struct TripleIndex {
    int count = 0;
    const int* of_triple = nullptr;  // n^3; null: there is no such index, or another way to the rows
    const int* permuted[6] = {};     // per row: that of the permuted triples
    const int* pair[3] = {};         // per row: labels of (i, j), (i, k), (j, k)
};

struct NlmInput {
    int n = 0;
    const float* nullary = nullptr;  // 1 row
    const float* unary = nullptr;    // n rows
    const float* weights = nullptr;  // how often each object counts in sums; null: once
    PairIndex types;
    const float* type_rows = nullptr;
    PairIndex colours;
    PairDomain colour_pairs;  // one of each colour
    TripleIndex classes;
    const float* class_rows = nullptr;  // null without channels of arity 3
    NlmRowMap triple_class;
    PairIndex sets;
    const int *set_begin = nullptr, *set_classes = nullptr;  // per set: classes of the triples (i, j, k)
    TripleIndex shades;
    const int* shade_class = nullptr;
};

class NlmInputBuilder {
  public:
    explicit NlmInputBuilder(const NlmShape& shape) : shape_(shape) {}
    // Entries must be valid for n objects. Arrays live in the arena, or until the next call.
    NlmInput build(int n, std::span<const NlmEntry> entries, std::span<const float> values, Arena& arena);

  private:
    // The rows of one arity that have entries: their tuples and, per row, the number of its contents; 0 is
    // the row of zeros.
    struct SparseRows {
        std::vector<int> tuples, contents;
        std::vector<float> values;  // of each distinct row, padded
        int num_contents = 0;
        bool operator==(const SparseRows&) const = default;
    };
    void collect(int arity, std::span<const NlmEntry> entries, std::span<const float> values, int64_t tuples,
                 SparseRows& rows);
    void build_types(NlmInput& input, Arena& arena);
    void build_colours(NlmInput& input, Arena& arena);
    void build_triples(NlmInput& input, Arena& arena);
    void build_classes(NlmInput& input, Arena& arena);  // without atoms of arity 3
    static constexpr int kMostSetTypes = 32;
    void build_sets(NlmInput& input, Arena& arena);  // after build_classes(), for so many types
    void list_neighbours(const NlmInput& input);
    void mark_together(const NlmInput& input, int i, int j, uint64_t* mask) const;
    void build_special_classes(NlmInput& input, Arena& arena);  // the general case
    void build_shades(NlmInput& input, Arena& arena);           // after build_colours()
    // Fills of_triple, too.
    TripleIndex number_triples(int n, const PairIndex& labels, int* of_triple, Arena& arena);
    const int* mirrored_rows(const NlmInput& input, const PairIndex& index, Arena& arena);

    const NlmShape& shape_;
    SparseRows objects_, pairs_, triples_;
    std::vector<int> row_of_, content_of_, keys_, representative_;
    std::vector<float> raw_;
    std::vector<int> present_begin_, present_type_, slot_of_type_, neighbour_begin_, neighbours_;
    std::vector<uint64_t> present_bits_, masks_, triple_keys_;
    std::vector<std::array<int, 6>> permuted_keys_;
    Numbering numbering_;
    // The pairs and triples of the last call, for reuse.
    bool has_kept_ = false;
    NlmInput kept_;
    SparseRows kept_pairs_, kept_triples_;
    Arena kept_arena_;
};

}  // namespace hstar
