// Planning as a Markov decision process, and potentials that make its rewards dense.
//
// A step earns a reward r. Shaping adds gamma * phi(s') - phi(s) for a potential phi; optimal policies stay
// optimal, and optimal values become smaller by phi(s) (Ng, Harada and Russell, ICML 1999). Gehring et al.
// (ICAPS 2022) take a heuristic's discounted value as the potential: phi = -h_gamma with
//     h_gamma = 1 + gamma + ... + gamma^(h - 1) = (1 - gamma^h) / (1 - gamma).
// All in double precision: with gamma = 0.999999 values reach 10^6, where a float resolves 0.06.
#pragma once
#include <cmath>
#include <limits>

namespace hstar {

struct Shaping {
    // What a step earns: -1; -1, but 0 if it reaches the goal; 0, but 1 if it reaches the goal.
    enum class Reward { Step, FreeLast, Goal };
    // phi(s): 0; -h(s); -h_gamma(s).
    enum class Potential { None, Naive, Discounted };

    double gamma = 0.999999;
    Reward reward = Reward::Step;
    Potential potential = Potential::Discounted;

    // What endless steps cost; also the value of dead ends.
    double limit() const { return 1 / (1 - gamma); }
    double discounted(double steps) const {
        return std::isinf(steps) ? limit() : -std::expm1(steps * std::log(gamma)) / (1 - gamma);
    }
    // phi of a state with this heuristic value; infinity gets the limit. A goal's potential is 0.
    double phi(double h) const {
        if (potential == Potential::None) return 0;
        if (potential == Potential::Discounted) return -discounted(h);
        return -std::fmin(h, limit());
    }
    double step_reward(bool reaches_goal) const {
        if (reward == Reward::Goal) return reaches_goal ? 1 : 0;
        return reward == Reward::FreeLast && reaches_goal ? 0 : -1;
    }
    double shaped_reward(double h, double next_h, bool reaches_goal) const {
        return step_reward(reaches_goal) + (reaches_goal ? 0 : gamma * phi(next_h)) - phi(h);
    }
    // The value without shaping of a state from which the goal is so many steps away.
    double value_at(double steps) const {
        if (steps == 0) return 0;
        if (reward == Reward::Goal) return std::isinf(steps) ? 0 : std::pow(gamma, steps - 1);
        return -discounted(reward == Reward::FreeLast ? steps - 1 : steps);
    }
    // The unshaped value of a state from which the goal cannot be reached.
    double dead_end_value() const { return value_at(std::numeric_limits<double>::infinity()); }
};

}  // namespace hstar
