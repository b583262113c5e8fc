// Learned heuristics: any model with any decode (decode.hpp), corrected by what symbolic heuristics know of
// the state. Where base or lower is infinite no plan exists, whatever the model says.
#pragma once
#include <memory>
#include <string>

#include "learned/decode.hpp"
#include "learned/output_model.hpp"

namespace hstar {

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
