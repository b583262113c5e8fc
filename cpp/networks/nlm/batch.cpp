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

NlmRunner::NlmRunner(const NlmShape& shape) : shape_(shape) {}
NlmRunner::~NlmRunner() = default;

template <class Then>
void NlmRunner::forward_each(const NlmWeights& weights, const NlmBatch& batch, int threads, float* result,
                             Then then) {
    const int64_t count = batch.count(), size = chunk_size(count);
    workers_.resize(std::max(workers_.size(), static_cast<size_t>(std::max(threads, 1))));
    for_each_chunk(
        static_cast<uint64_t>((count + size - 1) / size), threads,
        [&](int thread) {
            auto& worker = workers_[thread];
            if (!worker) worker = std::make_unique<NlmWorker>(shape_);
            return worker.get();
        },
        [&](NlmWorker& worker, uint64_t chunk) {
            const int64_t first = static_cast<int64_t>(chunk) * size;
            for (int64_t state = first; state < std::min(count, first + size); ++state) {
                const auto entries = batch.of_state(batch.entries, state);
                const auto values = batch.of_state(batch.values, state);
                worker.forward(weights, worker.twins.signatures_of(batch.sizes[state], entries, values),
                               entries, values, result + state * shape_.outputs);
                then(worker, state);
            }
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
    forward_each(weights, batch, threads, result, [](NlmWorker&, int64_t) {});
}

void NlmRunner::backward(const NlmWeights& weights, const NlmBatch& batch, const NlmGradient& fill_gradient,
                         int threads, float* result) {
    std::fill_n(result, shape_.num_parameters,
                weights.is_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN());
    if (!weights.is_finite) return;
    const int64_t count = batch.count(), size = chunk_size(count), chunks = (count + size - 1) / size;
    const auto floats = static_cast<int64_t>(shape_.packed_floats);
    packed_.assign(static_cast<size_t>(std::max<int64_t>(1, chunks) * floats), 0.0f);
    float* packed = packed_.data();
    std::vector<float> outputs(static_cast<size_t>(count * shape_.outputs)), gradients(outputs.size());
    forward_each(weights, batch, threads, outputs.data(), [&](NlmWorker& worker, int64_t state) {
        float* gradient = gradients.data() + state * shape_.outputs;
        fill_gradient(state, outputs.data() + state * shape_.outputs, gradient);
        worker.network.backward(weights, gradient, packed + state / size * floats);
    });
    for (int64_t chunk = 1; chunk < chunks; ++chunk)
        for (int64_t i = 0; i < floats; ++i) packed[i] += packed[chunk * floats + i];
    add_packed(shape_, packed, result);
}

}  // namespace hstar
