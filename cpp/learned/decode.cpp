#include <algorithm>
#include <cmath>
#include <limits>

#include "learned/learned_heuristic.hpp"
#include "networks/truncated_gaussian.hpp"
#include "reinforcement/shaping.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

// A constant of a decode, at least `least` and at most `most`.
double constant(const DecodeSpec& spec, const std::string& name, double least,
                double most = std::numeric_limits<double>::max()) {
    const auto found = spec.constants.find(name);
    require(found != spec.constants.end(), "the decode '", spec.name, "' lacks '", name, "'");
    require(found->second >= least && found->second <= most,  // false for NaN
            "the decode's '", name, "' is out of range: ", found->second);
    return found->second;
}

Decode value(const DecodeSpec&, int) {
    return [](const float* outputs, double base, double) { return outputs[0] + base; };
}

Decode floor_of_value(const DecodeSpec&, int) {
    // In single precision, as in training: a sum that rounds up to a whole number is that number.
    return [](const float* outputs, double base, double) {
        return std::floor(outputs[0] + static_cast<float>(base));
    };
}

Decode clip(const DecodeSpec&, int) {
    return [](const float* outputs, double base, double lower) { return std::max(outputs[0] + base, lower); };
}

Decode truncated_mean(const DecodeSpec& spec, int outputs) {
    const double epsilon = constant(spec, "epsilon", 0), fixed = constant(spec, "sigma", 0);
    const double least = constant(spec, "least_sigma", std::numeric_limits<double>::min());
    const double range = constant(spec, "sigma_range", 0);
    require(outputs >= (fixed == 0 ? 2 : 1),
            "a truncated mean needs a fixed sigma or a second output of the model");
    return [=](const float* outputs, double base, double lower) {
        const double sigma = fixed == 0 ? least + range * truncated_gaussian::sigmoid(outputs[1]) : fixed;
        return truncated_gaussian_mean(outputs[0] + base, sigma, lower - epsilon,
                                       std::numeric_limits<double>::infinity());
    };
}

// The cost of the potential less the shaped value.
Decode shaped(const DecodeSpec& spec, int) {
    const Shaping shaping{constant(spec, "gamma", 0, 1)};
    require(shaping.gamma > 0 && shaping.gamma < 1, "the decode's 'gamma' must be between 0 and 1");
    const bool is_naive = constant(spec, "naive", 0, 1) != 0;
    return [=](const float* outputs, double base, double) {
        return (is_naive ? base : shaping.discounted(base)) - outputs[0];
    };
}

std::vector<double> class_values(const DecodeSpec& spec, int outputs) {
    const std::vector<double>& values = spec.values;
    require(values.size() == static_cast<size_t>(outputs),
            "the decode's 'values' must be one per output of the model (", outputs, ")");
    for (size_t k = 0; k < values.size(); ++k)
        require(std::isfinite(values[k]) && (k == 0 || values[k - 1] < values[k]),
                "the decode's 'values' must be finite and ascending");
    return values;
}

Decode argmax(const DecodeSpec& spec, int outputs) {
    return [values = class_values(spec, outputs)](const float* outputs, double base, double) {
        return values[std::max_element(outputs, outputs + values.size()) - outputs] + base;
    };
}

Decode quantile(const DecodeSpec& spec, int outputs) {
    const double tau = constant(spec, "tau", 0, 1), temperature = constant(spec, "temperature", 0.01, 100);
    return [=, values = class_values(spec, outputs), tails = std::vector<double>(outputs)](
               const float* outputs, double base, double) mutable {
        const double largest = *std::max_element(outputs, outputs + values.size());
        double tail = 0;  // P(class >= k), but for a factor; that of class 0 is the sum of all
        for (size_t k = values.size(); k-- > 0;) {
            tail += truncated_gaussian::exp_of_negative((outputs[k] - largest) / temperature);
            tails[k] = tail;
        }
        size_t k = values.size() - 1;
        while (k > 0 && tails[k] < tau * tail) --k;
        return values[k] + base;
    };
}

}  // namespace

Decode make_decode(const DecodeSpec& spec, int outputs) {
    using Maker = Decode (*)(const DecodeSpec& spec, int outputs);
    const auto make = chosen<Maker>("decode", spec.name,
                                    {{"value", value},
                                     {"mean", value},
                                     {"floor", floor_of_value},
                                     {"clip", clip},
                                     {"truncated-mean", truncated_mean},
                                     {"shaped", shaped},
                                     {"argmax", argmax},
                                     {"quantile", quantile}});
    return make(spec, outputs);
}

}  // namespace hstar
