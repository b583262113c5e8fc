// The rank-SVM: at the minimum the weights are what the violated rows ask for.
#include <algorithm>
#include <cmath>
#include <random>

#include "networks/linear/rank_svm.hpp"
#include "tests.hpp"

using namespace hstar;

void test_rank_svm(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const size_t count = random() % 40, width = 1 + random() % 8;
    std::vector<int64_t> starts{0};
    std::vector<int> columns;
    std::vector<float> values;
    for (size_t i = 0; i < count; ++i) {
        for (size_t c = 0; c < width; ++c) {
            if (random() % 3 == 0) continue;
            columns.push_back(static_cast<int>(c));
            values.push_back(static_cast<float>(random() % 7) - 3);
        }
        starts.push_back(static_cast<int64_t>(columns.size()));
    }
    const SparseRows rows{starts, columns, values, width};
    const RankSvmOptions options{0.5, 1e-7, 100'000, static_cast<uint64_t>(seed)};
    const RankSvm found = train_rank_svm(rows, options, Limits());
    check(found.converged, "the rank-SVM converges", seed);

    std::vector<double> wanted(width);  // the gradient is zero where the weights are these
    for (size_t i = 0; i < count; ++i) {
        double product = 0;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) product += values[k] * found.weights[columns[k]];
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k)
            wanted[columns[k]] += 2 * options.penalty * std::max(0.0, 1 - product) * values[k];
    }
    double furthest = 0;
    for (size_t c = 0; c < width; ++c) furthest = std::max(furthest, std::abs(found.weights[c] - wanted[c]));
    check(furthest < 1e-4, "the gradient of the rank-SVM is zero", seed);
    check(train_rank_svm(rows, options, Limits()).weights == found.weights,
          "the rank-SVM is the same with the same seed", seed);
    bool is_stopped = false;
    try {
        train_rank_svm(rows, options, Limits{1e-3});  // a deadline long ago
    } catch (const Stopped& stopped) {
        is_stopped = stopped.reason == StopReason::Time;
    }
    check(is_stopped, "the rank-SVM stops at the deadline", seed);
}
