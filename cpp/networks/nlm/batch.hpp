// Neural Logic Machines on batches of states, on several threads. Results are the same for any number of
// them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "networks/nlm/shape.hpp"
#include "runtime/cache_aligned.hpp"
#include "runtime/require.hpp"

namespace hstar {

struct NlmWorker;

// Sparse inputs of states: sizes[i] objects and entries starts[i] .. starts[i + 1].
struct NlmBatch {
    std::span<const int> sizes;
    std::span<const int64_t> starts;
    std::span<const NlmEntry> entries;
    std::span<const float> values;

    int64_t count() const { return static_cast<int64_t>(sizes.size()); }
    // Those of a state, of entries or values.
    template <class Items>
    Items of_state(Items items, int64_t state) const {
        return items.subspan(static_cast<size_t>(starts[state]),
                             static_cast<size_t>(starts[state + 1] - starts[state]));
    }
    // Throws std::invalid_argument unless everything is in range.
    void check(const NlmShape& shape) const;
};

// Throws std::invalid_argument if the entries of a state with n objects are out of range.
void check_entries(const NlmShape& shape, int n, std::span<const NlmEntry> entries,
                   std::span<const float> values);

// How the states of one task become inputs.
struct NlmEncoding {
    int num_objects = 0;
    std::vector<NlmEntry> base_entries;  // the same in all states
    std::vector<float> base_values;
    std::vector<NlmEntry> fact_entries;  // per fact of the task; arity -1: it adds nothing

    // Throws std::invalid_argument unless it fits the network and a task with so many facts.
    void check(const NlmShape& shape, int num_facts) const {
        require(base_entries.size() == base_values.size(), "there must be one base value per base entry");
        require(fact_entries.size() == static_cast<size_t>(num_facts),
                "there must be one entry per fact of the task (", num_facts, ")");
        check_entries(shape, num_objects, base_entries, base_values);
        for (const NlmEntry& entry : fact_entries) {
            if (entry.arity == -1 && entry.index == -1) continue;
            const float one = 1.0f;
            check_entries(shape, num_objects, {&entry, 1}, {&one, 1});
        }
    }
};

// Fills the gradient of a state's outputs, given the outputs. Called once per state, from any thread.
using NlmGradient = std::function<void(int64_t state, const float* output, float* gradient)>;

// Work space that is kept from batch to batch. Batches must be valid. Results are not numbers throughout if
// some parameter is not finite.
class NlmRunner {
  public:
    explicit NlmRunner(const NlmShape& shape);
    ~NlmRunner();
    const NlmShape& shape() const { return shape_; }
    // result: count x outputs.
    void forward(const NlmWeights& weights, const NlmBatch& batch, int threads, float* result);
    // result: the gradient of sum(gradient * output) with respect to each parameter.
    void backward(const NlmWeights& weights, const NlmBatch& batch, const NlmGradient& fill_gradient,
                  int threads, float* result);

  private:
    // Calls then(worker, state) after the way of each state through the network, in any order.
    template <class Then>
    void forward_each(const NlmWeights& weights, const NlmBatch& batch, int threads, float* result,
                      Then then);

    NlmShape shape_;
    std::vector<std::unique_ptr<NlmWorker>> workers_;  // one per thread
    AlignedVector<float> packed_;                      // gradients of chunks
};

}  // namespace hstar
