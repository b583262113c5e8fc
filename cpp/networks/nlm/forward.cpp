#include <cstring>

#include "networks/nlm/network.hpp"
#include "runtime/kernels.hpp"

namespace hstar {

const std::vector<NamedNlmKernel>& nlm_kernels() {
    static const std::vector<NamedNlmKernel> kernels = [] {
        const auto forward = HSTAR_KERNELS(nlm_forward);
        const auto backward = HSTAR_KERNELS(nlm_backward);
        std::vector<NamedNlmKernel> found;
        for (size_t i = 0; i < forward.size(); ++i)
            found.push_back({kInstructionSets[i], {forward[i], backward[i]}});
        return found;
    }();
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

NlmProduct NlmNetwork::product(const Linear& linear, const Block& block, int permutation, const float* rows,
                               const int* index) const {
    return {rows, index, pitch_of(block.channels), block.channels,
            weights_->packed + linear.weight_row(permutation, block.column)};
}

float* NlmNetwork::apply(const Linear& linear, int64_t count, const float* bias,
                         std::span<const NlmAddend> addends, std::span<const NlmProduct> products,
                         Activation activation) {
    float* result = arena_->take<float>(count * linear.pitch());
    kernel_.affine({count, linear.pitch(), bias, addends.data(), static_cast<int>(addends.size()),
                    products.data(), static_cast<int>(products.size()), activation, result});
    return result;
}

void NlmNetwork::forward(const NlmWeights& weights, const NlmInput& input, Arena& arena, float* output) {
    weights_ = &weights;
    input_ = input;
    arena_ = &arena;
    triple_pair_[0] = nullptr;
    const float* rows[] = {input.nullary, input.unary, input.type_rows, input.class_rows};
    const int64_t counts[] = {1, input.n, input.types.count, input.num_classes};
    constexpr RowsOf kinds[] = {RowsOf::Tuples, RowsOf::Tuples, RowsOf::Pairs, RowsOf::Classes};
    for (int arity = 0; arity <= shape_.breadth; ++arity) {
        tensors_[0][arity] = Tensor{};
        tensors_[0][arity].rows_of = kinds[arity];
        tensors_[0][arity].count = counts[arity];
        tensors_[0][arity].rows = rows[arity];
        tensors_[0][arity].pitch = pitch_of(shape_.channels[arity]);
    }
    if (shape_.breadth > 1) tensors_[0][2].pairs = &input_.types;
    if (shape_.breadth > 1) index_pairs();
    for (int layer = 0; layer < shape_.depth; ++layer) {
        const int top = shape_.top_arity(layer);
        for (int arity = 1; arity <= std::min(shape_.breadth, top + 1); ++arity) reduce(layer, arity);
        for (int arity = 0; arity <= top; ++arity) compute(shape_.linear(layer, arity));
    }
    std::memcpy(output, tensors_[shape_.depth][0].rows, shape_.outputs * sizeof(float));
}

NlmRowMap NlmNetwork::map_of(const Tensor& x) const {
    NlmRowMap map;
    if (x.pairs) map.direct = x.pairs->of_pair;
    if (x.rows_of == RowsOf::Shades) map.direct = input_.triple_shade;
    return x.rows_of == RowsOf::Classes ? input_.triple_class : map;
}

const int* NlmNetwork::coarser_rows(RowsOf fine, RowsOf coarse) const {
    if (fine == coarse) return nullptr;
    if (coarse == RowsOf::Shades) return input_.triple_shade;
    return fine == RowsOf::Shades ? input_.shade_class : triple_class_;
}

const int* const* NlmNetwork::permuted_rows(const Tensor& x) const {
    return x.rows_of == RowsOf::Classes  ? input_.permuted_class
           : x.rows_of == RowsOf::Shades ? input_.permuted_shade
                                         : permuted_triple_;
}

NlmSetReduction NlmNetwork::set_reduction(const Tensor& x) const {
    return {x.rows, x.pitch, input_.sets.count, input_.set_begin, input_.set_classes, shape_.exclude_self,
            x.min,  x.max};
}

void NlmNetwork::reduce(int origin, int arity) {
    Tensor& x = tensors_[origin][arity];
    if (x.pitch == 0 || x.rows_of == RowsOf::Nothing) return;
    if (shape_.sums && arity == 1) sum_objects(x);
    const bool by_set = x.rows_of == RowsOf::Classes && input_.sets.of_pair;
    if (by_set) x.reduced_pairs = &input_.sets;
    x.reduced_count = by_set ? input_.sets.count : num_tuples(arity - 1);
    x.min = arena_->take<float>(x.reduced_count * x.pitch);
    x.max = arena_->take<float>(x.reduced_count * x.pitch);
    if (by_set)
        kernel_.reduce_sets(set_reduction(x));
    else
        kernel_.reduce({x.rows, map_of(x), x.pitch, input_.n, arity, shape_.exclude_self, x.min, x.max});
}

void NlmNetwork::sum_objects(Tensor& x) {
    x.sum = arena_->take_zeros<float>(x.pitch);
    for (int64_t row = 0; row < x.count; ++row) {
        const float weight = input_.weights ? input_.weights[row] : 1.0f;
        for (int c = 0; c < x.pitch; ++c) x.sum[c] += weight * x.rows[row * x.pitch + c];
    }
}

void NlmNetwork::compute(const Linear& linear) {
    Tensor& result = tensors_[linear.layer + 1][linear.arity];
    result = Tensor{};
    result.pitch = linear.pitch();
    if (linear.arity == 3)
        return linear.layer == 0 ? compute_first_triples(linear, result) : compute_triples(linear, result);
    result.rows_of = RowsOf::Tuples;
    result.count = num_tuples(linear.arity);
    if (linear.arity == 2) return compute_pairs(linear, result);
    const float* bias = weights_->packed + linear.bias_row();
    first_products_.clear();
    products_.clear();
    for (const Block& block : linear.blocks)
        (block.source == Source::Expand ? first_products_ : products_)
            .push_back(product(linear, block, 0, source_rows(block), nullptr));
    if (!first_products_.empty()) bias = apply(linear, 1, bias, {}, first_products_);
    const bool is_last = linear.layer == shape_.depth - 1;
    result.rows =
        apply(linear, result.count, bias, {}, products_, is_last ? Activation::Identity : shape_.activation);
}

const float* NlmNetwork::source_rows(const Block& block) {
    const Tensor& x = tensor(block);
    switch (block.source) {
        case Source::Min:
            return x.min;
        case Source::Max:
            return x.max;
        case Source::Sum:
            return x.sum;
        default:
            return x.rows;
    }
}

NlmNetwork::PairDomain NlmNetwork::all_pairs() const {
    return {num_tuples(2),        first_.data(),          second_.data(),
            input_.types.of_pair, input_.colours.of_pair, input_.sets.of_pair};
}

NlmNetwork::PairDomain NlmNetwork::colours() const {
    return {input_.colours.count, input_.colour_first, input_.colour_second, input_.colour_type, nullptr,
            input_.colour_set};
}

const int* NlmNetwork::index_in(const PairDomain& domain, const PairIndex* index) const {
    return index == &input_.types ? domain.type : index == &input_.colours ? domain.colour : domain.set;
}

const PairIndex* NlmNetwork::index_of(const Block& block) {
    const bool is_reduced = block.source == Source::Min || block.source == Source::Max;
    return is_reduced ? tensor(block).reduced_pairs : tensor(block).pairs;
}

void NlmNetwork::list_pair_parts(const Linear& linear, bool expanded, int plain, int mirrored,
                                 const PairDomain& domain) {
    products_.clear();
    for (const PairIndex* index : {&input_.types, &input_.colours, &input_.sets}) {
        typed_products_.clear();
        for (const Block& block : linear.blocks) {
            if ((block.source == Source::Expand) != expanded || index_of(block) != index) continue;
            typed_products_.push_back(product(linear, block, plain, source_rows(block), nullptr));
            typed_products_.push_back(
                product(linear, block, mirrored, source_rows(block), index->transposed));
        }
        if (!typed_products_.empty())
            addends_.push_back(
                {apply(linear, index->count, nullptr, {}, typed_products_), index_in(domain, index)});
    }
    for (const Block& block : linear.blocks) {
        if ((block.source == Source::Expand) != expanded || index_of(block)) continue;
        products_.push_back(product(linear, block, plain, source_rows(block), nullptr));
        products_.push_back(product(linear, block, mirrored, source_rows(block), mirrored_.data()));
    }
}

void NlmNetwork::compute_pairs(const Linear& linear, Tensor& result) {
    const bool by_colour = linear.layer == 0 && input_.colours.of_pair;
    const PairDomain domain = by_colour ? colours() : all_pairs();
    result.count = domain.count;
    if (by_colour) {
        result.rows_of = RowsOf::Pairs;
        result.pairs = &input_.colours;
    }
    const float* bias = weights_->packed + linear.bias_row();
    first_products_.clear();
    second_products_.clear();
    addends_.clear();
    for (const Block& block : linear.blocks)
        if (block.source == Source::Expand) {
            first_products_.push_back(product(linear, block, 0, source_rows(block), nullptr));
            second_products_.push_back(product(linear, block, 1, source_rows(block), nullptr));
        }
    if (!first_products_.empty()) {
        addends_.push_back({apply(linear, input_.n, bias, {}, first_products_), domain.first});
        addends_.push_back({apply(linear, input_.n, nullptr, {}, second_products_), domain.second});
        bias = nullptr;
    }
    list_pair_parts(linear, false, 0, 1, domain);
    result.rows = apply(linear, result.count, bias, addends_, products_, shape_.activation);
}

// Layer 0: everything a triple depends on is the same in its class.
void NlmNetwork::compute_first_triples(const Linear& linear, Tensor& result) {
    result.rows_of = RowsOf::Classes;
    result.count = input_.num_classes;
    const float* bias = weights_->packed + linear.bias_row();
    addends_.clear();
    products_.clear();
    for (int pair = 0; pair < 3; ++pair) {
        constexpr int kPlain[] = {0, 1, 3}, kMirrored[] = {2, 4, 5};
        typed_products_.clear();
        for (const Block& block : linear.blocks)
            if (block.source == Source::Expand) {
                const float* rows = tensor(block).rows;
                typed_products_.push_back(product(linear, block, kPlain[pair], rows, nullptr));
                typed_products_.push_back(
                    product(linear, block, kMirrored[pair], rows, input_.types.transposed));
            }
        if (typed_products_.empty()) break;
        addends_.push_back(
            {apply(linear, input_.types.count, bias, {}, typed_products_), input_.class_pair[pair]});
        bias = nullptr;
    }
    for (const Block& block : linear.blocks)
        for (int p = 0; p < 6 && block.source == Source::Own; ++p)
            products_.push_back(product(linear, block, p, tensor(block).rows, input_.permuted_class[p]));
    result.rows = apply(linear, result.count, bias, addends_, products_, shape_.activation);
}

// The part of a triple that depends on one pair of its members, for the pairs of a domain: permutations
// `plain` and `mirrored` put that pair first.
float* NlmNetwork::pair_table(const Linear& linear, int plain, int mirrored, bool with_bias,
                              const PairDomain& domain) {
    addends_.clear();
    list_pair_parts(linear, true, plain, mirrored, domain);
    return apply(linear, domain.count, with_bias ? weights_->packed + linear.bias_row() : nullptr, addends_,
                 products_);
}

void NlmNetwork::compute_triples(const Linear& linear, Tensor& result) {
    const bool by_shade = linear.layer == 1 && input_.triple_shade;
    const PairDomain domain = by_shade ? colours() : all_pairs();
    const float* p01 = pair_table(linear, 0, 2, true, domain);
    const float* p02 = pair_table(linear, 1, 4, false, domain);
    const float* p12 = pair_table(linear, 3, 5, false, domain);
    // What the triple's own channels contribute: by class, by shade on top of that, by triple on top of both.
    const float* own = nullptr;
    RowsOf own_rows = RowsOf::Nothing;
    int64_t own_count = 0;
    for (RowsOf kind : {RowsOf::Classes, RowsOf::Shades, RowsOf::Tuples}) {
        products_.clear();
        for (const Block& block : linear.blocks) {
            const Tensor& x = tensor(block);
            if (block.source != Source::Own || x.rows_of != kind) continue;
            if (kind == RowsOf::Tuples) index_triples();
            own_count = x.count;
            for (int p = 0; p < 6; ++p)
                products_.push_back(product(linear, block, p, x.rows, permuted_rows(x)[p]));
        }
        if (products_.empty()) continue;
        addends_.clear();
        if (own) addends_.push_back({own, coarser_rows(kind, own_rows)});
        own = apply(linear, own_count, nullptr, addends_, products_);
        own_rows = kind;
    }
    if (shape_.top_arity(linear.layer + 1) == 3) {
        if (!by_shade) index_triples();
        result.rows_of = by_shade ? RowsOf::Shades : RowsOf::Tuples;
        result.count = by_shade ? input_.num_shades : num_tuples(3);
        const int* const* pair = by_shade ? input_.shade_pair : triple_pair_;
        const NlmAddend parts[] = {
            {p01, pair[0]}, {p02, pair[1]}, {p12, pair[2]}, {own, coarser_rows(result.rows_of, own_rows)}};
        result.rows = apply(linear, result.count, nullptr, parts, {}, shape_.activation);
        return;
    }
    float* reductions[4];
    for (float*& rows : reductions) rows = arena_->take<float>(num_tuples(2) * linear.pitch());
    Tensor of_own;
    of_own.rows_of = own_rows;
    result.triples = {p01,
                      p02,
                      p12,
                      own,
                      map_of(of_own),
                      linear.pitch(),
                      input_.n,
                      shape_.exclude_self,
                      shape_.activation,
                      reductions[0],
                      reductions[1],
                      reductions[2],
                      reductions[3]};
    kernel_.reduce_triples(result.triples);
    result.own_rows = own_rows;
    result.own_count = own_count;
    result.min = reductions[2];
    result.max = reductions[3];
    result.reduced_count = num_tuples(2);
}

}  // namespace hstar
