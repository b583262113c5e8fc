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
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace hstar {

struct DecodeSpec {
    std::string name;
    std::map<std::string, double> constants;  // constants the decode does not use are ignored
    std::vector<double> values;               // per class, ascending
};

// In double precision, with a fixed order of operations. All outputs are finite.
using Decode = std::function<double(const float* outputs, double base, double lower)>;

// Both throw std::invalid_argument: for unknown names, missing or bad constants, and a number of outputs that
// does not fit.
Decode make_decode(const DecodeSpec& spec, int outputs);
bool reads_lower(const std::string& decode);

}  // namespace hstar
