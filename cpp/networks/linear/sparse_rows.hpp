// Sparse rows of numbers, as linear functions are trained on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hstar {

// Row i has values[k] in columns[k] for starts[i] <= k < starts[i + 1]. Values are finite, and no row has a
// column twice.
struct SparseRows {
    std::span<const int64_t> starts;
    std::span<const int> columns;
    std::span<const float> values;
    size_t width;  // columns are below

    size_t size() const { return starts.size() - 1; }
    size_t begin(size_t i) const { return static_cast<size_t>(starts[i]); }
    size_t end(size_t i) const { return static_cast<size_t>(starts[i + 1]); }
    size_t length(size_t i) const { return end(i) - begin(i); }

    // The inner product of row i with weights.
    double product(size_t i, const std::vector<double>& weights) const {
        double sum = 0;
        for (size_t k = begin(i); k < end(i); ++k)
            sum += values[k] * weights[static_cast<size_t>(columns[k])];
        return sum;
    }
    // Adds row i, times a factor.
    void add(size_t i, double factor, std::vector<double>& weights) const {
        for (size_t k = begin(i); k < end(i); ++k)
            weights[static_cast<size_t>(columns[k])] += factor * values[k];
    }
};

}  // namespace hstar
