// RTDP with networks: buckets of states against a plain list, and small runs that are stopped and resumed.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <stdexcept>

#include "reinforcement/rtdp.hpp"
#include "task/successors.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

bool same(const RtdpLearner::Memory& a, const RtdpLearner::Memory& b) {
    return a.weights == b.weights && a.random == b.random && a.lengths == b.lengths && a.fresh == b.fresh &&
           a.goal_steps == b.goal_steps && a.counters == b.counters && a.sums == b.sums &&
           a.upper.size() == b.upper.size() && a.dead_ends.size() == b.dead_ends.size() &&
           a.states == b.states;
}

RtdpOptions random_options(Random& random) {
    RtdpOptions options;
    options.shaping.gamma = random.below(2) ? 0.999 : 0.9;
    options.shaping.reward = static_cast<Shaping::Reward>(random.below(3));
    options.shaping.potential = static_cast<Shaping::Potential>(random.below(3));
    options.episode_steps = 1 + static_cast<int>(random.below(8));
    options.temperature = random.below(3);
    options.samples_actions = random.below(2);
    options.max_backup = random.below(2);
    options.batch = 1 + static_cast<int>(random.below(6));
    options.capacity = options.batch + static_cast<int>(random.below(6));
    options.least_states = static_cast<int>(random.below(6));
    options.fresh_first = random.below(2);
    options.target_period = static_cast<int>(random.below(4));
    options.learns_dead_ends = random.below(2);
    options.searches = random.below(2);
    options.average = random.below(2) ? 0.9 : 0;
    options.bounded = options.shaping.reward == Shaping::Reward::Step && random.below(2);
    return options;
}

// Two problems: a task with and without its potential.
struct World {
    const SuccessorGenerator generator;
    const std::unique_ptr<Evaluator> heuristic, lower;
    std::vector<std::unique_ptr<EnvironmentProblem>> problems;

    World(const Task& task, const NlmEncoding& encoding)
        : generator(task),
          heuristic(make_evaluator("ff", task, CostType::One)),
          lower(make_evaluator("hmax", task, CostType::One)) {
        for (Evaluator* potential : {heuristic.get(), static_cast<Evaluator*>(nullptr)})
            problems.push_back(
                std::make_unique<EnvironmentProblem>(task, generator, potential, lower.get(), encoding));
    }
    bool has_step() {
        return std::any_of(problems.begin(), problems.end(), [](const auto& problem) {
            problem->expand(problem->start());
            return !problem->is_goal(problem->start()) && !problem->is_dead_end(problem->start());
        });
    }
    RtdpLearner learner(const NlmShape& shape, const RtdpOptions& options, uint64_t seed, int threads) {
        std::vector<float> theta(shape.num_parameters);
        Random random(seed);
        for (float& x : theta) x = static_cast<float>(random.below(1000)) / 1000 - 0.5f;
        return {{problems[0].get(), problems[1].get()}, {0, 1}, shape, theta, options, seed, threads};
    }
};

}  // namespace

void test_replay(int seed) {
    Random random(static_cast<uint64_t>(seed));
    const size_t capacity = 1 + random.below(9);
    ReplayBucket bucket(capacity);
    std::deque<Place> plain;
    size_t fresh = 0;
    std::vector<Place> batch;
    for (uint32_t i = 0; i < 60; ++i) {
        if (random.below(3)) {
            bucket.push({static_cast<int>(i), i});
            plain.push_back({static_cast<int>(i), i});
            if (plain.size() > capacity) plain.pop_front();
            fresh = std::min(fresh + 1, plain.size());
        } else {
            const size_t count = 1 + random.below(6);
            const bool fresh_first = random.below(2);
            bucket.draw(count, fresh_first, random, batch);
            const size_t least = std::min(count, plain.size());
            check(batch.size() == (fresh_first ? std::max(fresh, least) : least), "batches are full", seed);
            std::vector<int> drawn;
            for (Place place : batch) drawn.push_back(place.problem);
            if (fresh_first)
                for (size_t f = 0; f < fresh; ++f)
                    check(drawn[f] == plain[plain.size() - 1 - f].problem, "fresh states come first", seed);
            std::sort(drawn.begin(), drawn.end());
            check(std::unique(drawn.begin(), drawn.end()) == drawn.end(), "no state is drawn twice", seed);
            for (int one : drawn)
                check(std::any_of(plain.begin(), plain.end(), [&](Place p) { return p.problem == one; }),
                      "what is drawn is held", seed);
            fresh = 0;
        }
        bool is_same = bucket.size() == plain.size() && bucket.num_fresh() == fresh;
        for (size_t p = 0; is_same && p < plain.size(); ++p) is_same = bucket.places()[p] == plain[p];
        check(is_same, "a bucket holds the newest states in their order", seed);
    }
}

