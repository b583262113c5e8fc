// What training on labelled rows minimises, per row: y is the network's output, h a label, and [lower, upper]
// holds the distance to the goal. Any of the three may be missing (NaN).
//
//     squared              (y - h)^2
//     interval             -log P(lower <= X <= upper) for a whole number X. It has a logistic distribution
//                          with mean y and a fixed scale; the mass between X - 1/2 and X + 1/2 counts for X.
//                          A bound that is missing is none.
//     truncated-gaussian   -log of the density at h of the Gaussian (y, scale) cut to [lower - epsilon, upper
//                          + epsilon], as in hstar.slots.objectives.likelihood
//     l-gbfs               log(1 + exp(y - y')) for two rows with h < h': the order of states, not their
//                          values (Chrestien et al. 2023). Neighbours in a chunk of a batch are compared.
//
// A row that lacks what an objective needs (h; for an interval a bound) teaches nothing: its loss is 0.
#pragma once
#include <string>

namespace hstar {

struct TrainingObjective {
    std::string name = "squared";
    double scale = 1, epsilon = 0.1;

    bool compares_rows() const { return name == "l-gbfs"; }
    void check() const;  // throws std::invalid_argument
};

struct LossAndSlope {
    double loss, slope;  // slope: by y
};

using RowLoss = LossAndSlope (*)(const TrainingObjective& objective, double y, double h, double lower,
                                 double upper);
// Null for an objective that compares rows.
RowLoss find_row_loss(const TrainingObjective& objective);
// Of two rows with the outputs `better` and `worse`; the slope is by the better one's, and minus the worse's.
LossAndSlope pair_loss(double better, double worse);

}  // namespace hstar
