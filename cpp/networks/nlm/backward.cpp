#include "networks/nlm/network.hpp"

namespace hstar {

void NlmNetwork::backward(const NlmWeights& weights, const float* gradient, float* packed) {
    weights_ = &weights;
    packed_ = packed;
    for (int layer = 0; layer < shape_.depth; ++layer)
        for (int arity = 0; arity <= shape_.top_arity(layer); ++arity) {
            Tensor& x = tensors_[layer + 1][arity];
            auto begin = [&](Table& table, int64_t count) {
                if (table.rows) table.gradient = arena_->take_zeros<float>(count * x.pitch);
            };
            begin(x.own, x.count);
            begin(x.min, x.reduction.count);
            begin(x.max, x.reduction.count);
            begin(x.sum, 1);
        }
    std::copy_n(gradient, shape_.outputs, tensors_[shape_.depth][0].own.gradient);
    for (int layer = shape_.depth - 1; layer >= 0; --layer)
        for (int arity = shape_.top_arity(layer); arity >= 0; --arity) undo(shape_.linear(layer, arity));
}

void NlmNetwork::undo(const Linear& linear) {
    Tensor& x = tensors_[linear.layer + 1][linear.arity];
    if (x.rows_of == RowsOf::Nothing) {
        float* gradients[4];
        for (int p = 0; p < 4; ++p) gradients[p] = arena_->take_zeros<float>(x.parts[p]->count * x.pitch);
        kernel_.undo_triples(x.triples, x.min.gradient, x.max.gradient, gradients[0], gradients[1],
                             gradients[2], gradients[3]);
        for (int p = 0; p < 4; ++p) undo(*x.parts[p], gradients[p]);
        return;
    }
    if (x.min.rows) kernel_.undo_reduce(x.reduction, x.min.gradient, x.max.gradient, x.own.gradient);
    for (int64_t row = 0; x.sum.rows && row < x.count; ++row) {
        const float weight = input_.weights ? input_.weights[row] : 1.0f;
        for (int c = 0; c < x.pitch; ++c) x.own.gradient[row * x.pitch + c] += weight * x.sum.gradient[c];
    }
    if (linear.layer < shape_.depth - 1)
        kernel_.undo_activation(shape_.activation, x.count, x.pitch, x.own.rows, x.own.gradient);
    undo(*x.root, x.own.gradient);
}

void NlmNetwork::undo(const Sum& sum, const float* gradient) {
    const Linear& linear = sum.linear;
    const int pitch = linear.pitch();
    const Tensor& x = tensors_[linear.layer + 1][linear.arity];
    if (&sum == (x.parts[0] ? x.parts[0] : x.root))
        kernel_.scatter(sum.count, pitch, gradient, nullptr, packed_ + linear.bias_row());
    for (const auto& [term, index] : sum.terms) {
        if (!index) {
            undo(*term, gradient);
            continue;
        }
        float* of_term = arena_->take_zeros<float>(term->count * pitch);
        kernel_.scatter(sum.count, pitch, gradient, index, of_term);
        undo(*term, of_term);
    }
    for (auto factor = sum.factors.begin(); factor != sum.factors.end();) {
        const Block& block = *factor->block;
        const Table& source = table(block);
        products_.clear();
        for (; factor != sum.factors.end() && factor->block == &block; ++factor) {
            const auto& [of, permutation, index, inverse] = *factor;
            kernel_.weight_gradient(sum.count, source.rows, index, pitch_of(block.channels), block.channels,
                                    gradient, pitch, packed_ + linear.weight_row(permutation, block.column));
            products_.push_back({gradient, inverse, pitch, linear.out,
                                 weights_->backward.data() + linear.backward_block(permutation, block)});
        }
        if (block.origin == 0) continue;  // no gradient goes further
        const NlmAddend there{source.gradient, nullptr};
        kernel_.affine({sum.count, pitch_of(block.channels), nullptr, &there, 1, products_.data(),
                        static_cast<int>(products_.size()), Activation::Identity, source.gradient});
    }
}

}  // namespace hstar
