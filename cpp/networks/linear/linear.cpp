#include "networks/linear/linear.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/random.hpp"
#include "runtime/require.hpp"

namespace hstar {

LinearFit train_rank_svm(const SparseRows& rows, const RankSvmOptions& options, const Limits& limits) {
    // The meter asks for the first time after some work.
    limits.check();
    const double diagonal = 1 / (2 * options.penalty);  // what the square of the hinge adds to the dual
    std::vector<double> curvature(rows.size()), multiplier(rows.size(), 0.0);
    std::vector<size_t> active(rows.size());
    std::iota(active.begin(), active.end(), size_t{0});
    for (size_t i : active) curvature[i] = rows.squared_length(i) + diagonal;
    LinearFit found{std::vector<double>(rows.width, 0.0)};
    Random random(options.seed);
    WorkMeter meter(limits);
    // Rows that stay satisfied are left out for a while; the last pass looks at all of them.
    double slack = INFINITY;  // rows further inside than this are left out
    while (found.rounds < options.max_passes && !found.converged) {
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
        ++found.rounds;
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

namespace {

// Objectives that differ by less than this part are equal: a sum of many terms has such errors.
constexpr double kRounding = 1e-12;

class Newton {
  public:
    Newton(const SparseRows& rows, std::span<const double> targets, const NewtonOptions& options,
           const Limits& limits)
        : rows_(rows), targets_(targets), options_(options), meter_(limits) {}

    LinearFit run() {
        LinearFit found{std::vector<double>(rows_.width, 0.0)};
        double value = objective(found.weights), first = 0;
        while (true) {
            differentiate(found.weights);
            const double furthest = largest(gradient_);
            if (found.rounds == 0) first = furthest;
            found.converged = std::isfinite(furthest) && furthest <= options_.tolerance * first;
            if (found.converged || found.rounds == options_.max_steps) return found;
            slope_ = gradient_;
            solve();
            ++found.rounds;
            // The objective is convex: a short enough step goes down, unless rounding hides it.
            std::vector<double> next(found.weights);
            double length = 1, reached = value;
            for (; length > 1e-10; length /= 2) {
                for (size_t c = 0; c < next.size(); ++c) next[c] = found.weights[c] - length * gradient_[c];
                reached = objective(next);
                if (reached < value) break;
            }
            if (!(reached < value)) {
                found.converged = expected_gain() <= kRounding * value;
                return found;
            }
            found.weights = next;
            value = reached;
        }
    }

  private:
    struct Loss {
        double value, slope, curvature;
    };
    Loss loss(size_t i, double z) const {
        if (options_.loss == SmoothLoss::Squared) {
            const double error = z - targets_[i];
            return {error * error, 2 * error, 2};
        }
        const double tail = std::exp(-std::abs(z));  // so that nothing overflows
        const double wrong = (z > 0 ? tail : 1) / (1 + tail);
        return {std::max(-z, 0.0) + std::log1p(tail), -wrong, wrong * (1 - wrong)};
    }

    double objective(const std::vector<double>& weights) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < rows_.size(); ++i) {
            meter_.spend(1 + rows_.length(i));
            sum += loss(i, rows_.product(i, weights)).value;
        }
        for (double weight : weights) square += weight * weight;
        return square / 2 + options_.penalty * sum;
    }

    // Fills gradient_ and the lower half of hessian_.
    void differentiate(const std::vector<double>& weights) {
        gradient_ = weights;
        hessian_.assign(rows_.width * rows_.width, 0.0);
        for (size_t c = 0; c < rows_.width; ++c) hessian_[c * rows_.width + c] = 1;
        for (size_t i = 0; i < rows_.size(); ++i) {
            const size_t begin = rows_.begin(i), end = rows_.end(i);
            meter_.spend(1 + rows_.length(i) * rows_.length(i));
            const Loss one = loss(i, rows_.product(i, weights));
            rows_.add(i, options_.penalty * one.slope, gradient_);
            const double factor = options_.penalty * one.curvature;
            for (size_t k = begin; k < end; ++k) {  // columns rise
                double* row = hessian_.data() + static_cast<size_t>(rows_.columns[k]) * rows_.width;
                const double share = factor * rows_.values[k];
                for (size_t j = begin; j <= k; ++j) row[rows_.columns[j]] += share * rows_.values[j];
            }
        }
    }

    // Replaces gradient_ by the solution of hessian_ x = gradient_: Cholesky, in place.
    void solve() {
        const size_t n = rows_.width;
        const auto at = [&](size_t i, size_t j) -> double& { return hessian_[i * n + j]; };
        for (size_t i = 0; i < n; ++i) {
            meter_.spend(1 + i * i);
            for (size_t j = 0; j <= i; ++j) {
                double sum = at(i, j);
                for (size_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
                at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
            }
            double x = gradient_[i];
            for (size_t k = 0; k < i; ++k) x -= at(i, k) * gradient_[k];
            gradient_[i] = x / at(i, i);
        }
        for (size_t i = n; i-- > 0;) {
            gradient_[i] /= at(i, i);
            for (size_t k = 0; k < i; ++k) gradient_[k] -= at(i, k) * gradient_[i];
        }
    }

    // How far the objective would go down if it were the parabola that the step assumes.
    double expected_gain() const {
        return std::inner_product(slope_.begin(), slope_.end(), gradient_.begin(), 0.0) / 2;
    }

    static double largest(const std::vector<double>& numbers) {
        double most = 0;
        for (double number : numbers) most = std::max(most, std::abs(number));
        return most;
    }

    const SparseRows& rows_;
    std::span<const double> targets_;
    const NewtonOptions& options_;
    WorkMeter meter_;
    std::vector<double> gradient_, hessian_;
    std::vector<double> slope_;  // the gradient, once gradient_ holds the step
};

}  // namespace

LinearFit fit_by_newton(const SparseRows& rows, std::span<const double> targets, const NewtonOptions& options,
                        const Limits& limits) {
    limits.check();  // the meter asks for the first time after some work
    require(rows.width <= kMostNewtonColumns, "there are ", rows.width,
            " features, and this objective takes at most ", kMostNewtonColumns);
    require(targets.size() == (options.loss == SmoothLoss::Squared ? rows.size() : 0),
            "the squared loss needs a target for each row, and the logistic loss none");
    return Newton(rows, targets, options, limits).run();
}

}  // namespace hstar
