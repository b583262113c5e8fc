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
    // Rows and their gradient; of the input there is none.
    struct Table {
        const float* rows = nullptr;
        float* gradient = nullptr;
    };
    // Some channels of a linear map's result: activation(bias + terms + factors). What it is made of is kept
    // in the arena, so that backward() can go the same way back.
    struct Sum;
    struct Term {
        const Sum* sum;
        const int* index;  // per row: that of the sum; null: the same
    };
    // The rows of a block times the weights of one permutation, and the index that leads back, if any.
    struct Factor {
        const Block* block;
        int permutation;
        const int *index, *inverse;
    };
    struct Sum {
        const Linear& linear;
        int64_t count;
        const float* rows;
        std::span<const Term> terms;
        std::span<const Factor> factors;
    };
    // Some channels of an arity's tensor: the input's (origin 0) or those of layer origin - 1.
    struct Tensor {
        RowsOf rows_of = RowsOf::Nothing;
        int64_t count = 0;
        int pitch = 0;
        Table own, min, max;               // min, max: over the last index
        Table sum;                         // of the rows, for objects
        const Sum* root = nullptr;         // what the rows are; null: the input, or nothing
        const PairIndex* pairs = nullptr;  // of the rows
        NlmReduction reduction{};
        const PairIndex* reduced_pairs = nullptr;  // of the reductions
        // Where only the reductions exist: what the triples are made of.
        NlmTriples triples{};
        std::array<const Sum*, 4> parts{};
    };

    Tensor& tensor(const Block& block) { return tensors_[block.origin][block.arity]; }
    Table& table(const Block& block);
    int64_t num_tuples(int arity) const;
    void index_pairs();
    void index_triples();

    void compute(const Linear& linear);
    void compute_pairs(const Linear& linear, Tensor& result);
    void compute_first_triples(const Linear& linear, Tensor& result);
    void compute_triples(const Linear& linear, Tensor& result);
    void reduce(int origin, int arity);
    void sum_objects(Tensor& x);
    PairDomain all_pairs() const;
    const PairIndex* index_of(const Block& block);
    // Lists what makes up a linear map of pairs: of its expanded part or of the others, by two permutations.
    void list_pair_parts(const Linear& linear, bool expanded, int plain, int mirrored,
                         const PairDomain& domain);
    void list_permutations(const Block& block, const int* const* permuted);
    const Sum* pair_table(const Linear& linear, int pair, const PairDomain& domain);
    NlmRowMap map_of(RowsOf rows_of, const PairIndex* pairs) const;
    const int* const* permuted_rows(RowsOf rows_of) const;  // of triples
    // Per row of one kind of triples, the row of a kind that tells fewer of them apart; null: the same.
    const int* coarser_rows(RowsOf fine, RowsOf coarse) const;
    const Sum* apply(const Linear& linear, int64_t count, bool with_bias, std::span<const Term> terms,
                     std::span<const Factor> factors, Activation activation = Activation::Identity);

    void undo(const Linear& linear);
    void undo(const Sum& sum, const float* gradient);

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
    std::vector<Term> terms_;
    std::vector<Factor> factors_, inner_factors_;
    std::vector<NlmAddend> addends_;
    std::vector<NlmProduct> products_;
};

// The kernels this machine can run, fastest last; the first is "portable".
const std::vector<NlmKernel>& nlm_kernels();

}  // namespace hstar
