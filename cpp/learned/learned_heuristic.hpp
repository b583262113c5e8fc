// Learned heuristics: a small model's number, corrected by what symbolic heuristics know of the state.
//
// mu = model(s) + base(s), or model(s) + min(base(s), cap lower(s)), and the value is mu, max(mu, lower(s)),
// or the mean of the Gaussian (mu, sigma) cut to [lower(s) - epsilon, infinity), where lower(s) never exceeds
// the distance to the goal. Where base or lower is infinite no plan exists, whatever the model says.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "networks/nlm/input.hpp"
#include "networks/nlm/shape.hpp"

namespace hstar {

enum class Decode { Mean, Clip, TruncatedMean };

// How a model's output becomes a value.
struct Decoding {
    Decode decode = Decode::Mean;
    CostType cost = CostType::One;
    std::string base, lower;  // names of heuristics; empty: 0 and minus infinity
    double epsilon = 0.1;
    double sigma = 0;  // 0: the model's second output is turned into one
    double cap = 0;    // base is at most cap times lower; 0: no cap
};

struct NlmModel {
    NlmShape shape;
    std::vector<float> theta;
    int num_objects = 0;
    std::vector<NlmEntry> base_entries;  // the same in all states
    std::vector<float> base_values;
    std::vector<NlmEntry> fact_entries;  // per fact of the task; arity -1: it adds nothing
};

// theta: weights [outputs][4] of the features of RelaxationHeuristic::plan_features, then [outputs] biases.
struct LinearModel {
    int outputs = 1;
    std::vector<float> theta;
};

// Both throw std::invalid_argument for models that do not fit the task or the decoding.
std::unique_ptr<Evaluator> make_learned(const Task& task, NlmModel model, const Decoding& decoding);
std::unique_ptr<Evaluator> make_learned(const Task& task, LinearModel model, const Decoding& decoding);

}  // namespace hstar