// What an environment knows of states against the task itself.
void test_environment(const Task& task, int seed) {
    const SuccessorGenerator generator(task);
    const auto heuristic = make_evaluator("ff", task, CostType::One),
               lower = make_evaluator("hmax", task, CostType::One);
    NlmEncoding encoding;
    encoding.num_objects = 2;
    encoding.base_entries = {{1, 0}};
    encoding.base_values = {-1.0f};
    for (int fact = 0; fact < task.num_facts(); ++fact)
        encoding.fact_entries.push_back(fact % 3 ? NlmEntry{2, fact} : NlmEntry{-1, -1});
    EnvironmentProblem world(task, generator, heuristic.get(), lower.get(), encoding);
    const auto h = [&](Evaluator& evaluator, const State& state) {
        float value = 0;
        evaluator.evaluate({state.data(), 1, task.num_variables()}, &value, nullptr);
        return value;
    };
    const auto after = [&](const State& state, int op) {
        State next(state);
        task.apply(op, state.data(), next.data());
        return next;
    };
    const auto is_goal = [&](const State& state) {
        bool found = task.is_goal(state.data());
        for (int op : applicable_by_scan(task, state))
            found |= task.is_artificial(op) && task.is_goal(after(state, op).data());
        return found;
    };
    const auto steps = [&](const State& state) {
        std::vector<int> ops = applicable_by_scan(task, state);
        std::erase_if(ops, [&](int op) { return task.is_artificial(op); });
        return ops;
    };
    const auto is_stuck = [&](const State& state) {
        return !is_goal(state) && (h(*heuristic, state) == kDeadEnd || steps(state).empty());
    };
    bool same_facts = true, same_steps = true, same_ends = true, same_inputs = true;
    for (StateId id = 0; id < std::min<StateId>(world.size(), 60); ++id) {
        const State state = world.values(id);
        same_facts &= world.add(state.data()) == id && world.is_goal(id) == is_goal(state) &&
                      world.h(id) == (is_goal(state) ? 0 : h(*heuristic, state)) &&
                      world.lower(id) == std::max(1.0f, h(*lower, state)) &&
                      world.lower(id) == world.lower(id);
        same_ends &= world.is_stuck(id) == is_stuck(state) && world.is_dead_end(id) == is_stuck(state);
        const auto edges = world.expand(id);
        const std::vector<int> ops = steps(state);
        bool ends_all = !is_goal(state);
        same_steps &= edges.size() == ops.size();
        for (size_t i = 0; same_steps && i < ops.size(); ++i) {
            same_steps &= edges[i].op == ops[i] && world.values(edges[i].to) == after(state, ops[i]);
            ends_all &= is_stuck(after(state, ops[i]));
        }
        same_ends &= world.is_dead_end(id) == (is_stuck(state) || ends_all);
        std::vector<NlmEntry> entries;
        std::vector<float> values;
        world.encode(id, entries, values);
        size_t at = 1;
        same_inputs &= entries[0].arity == 1 && entries[0].index == 0 && values[0] == -1;
        for (int v = 0; v < task.num_variables(); ++v)
            if (const int fact = task.fact({v, state[v]}); fact % 3) {
                same_inputs &= at < entries.size() && entries[at].index == fact && values[at] == 1;
                ++at;
            }
        same_inputs &= at == entries.size() && at == values.size();
    }
    check(same_facts, "an environment has the goals and heuristic values of the task", seed);
    check(same_steps, "an environment has the steps of the task", seed);
    check(same_ends, "a dead end is stuck, or leads to stuck states only once it is expanded", seed);
    check(same_inputs, "the inputs of a state are the base and its facts", seed);
}

void test_rtdp(const Task& task, int seed) {
    Random random(static_cast<uint64_t>(seed));
    NlmShape shape;
    shape.breadth = 2;
    shape.depth = 2 + static_cast<int>(random.below(2));
    shape.width = 1 + static_cast<int>(random.below(5));
    shape.outputs = 1;
    shape.dense = random.below(2);
    shape.sums = random.below(2);
    shape.channels = {1, 2, 2, 0};
    shape.finish();
    NlmEncoding encoding;
    encoding.num_objects = 1 + static_cast<int>(random.below(4));
    for (int fact = 0; fact < task.num_facts(); ++fact) {
        const int arity = static_cast<int>(random.below(4)) - 1;
        int room = arity < 0 ? 0 : shape.channels[arity];
        for (int i = 0; i < arity; ++i) room *= encoding.num_objects;
        encoding.fact_entries.push_back(
            arity < 0 ? NlmEntry{-1, -1}
                      : NlmEntry{arity, static_cast<int>(random.below(static_cast<uint32_t>(room)))});
    }
    const RtdpOptions options = random_options(random);
    constexpr int64_t kLast = 40;
    World world(task, encoding);
    RtdpLearner whole = world.learner(shape, options, static_cast<uint64_t>(seed), 1);
    if (!world.has_step()) {
        bool refused = false;
        try {
            whole.run(kLast, kLast, 0.01, Limits());
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        check(refused, "a learner without a step to take is refused", seed);
        return;
    }
    whole.run(kLast / 2, kLast, 0.01, Limits());
    RtdpLearner resumed = world.learner(shape, options, 7, 2);
    resumed.restore(whole.memory());
    whole.run(kLast, kLast, 0.01, Limits());
    resumed.run(kLast, kLast, 0.01, Limits());
    check(whole.progress().steps == kLast, "a run ends at its last step", seed);
    check(same(whole.memory(), resumed.memory()), "a restored learner goes on as if nothing happened", seed);
    for (float x : whole.result()) check(std::isfinite(x), "weights are numbers", seed);
}
