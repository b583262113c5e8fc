// A Neural Logic Machine on one state: values, and gradients with respect to the parameters.
//
// Nothing is computed per tuple if it depends on less than the tuple. The expanded part of a linear map is a
// table over shorter tuples (three tables over pairs for triples); inputs and what the first layer makes of
// them are tables over the types, colours, classes and sets of input.hpp, and the second layer's triples over
// shades. Triples of the last layer that has any are reduced without being stored. The concatenation over
// permutations is never formed.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "networks/nlm/arena.hpp"
#include "networks/nlm/input.hpp"
#include "networks/nlm/kernel.hpp"
#include "networks/nlm/shape.hpp"

namespace hstar {

class NlmNetwork {
  public:
    NlmNetwork(const NlmShape& shape, const NlmKernel& kernel)
        : shape_(shape), kernel_(kernel), tensors_(shape.depth + 1) {}

    // Fills output[0 .. outputs). Work space comes from the arena.
    void forward(const NlmWeights& weights, const NlmInput& input, Arena& arena, float* output);
    // After forward() and before the arena is cleared: adds the gradient of sum(gradient * output) to
    // `packed`, which is ordered like NlmWeights::packed.
    void backward(const NlmWeights& weights, const float* gradient, float* packed);

  private:
    using Linear = NlmShape::Linear;
    using Block = NlmShape::Block;
    using Source = NlmShape::Source;

    // What the rows of a tensor stand for: tuples, pairs by an index, classes or shades of triples.
    enum class RowsOf { Tuples, Pairs, Classes, Shades, Nothing };
    // Some channels of an arity's tensor: the input's (origin 0) or those of layer origin - 1.
    struct Tensor {
        RowsOf rows_of = RowsOf::Nothing;
        int64_t count = 0;
        int pitch = 0;
        const float* rows = nullptr;
        const PairIndex* pairs = nullptr;      // of the rows
        float *min = nullptr, *max = nullptr;  // reductions over the last index
        float* sum = nullptr;                  // of the rows, for objects
        int64_t reduced_count = 0;
        const PairIndex* reduced_pairs = nullptr;  // of the reductions
        NlmTriples triples{};                      // where only the reductions exist
        RowsOf own_rows = RowsOf::Nothing;         // of triples.own
        int64_t own_count = 0;
        float *gradient = nullptr, *min_gradient = nullptr, *max_gradient = nullptr;
        float* sum_gradient = nullptr;
    };
    // Three tables over pairs that make up the expanded part of a triple, or over types of pairs.
    using PairTables = std::array<float*, 3>;

    // The pairs that a linear map is applied to, all or one of each colour, and where they are in other
    // tables.
    struct PairDomain {
        int64_t count;
        const int *first, *second;  // members
        const int *type, *colour, *set;
    };

    Tensor& tensor(const Block& block) { return tensors_[block.origin][block.arity]; }
    int64_t num_tuples(int arity) const;
    void index_pairs();
    void index_triples();

    void compute(const Linear& linear);
    void compute_pairs(const Linear& linear, Tensor& result);
    void compute_first_triples(const Linear& linear, Tensor& result);
    void compute_triples(const Linear& linear, Tensor& result);
    void reduce(int origin, int arity);
    void sum_objects(Tensor& x);
    void undo_sum(const Tensor& x);
    PairDomain all_pairs() const;
    PairDomain colours() const;
    const int* index_in(const PairDomain& domain, const PairIndex* index) const;
    const PairIndex* index_of(const Block& block);
    // Lists what makes up a linear map of pairs: of its expanded part or of the others, by two permutations.
    void list_pair_parts(const Linear& linear, bool expanded, int plain, int mirrored,
                         const PairDomain& domain);
    float* pair_table(const Linear& linear, int plain, int mirrored, bool with_bias,
                      const PairDomain& domain);
    NlmProduct product(const Linear& linear, const Block& block, int permutation, const float* rows,
                       const int* index) const;
    NlmRowMap map_of(const Tensor& x) const;
    const int* const* permuted_rows(const Tensor& x) const;  // of triples
    // Per row of one kind of triples, the row of a kind that tells fewer of them apart; null: the same.
    const int* coarser_rows(RowsOf fine, RowsOf coarse) const;
    NlmSetReduction set_reduction(const Tensor& x) const;
    float* apply(const Linear& linear, int64_t count, const float* bias, std::span<const NlmAddend> addends,
                 std::span<const NlmProduct> products, Activation activation = Activation::Identity);

    void undo(const Linear& linear);
    void undo_pairs(const Linear& linear, const float* gradient, const PairDomain& domain);
    void undo_pair_parts(const Linear& linear, bool expanded, int plain, int mirrored,
                         const PairDomain& domain, const float* gradient);
    void undo_first_triples(const Linear& linear, const Tensor& result);
    void undo_triples(const Linear& linear, const Tensor& result);
    // Of the weights that multiply rows[index[t]] where the result's gradient is gradient[t].
    void add_weight_gradient(const Linear& linear, const Block& block, int permutation, int64_t count,
                             const float* rows, const int* index, const float* gradient);
    struct Pull {  // gradient rows of the result and the permutation whose weights carry them back
        const float* gradient;
        const int* index;
        int permutation;
    };
    void add_input_gradient(const Linear& linear, const Block& block, int64_t count, float* result,
                            std::initializer_list<Pull> pulls);
    float* scattered(const Linear& linear, int64_t count, const float* gradient, const int* index,
                     int64_t rows);
    const float* source_rows(const Block& block);
    float* source_gradient(const Block& block);

    const NlmShape& shape_;
    const NlmKernel& kernel_;
    std::vector<std::array<Tensor, kMaxBreadth + 1>> tensors_;  // by origin, arity
    // While working on a state:
    const NlmWeights* weights_ = nullptr;
    NlmInput input_;
    Arena* arena_ = nullptr;
    float* packed_ = nullptr;
    // Members of the pair or triple with a given number, and the numbers of the permuted ones.
    int pairs_indexed_ = -1;
    std::vector<int> first_, second_, mirrored_;
    int* triple_pair_[3] = {};
    int* permuted_triple_[6] = {};
    const int* triple_class_ = nullptr;  // of each triple
    // Scratch lists.
    std::vector<NlmProduct> first_products_, second_products_, typed_products_, products_;
    std::vector<NlmAddend> addends_;
};

// The kernels this machine can run, fastest last; the first is "portable".
struct NamedNlmKernel {
    const char* name;
    NlmKernel kernel;
};
const std::vector<NamedNlmKernel>& nlm_kernels();

}  // namespace hstar
