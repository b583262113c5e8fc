// Colours of operators, to rank those that are applicable in a state.
//
// An operator is seen as one more vertex of the state's graph: an edge leads to each of its arguments and
// carries the argument's position, and at the start its colour is its action. It changes the colours of no
// other vertex. After the last round it may still look at its arguments once more, so it has the colours of
// rounds 0 to rounds + 1.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "runtime/require.hpp"
#include "wl/incremental.hpp"

namespace hstar {

class WlOperators {
  public:
    // `actions` has the number of each action of the domain, in an order that domain files share; empty: in
    // order. Throws std::invalid_argument if they are no permutation.
    WlOperators(const Task& task, const std::vector<int>& actions) : task_(task) {
        constexpr uint64_t kActionKind = uint64_t{1} << 60;  // plus the number of the action
        const LiftedTask& lifted = *task.lifted;
        for (int number : given_numbers(actions, lifted.actions.size(), "actions"))
            action_colours_.push_back(initial_colour(kActionKind + static_cast<uint64_t>(number)));
        position_keys_ = keys_of_positions(lifted.action_arity);
    }

    // Of an operator that is not artificial, in the present state of `wl`: rounds + 2 of them.
    void colours(const IncrementalWl& wl, int op, std::vector<WlColour>& result) const {
        const int rounds = wl.graph().rounds();
        const auto arguments = task_.arguments(op);
        result.resize(static_cast<size_t>(rounds) + 2);
        result[0] = action_colours_[task_.action(op)];
        for (int round = 0; round <= rounds; ++round) {
            uint64_t sum = 0;
            for (size_t position = 0; position < arguments.size(); ++position)
                sum +=
                    neighbour_share(position_keys_[position], wl.object_colour(arguments[position], round));
            result[round + 1] = next_colour(result[round], round + 1, sum);
        }
    }

  private:
    const Task& task_;
    std::vector<WlColour> action_colours_;
    std::vector<uint64_t> position_keys_;
};

// A linear function of an operator's colours in a state. Operators with small values should be tried first.
class WlRanking {
  public:
    // Throws std::invalid_argument if colours and weights do not fit together.
    WlRanking(WlOperators operators, const std::vector<WlColour>& colours, std::vector<float> weights)
        : operators_(std::move(operators)), table_(colours), weights_(std::move(weights)) {
        require(weights_.size() == colours.size(), "each colour of operators needs one weight");
        require(std::ranges::all_of(weights_, [](float x) { return std::isfinite(x); }),
                "the weights of operators must be finite numbers");
    }

    // Colours without a weight add nothing.
    float value(const IncrementalWl& wl, int op) {
        operators_.colours(wl, op, colours_);
        double sum = 0;
        for (WlColour colour : colours_)
            if (const int feature = table_.feature(colour); feature >= 0) sum += weights_[feature];
        return static_cast<float>(sum);
    }

  private:
    WlOperators operators_;
    ColourTable table_;
    std::vector<float> weights_;
    std::vector<WlColour> colours_;  // of the operator
};

}  // namespace hstar
