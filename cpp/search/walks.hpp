// Random walks forward from the initial state of a space.
#pragma once
#include <vector>

#include "runtime/limits.hpp"
#include "runtime/random.hpp"
#include "spaces/state_space.hpp"

namespace hstar {

// The last states of `count` walks, one after the other. Each step takes an applicable operator at random,
// but no artificial one; a walk ends early where there is none. Walk i is the same whatever the count.
inline std::vector<int> random_walks(const StateSpace& space, int count, int steps, uint64_t seed,
                                     const Limits& limits) {
    const size_t variables = static_cast<size_t>(space.num_variables());
    const size_t bytes = static_cast<size_t>(space.packing().buffer_bytes());
    std::vector<int> last(static_cast<size_t>(count) * variables), ops;
    std::vector<unsigned char> here(bytes), next(bytes);
    WorkMeter meter(limits);
    Random seeds(seed);
    for (int walk = 0; walk < count; ++walk) {
        Random random(seeds.bits());
        space.packing().pack(space.initial_state.data(), here.data());
        for (int step = 0; step < steps; ++step) {
            ops.clear();
            space.applicable(here.data(), ops);
            meter.spend(16 + ops.size());
            std::erase_if(ops, [&](int op) { return space.is_artificial(op); });
            if (ops.empty()) break;
            ops = {ops[random.below(static_cast<uint32_t>(ops.size()))]};
            space.apply(ops, here.data(), next.data(), bytes);
            here.swap(next);
        }
        space.packing().unpack(here.data(), last.data() + static_cast<size_t>(walk) * variables);
    }
    return last;
}

}  // namespace hstar
