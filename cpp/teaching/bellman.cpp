#include "teaching/bellman.hpp"

#include <algorithm>

namespace hstar {

std::vector<float> bellman_values(const StateSpace& space, const StateBatch& states, Evaluator& evaluator,
                                  const std::function<bool(int)>& is_no_step, const Limits& limits) {
    const int variables = space.num_variables();
    const size_t bytes = static_cast<size_t>(space.packing().buffer_bytes());
    std::vector<float> values(static_cast<size_t>(states.count), kDeadEnd);
    std::vector<unsigned char> parent(bytes), rows;
    std::vector<int> ops, children;
    std::vector<float> h;
    LimitClock clock(limits);
    for (int state = 0; state < states.count; ++state) {
        clock.check();
        std::fill(parent.begin(), parent.end(), 0);
        space.packing().pack(states.row(state), parent.data());
        if (space.is_goal(parent.data())) {
            values[static_cast<size_t>(state)] = 0;
            continue;
        }
        space.applicable(parent.data(), ops);
        const size_t count = ops.size();
        rows.assign(count * bytes, 0);
        space.apply(ops, parent.data(), rows.data(), bytes);
        children.resize(count * static_cast<size_t>(variables));
        for (size_t i = 0; i < count; ++i)
            space.packing().unpack(rows.data() + i * bytes,
                                   children.data() + i * static_cast<size_t>(variables));
        h.resize(count);
        const int number = static_cast<int>(count), slice = std::max(1, evaluator.slice());
        for (int first = 0; first < number; first += slice) {
            clock.check();
            const int size = std::min(slice, number - first);
            const Expansion expansion{parent.data(), 0, size};
            const StateBatch batch{children.data() + static_cast<size_t>(first) * variables, size, variables};
            evaluator.evaluate_expansions(
                {batch, {&expansion, 1}, std::span(ops).subspan(first, size), space.packing()},
                h.data() + first, nullptr);
        }
        float& best = values[static_cast<size_t>(state)];
        for (size_t i = 0; i < count; ++i) {
            const bool is_goal = space.is_goal(rows.data() + i * bytes);
            const float rest = is_goal ? 0.0f : std::max(0.0f, h[i]);
            best = std::min(best, rest + (is_no_step(ops[i]) ? 0.0f : 1.0f));
        }
    }
    return values;
}

}  // namespace hstar
