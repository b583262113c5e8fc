// Linear functions: at the minimum the weights are what the rows ask for.
#include <algorithm>
#include <cmath>
#include <random>

#include "networks/linear/linear.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

struct DrawnRows {
    std::vector<int64_t> starts{0};
    std::vector<int> columns;
    std::vector<float> values;
    size_t width;

    explicit DrawnRows(std::mt19937& random) {
        const size_t count = random() % 40;
        width = 1 + random() % 8;
        for (size_t i = 0; i < count; ++i) {
            for (size_t c = 0; c < width; ++c) {
                if (random() % 3 == 0) continue;
                columns.push_back(static_cast<int>(c));
                values.push_back(static_cast<float>(random() % 7) - 3);
            }
            starts.push_back(static_cast<int64_t>(columns.size()));
        }
    }
    SparseRows rows() const { return {starts, columns, values, width}; }
};

// How far weights are from those where the gradient is zero. `pull(i, z)` is how much of row i they need,
// whose product with the weights is z.
template <class Pull>
double distance_to_minimum(const SparseRows& rows, const std::vector<double>& weights, Pull pull) {
    std::vector<double> wanted(rows.width);
    for (size_t i = 0; i < rows.size(); ++i) {
        double z = 0;
        for (size_t k = rows.begin(i); k < rows.end(i); ++k) z += rows.values[k] * weights[rows.columns[k]];
        for (size_t k = rows.begin(i); k < rows.end(i); ++k)
            wanted[rows.columns[k]] += pull(i, z) * rows.values[k];
    }
    double furthest = 0;
    for (size_t c = 0; c < rows.width; ++c) furthest = std::max(furthest, std::abs(weights[c] - wanted[c]));
    return furthest;
}

// `ahead` are seconds from now; below 0 the deadline has passed.
template <class Train>
bool stops_at_deadline(Train train, double ahead = -1) {
    try {
        train(Limits{ahead < 0 ? 1e-3 : monotonic_seconds() + ahead});
    } catch (const Stopped& stopped) {
        return stopped.reason == StopReason::Time;
    }
    return false;
}

}  // namespace

void test_rank_svm(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const DrawnRows drawn(random);
    const SparseRows rows = drawn.rows();
    const RankSvmOptions options{0.5, 1e-7, 100'000, static_cast<uint64_t>(seed)};
    const LinearFit found = train_rank_svm(rows, options, Limits());
    check(found.converged, "the rank-SVM converges", seed);
    const auto pull = [&](size_t, double z) { return 2 * options.penalty * std::max(0.0, 1 - z); };
    check(distance_to_minimum(rows, found.weights, pull) < 1e-4, "the gradient of the rank-SVM is zero",
          seed);
    check(train_rank_svm(rows, options, Limits()).weights == found.weights,
          "the rank-SVM is the same with the same seed", seed);
    check(stops_at_deadline([&](const Limits& limits) { train_rank_svm(rows, options, limits); }),
          "the rank-SVM stops at the deadline", seed);
}

// Work that would take very long ends on the way.
void test_linear_deadlines() {
    const int width = 1000, count = 4000;
    std::mt19937 random(1);
    std::vector<int64_t> starts{0};
    std::vector<int> columns;
    std::vector<float> values;
    for (int i = 0; i < count; ++i) {
        for (int c = static_cast<int>(random() % 5); c < width; c += 1 + static_cast<int>(random() % 5)) {
            columns.push_back(c);
            values.push_back(static_cast<float>(random() % 7) - 3);
        }
        starts.push_back(static_cast<int64_t>(columns.size()));
    }
    const SparseRows rows{starts, columns, values, static_cast<size_t>(width)};
    check(stops_at_deadline(
              [&](const Limits& limits) { train_rank_svm(rows, {1e6, 1e-300, 1'000'000'000, 0}, limits); },
              0.02),
          "the rank-SVM stops on the way", 0);
    check(stops_at_deadline(
              [&](const Limits& limits) {
                  fit_by_newton(rows, {}, {SmoothLoss::Logistic, 1.0, 1e-300, 1000}, limits);
              },
              0.02),
          "Newton's method stops on the way", 0);
}

void test_newton(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const DrawnRows drawn(random);
    const SparseRows rows = drawn.rows();
    std::vector<double> targets;
    for (size_t i = 0; i < rows.size(); ++i) targets.push_back(static_cast<double>(random() % 50));
    for (SmoothLoss loss : {SmoothLoss::Logistic, SmoothLoss::Squared}) {
        const bool is_squared = loss == SmoothLoss::Squared;
        const std::span<const double> wanted(targets.data(), is_squared ? targets.size() : 0);
        const NewtonOptions options{loss, 0.1 + seed % 5, 1e-7, 100};
        const LinearFit found = fit_by_newton(rows, wanted, options, Limits());
        check(found.converged, "Newton's method converges", seed);
        const auto pull = [&](size_t i, double z) {
            return options.penalty * (is_squared ? 2 * (targets[i] - z) : 1 / (1 + std::exp(z)));
        };
        check(distance_to_minimum(rows, found.weights, pull) < 1e-4,
              "the gradient is zero where Newton's method ends", seed);
        check(fit_by_newton(rows, wanted, options, Limits()).weights == found.weights,
              "Newton's method gives the same bits again", seed);
        check(stops_at_deadline([&](const Limits& limits) { fit_by_newton(rows, wanted, options, limits); }),
              "Newton's method stops at the deadline", seed);
    }
}
