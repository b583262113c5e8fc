#include <algorithm>
#include <cmath>
#include <limits>

#include "networks/mlp/trainer.hpp"
#include "networks/truncated_gaussian.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

using truncated_gaussian::excess;
using truncated_gaussian::exp_of_negative;
using truncated_gaussian::one_minus_exp;
using truncated_gaussian::sigmoid;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLogSqrtTwoPi = 0.9189385332046727;

LossAndSlope squared(const TrainingObjective&, double y, double h, double, double) {
    if (std::isnan(h)) return {0, 0};
    return {(y - h) * (y - h), 2 * (y - h)};
}

// -log sigmoid(x)
double softplus_of_minus(double x) {
    return std::log1p(exp_of_negative(-std::fabs(x))) + (x < 0 ? -x : 0);
}

// With a and b the widened bounds in units of the scale, seen from y: sigmoid(b) - sigmoid(a) is sigmoid(b)
// sigmoid(-a) (1 - exp(a - b)), a product of numbers that are all known to full precision.
LossAndSlope interval(const TrainingObjective& objective, double y, double h, double lower, double upper) {
    LossAndSlope result{0, 0};
    if (!std::isnan(h)) lower = upper = h;
    if (!std::isnan(upper)) {
        const double b = (upper + 0.5 - y) / objective.scale;
        result.loss += softplus_of_minus(b);
        result.slope += sigmoid(-b) / objective.scale;
    }
    if (!std::isnan(lower)) {
        const double a = (lower - 0.5 - y) / objective.scale;
        result.loss += softplus_of_minus(-a);
        result.slope -= sigmoid(a) / objective.scale;
    }
    if (!std::isnan(lower) && !std::isnan(upper))
        result.loss -= std::log(one_minus_exp((upper - lower + 1) / objective.scale));
    return result;
}

// log P(Z > x) for x >= 0
double log_tail(double x) {
    return -0.5 * x * x - kLogSqrtTwoPi - std::log(x + excess(x));
}

// log P(a < Z < b)
double log_mass(double a, double b) {
    if (b <= 0) return log_mass(-b, -a);
    if (a < 0) {
        const double below = a == -kInfinity ? 0 : std::exp(log_tail(-a));
        return std::log1p(-below - (b == kInfinity ? 0 : std::exp(log_tail(b))));
    }
    if (b == kInfinity) return log_tail(a);
    const double near = log_tail(a), far = log_tail(b);
    return near + std::log(one_minus_exp(near - far));
}

LossAndSlope truncated(const TrainingObjective& objective, double y, double h, double lower, double upper) {
    const double sigma = objective.scale;
    const double low = std::isnan(lower) ? -kInfinity : lower - objective.epsilon;
    const double high = std::isnan(upper) ? kInfinity : upper + objective.epsilon;
    const double mass = log_mass((low - y) / sigma, (high - y) / sigma);
    const double mean = truncated_gaussian_mean(y, sigma, low, high);
    if (std::isnan(h)) return {-mass, (y - mean) / (sigma * sigma)};
    const double z = (h - y) / sigma;
    return {0.5 * z * z + kLogSqrtTwoPi + std::log(sigma) + mass, (mean - h) / (sigma * sigma)};
}

}  // namespace

void TrainingRows::check_labels() const {
    const size_t count = starts.size() - 1;
    require(count < (size_t{1} << 31), "there are too many rows");
    for (const auto* labels : {&h, &lower, &upper}) {
        require(labels->size() == count, "h, lower and upper must have one number per row");
        require(std::ranges::none_of(*labels, [](float x) { return std::isinf(x); }), "a label is infinite");
    }
    for (size_t row = 0; row < count; ++row)
        require(!(lower[row] > upper[row]), "row ", row, " has a lower bound over its upper bound");
}

LossAndSlope pair_loss(double better, double worse) {
    return {softplus_of_minus(worse - better), sigmoid(better - worse)};
}

RowLoss find_row_loss(const TrainingObjective& objective) {
    require(objective.scale > 0 && objective.scale < kInfinity && objective.epsilon > 0 &&
                objective.epsilon < kInfinity,
            "scale and epsilon must be positive and finite");
    return chosen<RowLoss>("objective", objective.name,
                           {{"squared", squared},
                            {"interval", interval},
                            {"truncated-gaussian", truncated},
                            {"l-gbfs", nullptr}});
}

}  // namespace hstar
