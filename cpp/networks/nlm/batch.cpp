#include "networks/nlm/batch.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "networks/nlm/worker.hpp"
#include "runtime/chunks.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

// States are worked on in chunks; the gradients of a chunk are summed one after the other, and then those of
// the chunks. Their size depends on the batch alone, never on the threads.
int64_t chunk_size(int64_t count) {
    constexpr int64_t kMostChunks = 64, kSmallest = 8;
    return std::max(kSmallest, (count + kMostChunks - 1) / kMostChunks);
}

}  // namespace

struct NlmRunner::Worker : NlmWorker {
    using NlmWorker::NlmWorker;
    void forward(const NlmWeights& weights, const NlmBatch& batch, int64_t state, float* output) {
        const auto entries = batch.of_state(batch.entries, state);
        const auto values = batch.of_state(batch.values, state);
        NlmWorker::forward(weights, twins.signatures_of(batch.sizes[state], entries, values), entries, values,
                           output);
    }
};

NlmRunner::NlmRunner(const NlmShape& shape) : shape_(shape), arena_(std::make_unique<Arena>()) {}
NlmRunner::~NlmRunner() = default;

// Calls work(worker, chunk, first state, end) for all chunks, in any order.
template <class Work>
void NlmRunner::for_each_states(const NlmBatch& batch, int threads, Work work) {
    const int64_t count = batch.count(), size = chunk_size(count), chunks = (count + size - 1) / size;
    workers_.resize(std::max(workers_.size(), static_cast<size_t>(std::max(threads, 1))));
    for_each_chunk(
        static_cast<uint64_t>(chunks), threads,
        [&](int thread) {
            auto& worker = workers_[thread];
            if (!worker) worker = std::make_unique<Worker>(shape_);
            return worker.get();
        },
        [&](Worker& worker, uint64_t number) {
            const int64_t chunk = static_cast<int64_t>(number);
            work(worker, chunk, chunk * size, std::min(count, (chunk + 1) * size));
        });
}

void check_entries(const NlmShape& shape, int n, std::span<const NlmEntry> entries,
                   std::span<const float> values) {
    if (n < 0) refuse("the number of objects is negative");
    int64_t size[kMaxBreadth + 1] = {};
    int64_t tuples = 1;
    for (int arity = 0; arity <= shape.breadth; ++arity, tuples *= n) {
        size[arity] = tuples * shape.channels[arity];
        if (std::max(size[arity], tuples) > std::numeric_limits<int>::max())
            refuse("an NLM of breadth ", shape.breadth, " cannot take ", n,
                   " objects: there are too many tuples");
    }
    for (size_t e = 0; e < entries.size(); ++e) {
        const auto [arity, index] = entries[e];
        if (arity < 0 || arity > shape.breadth || index < 0 || index >= size[arity])
            refuse("entry (", arity, ", ", index, ") is outside of the input of ", n, " objects");
        if (!std::isfinite(values[e])) refuse("an input value is not finite");
    }
}

void NlmBatch::check(const NlmShape& shape) const {
    require(starts.size() == sizes.size() + 1, "starts must have one number more than sizes");
    require(values.size() == entries.size(), "there must be one value per entry");
    require(starts.front() >= 0, "starts must not be negative");
    require(std::ranges::is_sorted(starts), "starts must not decrease");
    require(starts.back() <= static_cast<int64_t>(entries.size()), "starts go beyond the entries");
    for (int64_t i = 0; i < count(); ++i)
        check_entries(shape, sizes[i], of_state(entries, i), of_state(values, i));
}

void NlmRunner::forward(const NlmWeights& weights, const NlmBatch& batch, int threads, float* result) {
    if (!weights.is_finite) {
        std::fill_n(result, batch.count() * shape_.outputs, std::numeric_limits<float>::quiet_NaN());
        return;
    }
    for_each_states(batch, threads, [&](Worker& worker, int64_t, int64_t first, int64_t end) {
        for (int64_t state = first; state < end; ++state)
            worker.forward(weights, batch, state, result + state * shape_.outputs);
    });
}

void NlmRunner::backward(const NlmWeights& weights, const NlmBatch& batch, const NlmGradient& fill_gradient,
                         int threads, float* result) {
    std::fill_n(result, shape_.num_parameters, 0.0f);
    if (!weights.is_finite) {
        std::fill_n(result, shape_.num_parameters, std::numeric_limits<float>::quiet_NaN());
        return;
    }
    const int64_t count = batch.count(), size = chunk_size(count), chunks = (count + size - 1) / size;
    const auto floats = static_cast<int64_t>(shape_.packed_floats);
    arena_->clear();
    float* packed = arena_->take_zeros<float>(std::max<int64_t>(1, chunks) * floats);
    for_each_states(batch, threads, [&](Worker& worker, int64_t chunk, int64_t first, int64_t end) {
        std::vector<float> output(shape_.outputs), gradient(shape_.outputs);
        for (int64_t state = first; state < end; ++state) {
            worker.forward(weights, batch, state, output.data());
            fill_gradient(state, output.data(), gradient.data());
            worker.network.backward(weights, gradient.data(), packed + chunk * floats);
        }
    });
    for (int64_t chunk = 1; chunk < chunks; ++chunk)
        for (int64_t i = 0; i < floats; ++i) packed[i] += packed[chunk * floats + i];
    add_packed(shape_, packed, result);
}

}  // namespace hstar
