#include "networks/nlm/network.hpp"

namespace hstar {

void NlmNetwork::backward(const NlmWeights& weights, const float* gradient, float* packed) {
    weights_ = &weights;
    packed_ = packed;
    for (int layer = 0; layer < shape_.depth; ++layer)
        for (int arity = 0; arity <= shape_.top_arity(layer); ++arity) {
            Tensor& x = tensors_[layer + 1][arity];
            if (x.rows_of != RowsOf::Nothing) x.gradient = arena_->take_zeros<float>(x.count * x.pitch);
            if (x.sum) x.sum_gradient = arena_->take_zeros<float>(x.pitch);
            if (!x.min) continue;
            x.min_gradient = arena_->take_zeros<float>(x.reduced_count * x.pitch);
            x.max_gradient = arena_->take_zeros<float>(x.reduced_count * x.pitch);
        }
    std::copy_n(gradient, shape_.outputs, tensors_[shape_.depth][0].gradient);
    for (int layer = shape_.depth - 1; layer >= 0; --layer)
        for (int arity = shape_.top_arity(layer); arity >= 0; --arity) undo(shape_.linear(layer, arity));
}

float* NlmNetwork::source_gradient(const Block& block) {
    Tensor& x = tensor(block);
    switch (block.source) {
        case Source::Min:
            return x.min_gradient;
        case Source::Max:
            return x.max_gradient;
        case Source::Sum:
            return x.sum_gradient;
        default:
            return x.gradient;
    }
}

void NlmNetwork::undo_sum(const Tensor& x) {
    for (int64_t row = 0; row < x.count; ++row) {
        const float weight = input_.weights ? input_.weights[row] : 1.0f;
        for (int c = 0; c < x.pitch; ++c) x.gradient[row * x.pitch + c] += weight * x.sum_gradient[c];
    }
}

void NlmNetwork::add_weight_gradient(const Linear& linear, const Block& block, int permutation, int64_t count,
                                     const float* rows, const int* index, const float* gradient) {
    kernel_.weight_gradient(count, rows, index, pitch_of(block.channels), block.channels, gradient,
                            linear.pitch(), packed_ + linear.weight_row(permutation, block.column));
}

void NlmNetwork::add_input_gradient(const Linear& linear, const Block& block, int64_t count, float* result,
                                    std::initializer_list<Pull> pulls) {
    if (block.origin == 0) return;
    NlmProduct products[6];
    int size = 0;
    for (const Pull& pull : pulls)
        products[size++] = {pull.gradient, pull.index, linear.pitch(), linear.out,
                            weights_->backward + linear.backward_block(pull.permutation, block)};
    const NlmAddend there{result, nullptr};
    kernel_.affine(
        {count, pitch_of(block.channels), nullptr, &there, 1, products, size, Activation::Identity, result});
}

float* NlmNetwork::scattered(const Linear& linear, int64_t count, const float* gradient, const int* index,
                             int64_t rows) {
    float* result = arena_->take_zeros<float>(rows * linear.pitch());
    kernel_.scatter(count, linear.pitch(), gradient, index, result);
    return result;
}

void NlmNetwork::undo(const Linear& linear) {
    Tensor& result = tensors_[linear.layer + 1][linear.arity];
    if (result.rows_of == RowsOf::Nothing) return undo_triples(linear, result);
    if (result.reduced_pairs) {
        kernel_.undo_reduce_sets(set_reduction(result), result.min_gradient, result.max_gradient,
                                 result.gradient);
    } else if (result.min) {
        kernel_.undo_reduce({result.rows, map_of(result), result.pitch, input_.n, linear.arity,
                             shape_.exclude_self, result.min, result.max},
                            result.min_gradient, result.max_gradient, result.gradient);
    }
    if (result.sum) undo_sum(result);
    if (linear.layer < shape_.depth - 1)
        kernel_.undo_activation(shape_.activation, result.count, result.pitch, result.rows, result.gradient);
    const float* gradient = result.gradient;
    const int64_t count = result.count;
    if (linear.arity == 3)
        return result.rows_of == RowsOf::Classes ? undo_first_triples(linear, result)
                                                 : undo_triples(linear, result);
    kernel_.scatter(count, result.pitch, gradient, nullptr, packed_ + linear.bias_row());
    if (linear.arity == 2) return undo_pairs(linear, gradient, result.pairs ? colours() : all_pairs());
    const float* total = nullptr;
    for (const Block& block : linear.blocks) {
        const bool is_expanded = block.source == Source::Expand;
        if (is_expanded && !total) total = scattered(linear, count, gradient, nullptr, 1);
        const int64_t rows = is_expanded ? 1 : count;
        const float* from = is_expanded ? total : gradient;
        add_weight_gradient(linear, block, 0, rows, source_rows(block), nullptr, from);
        add_input_gradient(linear, block, rows, source_gradient(block), {{from, nullptr, 0}});
    }
}

void NlmNetwork::undo_pairs(const Linear& linear, const float* gradient, const PairDomain& domain) {
    float *by_first = nullptr, *by_second = nullptr;
    for (const Block& block : linear.blocks) {
        if (block.source != Source::Expand) continue;
        if (!by_first) {
            by_first = scattered(linear, domain.count, gradient, domain.first, input_.n);
            by_second = scattered(linear, domain.count, gradient, domain.second, input_.n);
        }
        const float* rows = source_rows(block);
        add_weight_gradient(linear, block, 0, input_.n, rows, nullptr, by_first);
        add_weight_gradient(linear, block, 1, input_.n, rows, nullptr, by_second);
        add_input_gradient(linear, block, input_.n, source_gradient(block),
                           {{by_first, nullptr, 0}, {by_second, nullptr, 1}});
    }
    undo_pair_parts(linear, false, 0, 1, domain, gradient);
}

void NlmNetwork::undo_pair_parts(const Linear& linear, bool expanded, int plain, int mirrored,
                                 const PairDomain& domain, const float* gradient) {
    auto undo_block = [&](const Block& block, int64_t count, const float* from, const int* transposed) {
        add_weight_gradient(linear, block, plain, count, source_rows(block), nullptr, from);
        add_weight_gradient(linear, block, mirrored, count, source_rows(block), transposed, from);
        add_input_gradient(linear, block, count, source_gradient(block),
                           {{from, nullptr, plain}, {from, transposed, mirrored}});
    };
    for (const PairIndex* index : {&input_.types, &input_.colours, &input_.sets}) {
        const float* table = nullptr;
        for (const Block& block : linear.blocks) {
            if ((block.source == Source::Expand) != expanded || index_of(block) != index) continue;
            const int* rows = index_in(domain, index);
            if (!table)
                table = rows ? scattered(linear, domain.count, gradient, rows, index->count) : gradient;
            undo_block(block, index->count, table, index->transposed);
        }
    }
    for (const Block& block : linear.blocks)
        if ((block.source == Source::Expand) == expanded && !index_of(block))
            undo_block(block, domain.count, gradient, mirrored_.data());
}

// Only the input is below: no gradient goes further.
void NlmNetwork::undo_first_triples(const Linear& linear, const Tensor& result) {
    kernel_.scatter(result.count, result.pitch, result.gradient, nullptr, packed_ + linear.bias_row());
    constexpr int kPlain[] = {0, 1, 3}, kMirrored[] = {2, 4, 5};
    for (const Block& block : linear.blocks) {
        const float* rows = tensor(block).rows;
        if (block.source == Source::Own)
            for (int p = 0; p < 6; ++p)
                add_weight_gradient(linear, block, p, result.count, rows, input_.permuted_class[p],
                                    result.gradient);
        for (int pair = 0; pair < 3 && block.source == Source::Expand; ++pair) {
            const float* by_type =
                scattered(linear, result.count, result.gradient, input_.class_pair[pair], input_.types.count);
            add_weight_gradient(linear, block, kPlain[pair], input_.types.count, rows, nullptr, by_type);
            add_weight_gradient(linear, block, kMirrored[pair], input_.types.count, rows,
                                input_.types.transposed, by_type);
        }
    }
}

void NlmNetwork::undo_triples(const Linear& linear, const Tensor& result) {
    const bool is_stored = result.rows_of != RowsOf::Nothing;
    const bool by_shade = result.rows_of == RowsOf::Shades;
    const PairDomain domain = by_shade ? colours() : all_pairs();
    PairTables tables;
    // The gradient of the sums, by the rows of the finest of the triple's own channels.
    const float* gradient = result.gradient;
    RowsOf rows_of = result.rows_of;
    int64_t count = result.count;
    if (is_stored) {
        const int* const* pair = by_shade ? input_.shade_pair : triple_pair_;
        for (int q = 0; q < 3; ++q) tables[q] = scattered(linear, count, gradient, pair[q], domain.count);
    } else {
        for (float*& table : tables) table = arena_->take_zeros<float>(domain.count * result.pitch);
        rows_of = result.own_rows;
        count = result.own_count;
        float* own = arena_->take_zeros<float>(count * result.pitch);
        gradient = own;
        kernel_.undo_triples(result.triples, result.min_gradient, result.max_gradient, tables[0], tables[1],
                             tables[2], own);
    }
    kernel_.scatter(domain.count, result.pitch, tables[0], nullptr, packed_ + linear.bias_row());
    constexpr int kPlain[] = {0, 1, 3}, kMirrored[] = {2, 4, 5};
    for (int pair = 0; pair < 3; ++pair)
        undo_pair_parts(linear, true, kPlain[pair], kMirrored[pair], domain, tables[pair]);
    for (RowsOf kind : {RowsOf::Tuples, RowsOf::Shades, RowsOf::Classes})
        for (const Block& block : linear.blocks) {
            const Tensor& x = tensor(block);
            if (block.source != Source::Own || x.rows_of != kind) continue;
            if (rows_of != kind)
                gradient = scattered(linear, count, gradient, coarser_rows(rows_of, kind), x.count);
            rows_of = kind;
            count = x.count;
            const int* const* index = permuted_rows(x);
            for (int p = 0; p < 6; ++p)
                add_weight_gradient(linear, block, p, count, x.rows, index[p], gradient);
            auto pull = [&](int p) { return Pull{gradient, index[kInversePermutation[p]], p}; };
            add_input_gradient(linear, block, count, x.gradient,
                               {pull(0), pull(1), pull(2), pull(3), pull(4), pull(5)});
        }
}

}  // namespace hstar
