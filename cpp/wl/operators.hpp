// Colours of operators, to rank those that are applicable in a state.
//
// An operator is seen as one more vertex of the state's graph: an edge leads to each of its arguments and
// carries the argument's position, and at the start its colour is its action. It changes the colours of no
// other vertex. After the last round it may still look at its arguments once more, so it has the colours of
// rounds 0 to rounds + 1.
#pragma once
#include <span>
#include <vector>

#include "wl/incremental.hpp"

namespace hstar {

class WlOperators {
  public:
    // `actions` has the number of each action of the domain, in an order that domain files share; empty: in
    // order. Throws std::invalid_argument if they are no permutation.
    WlOperators(const Task& task, const std::vector<int>& actions);

    // Of an operator that is not artificial, in the present state of `wl`: rounds + 2 of them.
    void colours(const IncrementalWl& wl, int op, std::vector<WlColour>& result) const;

  private:
    const Task& task_;
    std::vector<WlColour> action_colours_;
    std::vector<uint64_t> position_keys_;  // up to the largest arity
};

// A linear function of an operator's colours in a state. Operators with small values should be tried first.
class WlRanking {
  public:
    // Throws std::invalid_argument if colours and weights do not fit together.
    WlRanking(WlOperators operators, const std::vector<WlColour>& colours, std::vector<float> weights);

    // Colours without a weight add nothing.
    float value(const IncrementalWl& wl, int op);

  private:
    WlOperators operators_;
    ColourTable table_;
    std::vector<float> weights_;
    std::vector<WlColour> colours_;  // of the operator
};

}  // namespace hstar
