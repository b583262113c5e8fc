#include "networks/linear/rank_svm.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/random.hpp"

namespace hstar {

namespace {

double squared_length(const SparseRows& rows, size_t i) {
    double sum = 0;
    for (float value : rows.values.subspan(rows.begin(i), rows.length(i)))
        sum += static_cast<double>(value) * value;
    return sum;
}

}  // namespace

RankSvm train_rank_svm(const SparseRows& rows, const RankSvmOptions& options, const Limits& limits) {
    // The meter asks for the first time after some work.
    limits.check();
    const double diagonal = 1 / (2 * options.penalty);  // what the square of the hinge adds to the dual
    std::vector<double> curvature(rows.size()), multiplier(rows.size(), 0.0);
    std::vector<size_t> active(rows.size());
    std::iota(active.begin(), active.end(), size_t{0});
    for (size_t i : active) curvature[i] = squared_length(rows, i) + diagonal;
    RankSvm found{std::vector<double>(rows.width, 0.0)};
    Random random(options.seed);
    WorkMeter meter(limits);
    // Rows that stay satisfied are left out for a while; the last pass looks at all of them.
    double slack = INFINITY;  // rows further inside than this are left out
    while (found.passes < options.max_passes && !found.converged) {
        const bool is_whole = active.size() == rows.size();
        random.shuffle(std::span(active));
        double furthest = 0;
        size_t kept = 0;
        for (size_t i : active) {
            const double gradient = rows.product(i, found.weights) - 1 + diagonal * multiplier[i];
            meter.spend(1 + 2 * rows.length(i));
            if (multiplier[i] == 0 && gradient > slack) continue;
            active[kept++] = i;
            const double projected = multiplier[i] > 0 ? gradient : std::min(gradient, 0.0);
            furthest = std::max(furthest, std::abs(projected));
            if (projected == 0) continue;
            const double before = multiplier[i];
            multiplier[i] = std::max(before - gradient / curvature[i], 0.0);
            rows.add(i, multiplier[i] - before, found.weights);
        }
        active.resize(kept);
        ++found.passes;
        slack = furthest;
        if (furthest > options.tolerance) continue;
        found.converged = is_whole;
        if (is_whole) continue;
        active.resize(rows.size());
        std::iota(active.begin(), active.end(), size_t{0});
        slack = INFINITY;
    }
    return found;
}

}  // namespace hstar
