// Linear functions, trained on sparse rows of numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/limits.hpp"

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
    double squared_length(size_t i) const {
        double sum = 0;
        for (float value : values.subspan(begin(i), length(i))) sum += static_cast<double>(value) * value;
        return sum;
    }
    // Adds row i, times a factor.
    void add(size_t i, double factor, std::vector<double>& weights) const {
        for (size_t k = begin(i); k < end(i); ++k)
            weights[static_cast<size_t>(columns[k])] += factor * values[k];
    }
};

// A linear function that ranks: for rows d_i, each the features of a worse state minus those of a better one,
// the weights w with the least
//
//     1/2 |w|^2 + C sum_i max(0, 1 - w . d_i)^2,
//
// so that every worse state should get a value at least 1 above that of the better one. Dual coordinate
// descent (Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008).
struct RankSvmOptions {
    double penalty = 1.0;     // C
    double tolerance = 0.01;  // how far any row may be from its best multiplier
    int max_passes = 1000;    // over all rows
    uint64_t seed = 0;        // of the order of rows
};

struct LinearFit {
    std::vector<double> weights;
    int rounds = 0;  // passes or steps
    bool converged = false;
};

// Throws Stopped at the limits.
LinearFit train_rank_svm(const SparseRows& rows, const RankSvmOptions& options, const Limits& limits);

// A linear function with a smooth loss: for rows x_i, the weights w with the least
//
//     1/2 |w|^2 + C sum_i loss(w . x_i),
//
// by Newton's method. The loss is either
//
//     logistic   log(1 + exp(-w . x_i)): rows are the features of a worse state minus those of a better one
//     squared    (w . x_i - y_i)^2: rows are the features of a state, y_i is its distance to the goal
//
// All sums have a fixed order, so equal rows give equal bytes on one machine. (The exponential function may
// round differently on another.)
enum class SmoothLoss { Logistic, Squared };

// A step factorises a square matrix with so many columns: at this size it takes about half a second.
constexpr size_t kMostNewtonColumns = 1536;

struct NewtonOptions {
    SmoothLoss loss = SmoothLoss::Logistic;
    double penalty = 1.0;     // C
    double tolerance = 1e-6;  // of the gradient's largest number, as a part of what it was at the start
    int max_steps = 100;
};

// `targets` are the y_i, and empty for the logistic loss. Throws Stopped at the limits.
LinearFit fit_by_newton(const SparseRows& rows, std::span<const double> targets, const NewtonOptions& options,
                        const Limits& limits);

}  // namespace hstar
