// Neural Logic Machines on batches of states, on several threads. Results are the same for any number of
// them.
#pragma once
#include <cstdint>
#include <functional>

#include "networks/nlm/input.hpp"
#include "networks/nlm/shape.hpp"

namespace hstar {

// Sparse inputs of `count` states: sizes[i] objects and entries starts[i] .. starts[i + 1].
struct NlmBatch {
    int64_t count;
    const int* sizes;
    const int64_t* starts;
    int64_t num_entries;
    const NlmEntry* entries;
    const float* values;

    // Throws std::invalid_argument unless everything is in range.
    void check(const NlmShape& shape) const;
};

// Throws std::invalid_argument if the entries of a state with n objects are out of range.
void check_entries(const NlmShape& shape, int n, std::span<const NlmEntry> entries,
                   std::span<const float> values);

// result: count x outputs. Not a number throughout if some parameter is not finite.
void nlm_forward(const NlmShape& shape, const float* theta, const NlmBatch& batch, int threads,
                 float* result);
// result: the gradient of sum(gradient * output) with respect to each parameter; gradient: count x outputs.
void nlm_backward(const NlmShape& shape, const float* theta, const NlmBatch& batch, const float* gradient,
                  int threads, float* result);
// The same where the gradient depends on the outputs: fill_gradient(state, output, gradient) is called once
// per state, from any thread.
using NlmGradient = std::function<void(int64_t, const float*, float*)>;
void nlm_backward(const NlmShape& shape, const float* theta, const NlmBatch& batch,
                  const NlmGradient& fill_gradient, int threads, float* result);

}  // namespace hstar
