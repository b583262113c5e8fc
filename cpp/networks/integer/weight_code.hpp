// Weights of integer networks in fewer bytes than their order-0 entropy: each is coded with probabilities
// learned from those before it (as DeepCABAC codes networks with adaptive contexts: Wiedemann et al., 2020).
//
// Rows and columns differ in scale, and rows resemble each other. So a weight is predicted from the earlier
// rows of its column, by coefficients that its row learns as it goes (normalised least mean squares), and its
// spread from the errors in its row and in its column. The bits of a weight, the highest first, then have
// several probabilities: from a logistic distribution around the prediction, and from counts in contexts.
// They are averaged in the logistic domain by learned shares (Mahoney, "Adaptive weighing of context models
// for lossless data compression", 2005).
//
// All arithmetic is in integers, so a code decodes to the same weights on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hstar {

// Both throw std::invalid_argument: for weights beyond +-(2^(bits - 1) - 1), for bits outside 2..8, for more
// than 2^26 weights, and for bytes that `encode_weights` would not write.
std::vector<uint8_t> encode_weights(const int8_t* weights, size_t rows, size_t columns, int bits);
std::vector<int8_t> decode_weights(const uint8_t* code, size_t size, size_t rows, size_t columns, int bits);

}  // namespace hstar
