#include "wl/operators.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/require.hpp"
#include "runtime/sort_unique.hpp"

namespace hstar {

namespace {

constexpr uint64_t kActionKind = uint64_t{1} << 60;  // plus the number of the action

}  // namespace

WlOperators::WlOperators(const Task& task, const std::vector<int>& actions) : task_(task) {
    const LiftedTask& lifted = *task.lifted;
    const size_t count = lifted.actions.size();
    auto numbers = actions;
    sort_unique(numbers);
    require(actions.empty() || (actions.size() == count && numbers.size() == count && numbers[0] == 0 &&
                                numbers.back() == static_cast<int>(count) - 1),
            "actions must be a permutation of the numbers of the domain's actions");
    int arity = 0;
    for (size_t a = 0; a < count; ++a) {
        const uint64_t number = actions.empty() ? a : static_cast<uint64_t>(actions[a]);
        action_colours_.push_back(initial_colour(kActionKind + number));
        arity = std::max(arity, lifted.action_arity[a]);
    }
    for (int position = 0; position < arity; ++position) position_keys_.push_back(position_key(position));
}

void WlOperators::colours(const IncrementalWl& wl, int op, std::vector<WlColour>& result) const {
    const int rounds = wl.graph().rounds();
    const auto arguments = task_.arguments(op);
    result.resize(static_cast<size_t>(rounds) + 2);
    result[0] = action_colours_[task_.action(op)];
    for (int round = 0; round <= rounds; ++round) {
        uint64_t sum = 0;
        for (size_t position = 0; position < arguments.size(); ++position)
            sum += neighbour_share(position_keys_[position], wl.object_colour(arguments[position], round));
        result[round + 1] = next_colour(result[round], round + 1, sum);
    }
}

WlRanking::WlRanking(WlOperators operators, const std::vector<WlColour>& colours, std::vector<float> weights)
    : operators_(std::move(operators)), table_(colours), weights_(std::move(weights)) {
    require(weights_.size() == colours.size(), "each colour of operators needs one weight");
    require(std::ranges::all_of(weights_, [](float x) { return std::isfinite(x); }),
            "the weights of operators must be finite numbers");
}

float WlRanking::value(const IncrementalWl& wl, int op) {
    operators_.colours(wl, op, colours_);
    double sum = 0;
    for (WlColour colour : colours_)
        if (const int feature = table_.feature(colour); feature >= 0) sum += weights_[feature];
    return static_cast<float>(sum);
}

}  // namespace hstar
