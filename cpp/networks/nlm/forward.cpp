#include <cstring>

#include "networks/nlm/network.hpp"
#include "runtime/kernels.hpp"

namespace hstar {

const std::vector<NlmKernel>& nlm_kernels() {
    static const std::vector<NlmKernel> kernels = HSTAR_KERNELS(nlm);
    return kernels;
}

int64_t NlmNetwork::num_tuples(int arity) const {
    int64_t count = 1;
    for (int i = 0; i < arity; ++i) count *= input_.n;
    return count;
}

void NlmNetwork::index_pairs() {
    const int n = input_.n;
    if (pairs_indexed_ == n) return;
    pairs_indexed_ = n;
    const size_t size = static_cast<size_t>(n) * n;
    first_.resize(size);
    second_.resize(size);
    mirrored_.resize(size);
    for (int i = 0, pair = 0; i < n; ++i)
        for (int j = 0; j < n; ++j, ++pair) {
            first_[pair] = i;
            second_[pair] = j;
            mirrored_[pair] = j * n + i;
        }
}

void NlmNetwork::index_triples() {
    if (triple_pair_[0]) return;
    const int n = input_.n;
    const int64_t size = num_tuples(3);
    for (int*& index : triple_pair_) index = arena_->take<int>(size);
    for (int*& index : permuted_triple_) index = arena_->take<int>(size);
    const NlmRowMap& map = input_.triple_class;
    int* classes = map.direct ? nullptr : arena_->take<int>(size);
    triple_class_ = map.direct ? map.direct : classes;
    int64_t triple = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            for (int k = 0; k < n; ++k, ++triple) {
                if (classes)
                    classes[triple] =
                        map.table[static_cast<int64_t>(map.scaled_type[i * n + j]) * map.num_types +
                                  map.scaled_type[i * n + k] + map.type[j * n + k]];
                const int members[3] = {i, j, k};
                triple_pair_[0][triple] = i * n + j;
                triple_pair_[1][triple] = i * n + k;
                triple_pair_[2][triple] = j * n + k;
                for (int p = 0; p < 6; ++p) {
                    const int* order = kPermutations[p];
                    permuted_triple_[p][triple] =
                        (members[order[0]] * n + members[order[1]]) * n + members[order[2]];
                }
            }
}

const NlmNetwork::Sum* NlmNetwork::apply(const Linear& linear, int64_t count, bool with_bias,
                                         std::span<const Term> terms, std::span<const Factor> factors,
                                         Activation activation) {
    addends_.clear();
    products_.clear();
    for (const auto& [sum, index] : terms) addends_.push_back({sum->rows, index});
    for (const auto& [block, permutation, index, inverse] : factors)
        products_.push_back({table(*block).rows, index, pitch_of(block->channels), block->channels,
                             weights_->packed.data() + linear.weight_row(permutation, block->column)});
    float* result = arena_->take<float>(count * linear.pitch());
    kernel_.affine({count, linear.pitch(), with_bias ? weights_->packed.data() + linear.bias_row() : nullptr,
                    addends_.data(), static_cast<int>(addends_.size()), products_.data(),
                    static_cast<int>(products_.size()), activation, result});
    return new (arena_->take<Sum>(1)) Sum{linear, count, result, arena_->copy(terms), arena_->copy(factors)};
}

void NlmNetwork::forward(const NlmWeights& weights, const NlmInput& input, Arena& arena, float* output) {
    weights_ = &weights;
    input_ = input;
    arena_ = &arena;
    triple_pair_[0] = nullptr;
    const float* rows[] = {input.nullary, input.unary, input.type_rows, input.class_rows};
    const int64_t counts[] = {1, input.n, input.types.count, input.classes.count};
    constexpr RowsOf kinds[] = {RowsOf::Tuples, RowsOf::Tuples, RowsOf::Pairs, RowsOf::Classes};
    for (int arity = 0; arity <= shape_.breadth; ++arity) {
        tensors_[0][arity] = Tensor{};
        tensors_[0][arity].rows_of = kinds[arity];
        tensors_[0][arity].count = counts[arity];
        tensors_[0][arity].own.rows = rows[arity];
        tensors_[0][arity].pitch = pitch_of(shape_.channels[arity]);
    }
    if (shape_.breadth > 1) tensors_[0][2].pairs = &input_.types;
    if (shape_.breadth > 1) index_pairs();
    for (int layer = 0; layer < shape_.depth; ++layer) {
        const int top = shape_.top_arity(layer);
        for (int arity = 1; arity <= std::min(shape_.breadth, top + 1); ++arity) reduce(layer, arity);
        for (int arity = 0; arity <= top; ++arity) compute(shape_.linear(layer, arity));
    }
    std::memcpy(output, tensors_[shape_.depth][0].own.rows, shape_.outputs * sizeof(float));
}

NlmRowMap NlmNetwork::map_of(RowsOf rows_of, const PairIndex* pairs) const {
    NlmRowMap map;
    if (pairs) map.direct = pairs->of_pair;
    if (rows_of == RowsOf::Shades) map.direct = input_.shades.of_triple;
    return rows_of == RowsOf::Classes ? input_.triple_class : map;
}

const int* NlmNetwork::coarser_rows(RowsOf fine, RowsOf coarse) const {
    if (fine == coarse) return nullptr;
    if (coarse == RowsOf::Shades) return input_.shades.of_triple;
    return fine == RowsOf::Shades ? input_.shade_class : triple_class_;
}

const int* const* NlmNetwork::permuted_rows(RowsOf rows_of) const {
    return rows_of == RowsOf::Classes  ? input_.classes.permuted
           : rows_of == RowsOf::Shades ? input_.shades.permuted
                                       : permuted_triple_;
}

void NlmNetwork::reduce(int origin, int arity) {
    Tensor& x = tensors_[origin][arity];
    if (x.pitch == 0 || x.rows_of == RowsOf::Nothing) return;
    if (shape_.sums && arity == 1) sum_objects(x);
    const bool by_set = x.rows_of == RowsOf::Classes && input_.sets.of_pair;
    if (by_set) x.reduced_pairs = &input_.sets;
    const int64_t count = by_set ? input_.sets.count : num_tuples(arity - 1);
    float* rows[2];
    for (float*& reduced : rows) reduced = arena_->take<float>(count * x.pitch);
    const NlmRowMap map = by_set ? NlmRowMap{.begin = input_.set_begin, .items = input_.set_classes}
                                 : map_of(x.rows_of, x.pairs);
    x.reduction = {x.own.rows, map, count, x.pitch, input_.n, arity, shape_.exclude_self, rows[0], rows[1]};
    x.min.rows = rows[0];
    x.max.rows = rows[1];
    kernel_.reduce(x.reduction);
}

void NlmNetwork::sum_objects(Tensor& x) {
    float* sum = arena_->take_zeros<float>(x.pitch);
    for (int64_t row = 0; row < x.count; ++row) {
        const float weight = input_.weights ? input_.weights[row] : 1.0f;
        for (int c = 0; c < x.pitch; ++c) sum[c] += weight * x.own.rows[row * x.pitch + c];
    }
    x.sum.rows = sum;
}

void NlmNetwork::compute(const Linear& linear) {
    Tensor& result = tensors_[linear.layer + 1][linear.arity];
    result = Tensor{};
    result.pitch = linear.pitch();
    result.rows_of = RowsOf::Tuples;
    result.count = num_tuples(linear.arity);
    terms_.clear();
    factors_.clear();
    if (linear.arity == 3) {
        linear.layer == 0 ? compute_first_triples(linear, result) : compute_triples(linear, result);
    } else if (linear.arity == 2) {
        compute_pairs(linear, result);
    } else {
        inner_factors_.clear();
        for (const Block& block : linear.blocks)
            (block.source == Source::Expand ? inner_factors_ : factors_)
                .push_back({&block, 0, nullptr, nullptr});
        const bool is_expanded = !inner_factors_.empty();
        if (is_expanded)  // the same for all objects
            terms_.push_back(
                {apply(linear, 1, true, {}, inner_factors_), arena_->take_zeros<int>(result.count)});
        const bool is_last = linear.layer == shape_.depth - 1;
        result.root = apply(linear, result.count, !is_expanded, terms_, factors_,
                            is_last ? Activation::Identity : shape_.activation);
    }
    if (result.root) result.own.rows = result.root->rows;
}

NlmNetwork::Table& NlmNetwork::table(const Block& block) {
    Tensor& x = tensor(block);
    switch (block.source) {
        case Source::Min:
            return x.min;
        case Source::Max:
            return x.max;
        case Source::Sum:
            return x.sum;
        default:
            return x.own;
    }
}

PairDomain NlmNetwork::all_pairs() const {
    return {num_tuples(2),
            {first_.data(), second_.data()},
            {input_.types.of_pair, input_.colours.of_pair, input_.sets.of_pair}};
}

const PairIndex* NlmNetwork::index_of(const Block& block) {
    const bool is_reduced = block.source == Source::Min || block.source == Source::Max;
    return is_reduced ? tensor(block).reduced_pairs : tensor(block).pairs;
}

void NlmNetwork::list_pair_parts(const Linear& linear, bool expanded, int plain, int mirrored,
                                 const PairDomain& domain) {
    auto list = [&](const PairIndex* index, const int* transposed, std::vector<Factor>& factors) {
        for (const Block& block : linear.blocks) {
            if ((block.source == Source::Expand) != expanded || index_of(block) != index) continue;
            factors.push_back({&block, plain, nullptr, nullptr});
            factors.push_back({&block, mirrored, transposed, transposed});
        }
    };
    const PairIndex* const indices[] = {&input_.types, &input_.colours, &input_.sets};
    for (int kind = 0; kind < 3; ++kind) {
        const PairIndex& index = *indices[kind];
        inner_factors_.clear();
        list(&index, index.transposed, inner_factors_);
        if (!inner_factors_.empty())
            terms_.push_back({apply(linear, index.count, false, {}, inner_factors_), domain.index[kind]});
    }
    list(nullptr, mirrored_.data(), factors_);
}

void NlmNetwork::compute_pairs(const Linear& linear, Tensor& result) {
    const bool by_colour = linear.layer == 0 && input_.colours.of_pair;
    const PairDomain domain = by_colour ? input_.colour_pairs : all_pairs();
    result.count = domain.count;
    if (by_colour) {
        result.rows_of = RowsOf::Pairs;
        result.pairs = &input_.colours;
    }
    for (int p = 0; p < 2; ++p) {
        inner_factors_.clear();
        for (const Block& block : linear.blocks)
            if (block.source == Source::Expand) inner_factors_.push_back({&block, p, nullptr, nullptr});
        if (!inner_factors_.empty())
            terms_.push_back({apply(linear, input_.n, p == 0, {}, inner_factors_), domain.member[p]});
    }
    const bool with_bias = terms_.empty();
    list_pair_parts(linear, false, 0, 1, domain);
    result.root = apply(linear, result.count, with_bias, terms_, factors_, shape_.activation);
}

// Permutations that put the first, second or third pair of a triple first, and those that mirror it, too.
constexpr int kPlain[] = {0, 1, 3}, kMirrored[] = {2, 4, 5};

// Layer 0: everything a triple depends on is the same in its class.
void NlmNetwork::compute_first_triples(const Linear& linear, Tensor& result) {
    result.rows_of = RowsOf::Classes;
    result.count = input_.classes.count;
    for (int pair = 0; pair < 3; ++pair) {
        inner_factors_.clear();
        for (const Block& block : linear.blocks)
            if (block.source == Source::Expand) {
                const int* transposed = input_.types.transposed;
                inner_factors_.push_back({&block, kPlain[pair], nullptr, nullptr});
                inner_factors_.push_back({&block, kMirrored[pair], transposed, transposed});
            }
        if (!inner_factors_.empty())
            terms_.push_back({apply(linear, input_.types.count, pair == 0, {}, inner_factors_),
                              input_.classes.pair[pair]});
    }
    for (const Block& block : linear.blocks)
        if (block.source == Source::Own) list_permutations(block, input_.classes.permuted);
    result.root = apply(linear, result.count, terms_.empty(), terms_, factors_, shape_.activation);
}

void NlmNetwork::list_permutations(const Block& block, const int* const* permuted) {
    for (int p = 0; p < 6; ++p)
        factors_.push_back({&block, p, permuted[p], permuted[kInversePermutation[p]]});
}

// The part of a triple that depends on one pair of its members, for the pairs of a domain.
const NlmNetwork::Sum* NlmNetwork::pair_table(const Linear& linear, int pair, const PairDomain& domain) {
    terms_.clear();
    factors_.clear();
    list_pair_parts(linear, true, kPlain[pair], kMirrored[pair], domain);
    return apply(linear, domain.count, pair == 0, terms_, factors_);
}

void NlmNetwork::compute_triples(const Linear& linear, Tensor& result) {
    const bool by_shade = linear.layer == 1 && input_.shades.of_triple;
    const PairDomain domain = by_shade ? input_.colour_pairs : all_pairs();
    for (int pair = 0; pair < 3; ++pair) result.parts[pair] = pair_table(linear, pair, domain);
    // What the triple's own channels contribute: by class, by shade on top of that, by triple on top of both.
    const Sum*& own = result.parts[3];
    RowsOf own_rows = RowsOf::Nothing;
    for (RowsOf kind : {RowsOf::Classes, RowsOf::Shades, RowsOf::Tuples}) {
        terms_.clear();
        factors_.clear();
        int64_t count = 0;
        for (const Block& block : linear.blocks) {
            const Tensor& x = tensor(block);
            if (block.source != Source::Own || x.rows_of != kind) continue;
            if (kind == RowsOf::Tuples) index_triples();
            count = x.count;
            list_permutations(block, permuted_rows(kind));
        }
        if (factors_.empty()) continue;
        if (own) terms_.push_back({own, coarser_rows(kind, own_rows)});
        own = apply(linear, count, false, terms_, factors_);
        own_rows = kind;
    }
    if (shape_.top_arity(linear.layer + 1) == 3) {
        if (!by_shade) index_triples();
        result.rows_of = by_shade ? RowsOf::Shades : RowsOf::Tuples;
        if (by_shade) result.count = input_.shades.count;
        const int* const* pair = by_shade ? input_.shades.pair : triple_pair_;
        const auto& parts = result.parts;
        const Term terms[] = {{parts[0], pair[0]},
                              {parts[1], pair[1]},
                              {parts[2], pair[2]},
                              {own, coarser_rows(result.rows_of, own_rows)}};
        result.root = apply(linear, result.count, false, terms, {}, shape_.activation);
        return;
    }
    result.rows_of = RowsOf::Nothing;
    float* reductions[4];
    for (float*& rows : reductions) rows = arena_->take<float>(num_tuples(2) * linear.pitch());
    result.triples = {result.parts[0]->rows,
                      result.parts[1]->rows,
                      result.parts[2]->rows,
                      own->rows,
                      map_of(own_rows, nullptr),
                      linear.pitch(),
                      input_.n,
                      shape_.exclude_self,
                      shape_.activation,
                      reductions[0],
                      reductions[1],
                      reductions[2],
                      reductions[3]};
    kernel_.reduce_triples(result.triples);
    result.min.rows = reductions[2];
    result.max.rows = reductions[3];
    result.reduction.count = num_tuples(2);
}

}  // namespace hstar
