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
#pragma once
#include <span>
#include <vector>

#include "networks/linear/sparse_rows.hpp"
#include "runtime/limits.hpp"

namespace hstar {

enum class SmoothLoss { Logistic, Squared };

// A step factorises a square matrix with so many columns: at this size it takes about half a second.
constexpr size_t kMostNewtonColumns = 1536;

struct NewtonOptions {
    SmoothLoss loss = SmoothLoss::Logistic;
    double penalty = 1.0;     // C
    double tolerance = 1e-6;  // of the gradient's largest number, as a part of what it was at the start
    int max_steps = 100;
};

struct NewtonFit {
    std::vector<double> weights;
    int steps = 0;
    bool converged = false;
};

// `targets` are the y_i, and empty for the logistic loss. Throws Stopped at the limits.
NewtonFit fit_by_newton(const SparseRows& rows, std::span<const double> targets, const NewtonOptions& options,
                        const Limits& limits);

}  // namespace hstar
