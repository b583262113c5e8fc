// Value iteration and RTDP on tables: both find the values that follow from the number of steps to the goal.
#include <cmath>
#include <limits>

#include "reinforcement/tabular.hpp"
#include "spaces/task_space.hpp"
#include "task/successors.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

// Per state, by relaxing every step until nothing changes.
std::vector<double> steps_to_goal(const StateTable& table) {
    std::vector<double> steps(table.size(), std::numeric_limits<double>::infinity());
    for (size_t s = 0; s < table.size(); ++s)
        if (table.is_goal[s]) steps[s] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t s = 0; s < table.size(); ++s)
            for (StateId next : table.successors[s])
                if (steps[next] + 1 < steps[s]) steps[s] = steps[next] + 1, changed = true;
    }
    return steps;
}

}  // namespace

void test_tabular(const Task& task, int seed) {
    const SuccessorGenerator generator(task);
    const TaskSpace space(task, generator, task.initial_state);
    const auto table = tabulate(space, [&](int op) { return task.is_artificial(op); }, 400, Limits());
    if (!table) return;
    const std::vector<double> steps = steps_to_goal(*table);
    using Reward = Shaping::Reward;
    using Potential = Shaping::Potential;
    for (Reward reward : {Reward::Step, Reward::FreeLast, Reward::Goal})
        for (Potential potential : {Potential::None, Potential::Naive, Potential::Discounted}) {
            const Shaping shaping{seed % 2 ? 0.999 : 0.999999, reward, potential};
            std::vector<double> h = steps;  // too high in some states, too low in others
            for (size_t s = 0; s < h.size(); ++s)
                if (!table->is_goal[s]) h[s] = std::floor(h[s] * static_cast<double>(s % 3 + 1) / 2);
            const auto is_optimal = [&](const std::vector<double>& values) {
                for (size_t s = 0; s < values.size(); ++s) {
                    const double unshaped = values[s] + (table->is_goal[s] ? 0 : shaping.phi(h[s]));
                    const double expected = shaping.value_at(steps[s]);
                    if (std::abs(unshaped - expected) > 1e-9 * std::fmax(1, std::abs(expected))) return false;
                }
                return true;
            };
            check(is_optimal(value_iteration(*table, shaping, h, 1e-12, Limits())),
                  "value iteration finds the optimum", seed);
            TabularOptions options;
            options.steps = 500 * table->size();
            options.random_starts = true;
            options.seed = static_cast<uint64_t>(seed);
            check(is_optimal(tabular_rtdp(*table, shaping, h, options, Limits()).values),
                  "RTDP from random states converges to the optimum", seed);
            options.steps = 500;
            options.sample = options.expectation = true;
            options.random_starts = false;
            check(std::isfinite(tabular_rtdp(*table, shaping, h, options, Limits()).values[0]),
                  "RTDP with samples has finite values", seed);
        }
}
