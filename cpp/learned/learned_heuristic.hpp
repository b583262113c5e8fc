// Learned heuristics: any model with any decode, corrected by what symbolic heuristics know of
// the state. Where base or lower is infinite no plan exists, whatever the model says.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "learned/output_model.hpp"

namespace hstar {

// Decodes: how the outputs of a model become a heuristic value. base is what the model corrects (0 without
// one), and lower never exceeds the distance to the goal (minus infinity without one).
//
//     value, mean      output 0 + base = mu
//     floor            mu rounded down to a whole number
//     clip             max(mu, lower)
//     truncated-mean   the mean of the Gaussian (mu, sigma) cut to [lower - epsilon, infinity). sigma is a
//                      constant or, if that is 0, least_sigma + sigma_range * sigmoid(output 1)
//     argmax           values[k] + base, k the first class with the largest output
//     quantile         values[k] + base, k the largest class with P(class >= k) >= tau, where P is the
//                      softmax of the outputs at a temperature
struct DecodeSpec {
    std::string name;
    std::map<std::string, double> constants;  // constants the decode does not use are ignored
    std::vector<double> values;               // per class, ascending
};

// In double precision, with a fixed order of operations. All outputs are finite.
using Decode = std::function<double(const float* outputs, double base, double lower)>;

// Throws std::invalid_argument for unknown names, missing or bad constants, and a number of outputs that does
// not fit.
Decode make_decode(const DecodeSpec& spec, int outputs);

// Names of heuristics; empty: 0 and minus infinity. A base with a cap is min(base, cap * lower).
struct Correction {
    CostType cost = CostType::One;
    std::string base, lower;
    double cap = 0;  // 0: no cap
};

// Throws std::invalid_argument for a decode that does not fit the model, and for bad corrections.
std::unique_ptr<Evaluator> make_learned(const Task& task, std::unique_ptr<OutputModel> model,
                                        const Correction& correction, const DecodeSpec& decode);

}  // namespace hstar
