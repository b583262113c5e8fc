#include "bindings/bindings.hpp"
#include "bindings/given_heuristics.hpp"
#include "reinforcement/environment.hpp"
#include "reinforcement/rtdp.hpp"

namespace hstar::bindings {

namespace {

// A learner with all that it refers to.
struct BoundLearner {
    std::vector<nb::object> owners;  // keep the tasks and their heuristics alive
    GivenHeuristics heuristics;
    std::vector<std::unique_ptr<EnvironmentProblem>> problems;
    std::unique_ptr<RtdpLearner> learner;
    Exclusive use;
};

// From the fields of hstar.training.reinforcement.rtdp.RtdpSettings; the others are no business of the core.
RtdpOptions to_options(const Dict& given) {
    using Reward = Shaping::Reward;
    using Potential = Shaping::Potential;
    RtdpOptions options;
    auto read = [&]<class T>(const char* name, T& value) { value = nb::cast<T>(given[name]); };
    read("gamma", options.shaping.gamma);
    options.shaping.reward =
        chosen<Reward>("reward", nb::cast<std::string>(given["reward"]),
                       {{"step", Reward::Step}, {"free-last", Reward::FreeLast}, {"goal", Reward::Goal}});
    options.shaping.potential = chosen<Potential>(
        "potential", nb::cast<std::string>(given["potential"]),
        {{"none", Potential::None}, {"naive", Potential::Naive}, {"discounted", Potential::Discounted}});
    read("episode_steps", options.episode_steps);
    read("temperature", options.temperature);
    read("samples_actions", options.samples_actions);
    read("max_backup", options.max_backup);
    read("batch", options.batch);
    read("capacity", options.capacity);
    read("least_states", options.least_states);
    read("fresh_first", options.fresh_first);
    read("target_period", options.target_period);
    read("learns_dead_ends", options.learns_dead_ends);
    read("searches", options.searches);
    read("bounded", options.bounded);
    read("average", options.average);
    read("weight_decay", options.weight_decay);
    return options;
}

// A task, what a network sees of it, and its heuristic and lower bound, or None.
using GivenProblem = std::tuple<nb::typed<nb::object, BoundTask>, Dict, nb::object, nb::object>;

std::unique_ptr<BoundLearner> make_learner(const Limits& limits, const std::vector<GivenProblem>& problems,
                                           const Ints& buckets, const NlmShape& shape, const Floats& theta,
                                           const Dict& settings, uint64_t seed, int threads) {
    auto made = std::make_unique<BoundLearner>();
    struct Part {
        const BoundTask& bound;
        NlmEncoding encoding;
        Evaluator *heuristic, *lower;
    };
    std::vector<Part> parts;
    for (const auto& [task, encoding, heuristic, lower] : problems) {
        const auto& bound = nb::cast<const BoundTask&>(task);
        const auto given = [&](const nb::object& one) {
            return one.is_none() ? nullptr : made->heuristics.add(bound, one);
        };
        made->owners.insert(made->owners.end(), {task, heuristic, lower});
        parts.push_back({bound, to_nlm_encoding(encoding), given(heuristic), given(lower)});
    }
    const auto locks = Exclusive::lock_all(made->heuristics.used(), limits.deadline);
    guarded([&] {
        for (auto& [bound, encoding, heuristic, lower] : parts) {
            made->problems.push_back(std::make_unique<EnvironmentProblem>(
                bound.task, bound.generator(limits), heuristic, lower, std::move(encoding)));
            limits.check();
        }
    });
    std::vector<EnvironmentProblem*> worlds;
    for (const auto& problem : made->problems) worlds.push_back(problem.get());
    made->learner = std::make_unique<RtdpLearner>(std::move(worlds), buckets, shape, copied(theta),
                                                  to_options(settings), seed, threads);
    return made;
}

void run(const Limits& limits, BoundLearner& self, int64_t until, int64_t last, double learning_rate) {
    const auto lock = self.use.lock();
    const auto locks = Exclusive::lock_all(self.heuristics.used(), limits.deadline);
    const Exclusive::Holder holder(self.heuristics.used());
    guarded([&] { self.learner->run(until, last, learning_rate, limits); });
}

Dict progress(BoundLearner& self) {
    const RtdpProgress& p = self.learner->progress();
    Dict result;
    result["steps"] = p.steps;
    result["updates"] = p.updates;
    result["episodes"] = p.episodes;
    result["goals"] = p.goals;
    result["loss"] = p.loss;
    result["returns"] = p.returns;
    return result;
}

// A learner's memory in Python: a dictionary of arrays. Of states there are two: the numbers of the problems,
// and the values, one state after the other.
void store(BoundLearner& self, Dict& held, const std::string& name, const std::vector<Place>& places) {
    Ints problems, values;
    for (Place place : places) {
        problems.push_back(place.problem);
        const Ints state = self.problems[place.problem]->values(place.state);
        values.insert(values.end(), state.begin(), state.end());
    }
    held[(name + "_problems").c_str()] = to_numpy(std::move(problems));
    held[(name + "_values").c_str()] = to_numpy(std::move(values));
}
template <class Number>
void store(BoundLearner&, Dict& held, const std::string& name, const std::vector<Number>& numbers) {
    held[name.c_str()] = to_numpy(numbers);
}

void load(BoundLearner& self, const Dict& held, const std::string& name, std::vector<Place>& places) {
    const auto problems = nb::cast<Flat>(held[(name + "_problems").c_str()]);
    const auto values = nb::cast<Flat>(held[(name + "_values").c_str()]);
    size_t next = 0;
    for (const int problem : copied(problems)) {
        require(problem >= 0 && static_cast<size_t>(problem) < self.problems.size(), "there is no problem ",
                problem);
        EnvironmentProblem& world = *self.problems[problem];
        const Ints& sizes = world.task().domain_size;
        require(next + sizes.size() <= values.size(), "a state lacks values");
        const Ints state(values.data() + next, values.data() + next + sizes.size());
        for (size_t v = 0; v < sizes.size(); ++v)
            require(state[v] >= 0 && state[v] < sizes[v], "a state has a value that does not exist");
        places.push_back({problem, world.add(state.data())});
        next += sizes.size();
    }
    require(next == values.size(), "there are more values than states");
}
template <class Number>
void load(BoundLearner&, const Dict& held, const std::string& name, std::vector<Number>& numbers) {
    numbers = copied(nb::cast<Array<Number, 1>>(held[name.c_str()]));
}

template <class Visit>
void for_each_part(RtdpLearner::Memory& memory, Visit visit) {
    visit("theta", memory.weights.theta);
    visit("average", memory.weights.average);
    visit("target", memory.weights.target);
    visit("mean", memory.weights.mean);
    visit("square", memory.weights.square);
    visit("states", memory.states);
    visit("lengths", memory.lengths);
    visit("fresh", memory.fresh);
    visit("bounded", memory.bounded);
    visit("upper", memory.upper);
    visit("dead_ends", memory.dead_ends);
    visit("goal_steps", memory.goal_steps);
    visit("counters", memory.counters);
    visit("sums", memory.sums);
}

Dict memory(BoundLearner& self) {
    const auto lock = self.use.lock();
    RtdpLearner::Memory held = self.learner->memory();
    Dict result;
    for_each_part(held, [&](const char* name, const auto& part) { store(self, result, name, part); });
    result["random"] = held.random;
    return result;
}

void restore(BoundLearner& self, const Dict& given) {
    const auto lock = self.use.lock();
    const auto locks = Exclusive::lock_all(self.heuristics.used(), 0);
    RtdpLearner::Memory held;
    for_each_part(held, [&](const char* name, auto& part) { load(self, given, name, part); });
    held.random = nb::cast<uint64_t>(given["random"]);
    self.learner->restore(held);
}

}  // namespace

void bind_reinforcement(nb::module_& m) {
    nb::class_<BoundLearner>(m, "RtdpLearner")
        .def(nb::new_(limited(&make_learner)), "problems"_a, "buckets"_a, "shape"_a, "theta"_a, "settings"_a,
             "seed"_a, "threads"_a, "deadline"_a = 0.0, "memory_bytes"_a = 0)
        .def("run", limited(&run), "until"_a, "last"_a, "learning_rate"_a, "deadline"_a = 0.0,
             "memory_bytes"_a = 0)
        .def("progress", &progress)
        .def("weights", [](BoundLearner& self) { return to_numpy(self.learner->result()); })
        .def("memory", &memory)
        .def("restore", &restore);
}

}  // namespace hstar::bindings
