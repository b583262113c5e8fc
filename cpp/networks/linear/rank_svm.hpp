// A linear function that ranks: for rows d_i, each the features of a worse state minus those of a better one,
// the weights w with the least
//
//     1/2 |w|^2 + C sum_i max(0, 1 - w . d_i)^2,
//
// so that every worse state should get a value at least 1 above that of the better one. Dual coordinate
// descent (Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008).
#pragma once
#include <cstdint>
#include <vector>

#include "networks/linear/sparse_rows.hpp"
#include "runtime/limits.hpp"

namespace hstar {

struct RankSvmOptions {
    double penalty = 1.0;     // C
    double tolerance = 0.01;  // how far any row may be from its best multiplier
    int max_passes = 1000;    // over all rows
    uint64_t seed = 0;        // of the order of rows
};

struct RankSvm {
    std::vector<double> weights;
    int passes = 0;
    bool converged = false;
};

// Throws Stopped at the limits.
RankSvm train_rank_svm(const SparseRows& rows, const RankSvmOptions& options, const Limits& limits);

}  // namespace hstar
