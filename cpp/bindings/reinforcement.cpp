#include <algorithm>

#include "bindings/bindings.hpp"
#include "reinforcement/environment.hpp"
#include "reinforcement/rtdp.hpp"

namespace hstar::bindings {

namespace {

// Problems with all that they refer to.
struct BoundEnvironment {
    std::vector<nb::object> owners;  // keep the tasks alive
    std::vector<std::unique_ptr<Evaluator>> heuristics, lower;
    std::vector<std::unique_ptr<EnvironmentProblem>> problems;
    Exclusive use;

    EnvironmentProblem& at(int problem) {
        require(problem >= 0 && static_cast<size_t>(problem) < problems.size(), "there is no problem ",
                problem);
        return *problems[problem];
    }
    Place checked(int problem, int64_t state) {
        require(state >= 0 && state < at(problem).size(), "problem ", problem, " has no state ", state,
                " yet");
        return {problem, static_cast<StateId>(state)};
    }
    std::vector<Place> checked(const Flat& of, const Longs& states) {
        require(of.size() == states.size(), "there must be one problem per state");
        std::vector<Place> places;
        for (size_t i = 0; i < of.size(); ++i) places.push_back(checked(of.data()[i], states.data()[i]));
        return places;
    }
};

void make_environment(BoundEnvironment* self, const std::vector<std::pair<Object<BoundTask>, Dict>>& problems,
                      const std::string& heuristic, const std::string& lower, double deadline,
                      uint64_t memory_bytes) {
    auto made = std::make_unique<BoundEnvironment>();
    std::vector<std::pair<const BoundTask*, NlmEncoding>> given;
    for (const auto& [task, encoding] : problems) {
        made->owners.push_back(task);
        given.emplace_back(&nb::cast<const BoundTask&>(task), to_nlm_encoding(encoding));
    }
    const Limits limits{deadline, memory_bytes};
    guarded([&] {
        for (auto& [task, encoding] : given) {
            const auto make = [&, task = task](const std::string& name) {
                return name.empty() ? nullptr : task->make_evaluator(name, CostType::One, limits);
            };
            made->heuristics.push_back(make(heuristic));
            made->lower.push_back(make(lower));
            made->problems.push_back(std::make_unique<EnvironmentProblem>(
                task->task, task->generator(limits), made->heuristics.back().get(), std::move(encoding)));
            limits.check();
        }
    });
    new (self) BoundEnvironment();
    self->owners = std::move(made->owners);
    self->heuristics = std::move(made->heuristics);
    self->lower = std::move(made->lower);
    self->problems = std::move(made->problems);
}

Dict about(BoundEnvironment& self, const Flat& of, const Longs& states) {
    const auto lock = self.use.lock();
    const std::vector<Place> places = self.checked(of, states);
    std::vector<float> h;
    std::vector<uint8_t> goals, dead_ends;
    for (Place place : places) {
        const EnvironmentProblem& world = *self.problems[place.problem];
        h.push_back(world.h(place.state));
        goals.push_back(world.is_goal(place.state));
        dead_ends.push_back(world.is_dead_end(place.state));
    }
    Dict result;
    result["h"] = to_numpy(std::move(h));
    result["goals"] = to_numpy(std::move(goals));
    result["dead_ends"] = to_numpy(std::move(dead_ends));
    return result;
}

auto expand(BoundEnvironment& self, const Flat& of, const Longs& states) {
    const auto lock = self.use.lock();
    const std::vector<Place> places = self.checked(of, states);
    std::vector<int64_t> starts{0}, successors;
    Ints ops;
    guarded([&] {
        for (Place place : places) {
            for (const auto& edge : self.problems[place.problem]->expand(place.state)) {
                ops.push_back(edge.op);
                successors.push_back(edge.to);
            }
            starts.push_back(static_cast<int64_t>(ops.size()));
        }
    });
    return std::tuple(to_numpy(std::move(starts)), to_numpy(std::move(ops)), to_numpy(std::move(successors)));
}

auto inputs(BoundEnvironment& self, const Flat& of, const Longs& states) {
    const auto lock = self.use.lock();
    Ints sizes;
    std::vector<int64_t> starts{0};
    std::vector<NlmEntry> entries;
    std::vector<float> values;
    for (Place place : self.checked(of, states)) {
        const EnvironmentProblem& world = *self.problems[place.problem];
        sizes.push_back(world.encoding().num_objects);
        world.encode(place.state, entries, values);
        starts.push_back(static_cast<int64_t>(entries.size()));
    }
    Ints pairs;
    for (const NlmEntry& entry : entries) pairs.insert(pairs.end(), {entry.arity, entry.index});
    return std::tuple(to_numpy(std::move(sizes)), to_numpy(std::move(starts)),
                      to_numpy(std::move(pairs), {entries.size(), 2}), to_numpy(std::move(values)));
}

int64_t add_state(BoundEnvironment& self, int problem, const States& given) {
    const auto lock = self.use.lock();
    EnvironmentProblem& world = self.at(problem);
    const StateRows row = nb::cast<const BoundTask&>(self.owners[problem]).checked_one(given);
    return guarded([&] { return world.add(row.row(0)); });
}

Numpy<int> state_values(BoundEnvironment& self, int problem, int64_t state) {
    const auto lock = self.use.lock();
    const Place place = self.checked(problem, state);
    const EnvironmentProblem& world = self.at(problem);
    Ints values(world.task().num_variables());
    world.values(place.state, values.data());
    return to_numpy(std::move(values));
}

struct BoundLearner {
    nb::object owner;
    BoundEnvironment& environment;
    RtdpLearner learner;
};

void make_learner(BoundLearner* self, Object<BoundEnvironment> environment, const Ints& buckets,
                  const NlmShape& shape, const Floats& theta, const RtdpOptions& options, uint64_t seed,
                  int threads) {
    auto& bound = nb::cast<BoundEnvironment&>(environment);
    std::vector<EnvironmentProblem*> problems;
    std::vector<Evaluator*> lower;
    for (const auto& problem : bound.problems) problems.push_back(problem.get());
    for (const auto& evaluator : bound.lower)
        if (evaluator) lower.push_back(evaluator.get());
    RtdpLearner learner(std::move(problems), std::move(lower), buckets, shape, copied(theta), options, seed,
                        threads);
    new (self) BoundLearner{environment, bound, std::move(learner)};
}

// States as problem numbers and values, one state after the other.
std::pair<Numpy<int>, Numpy<int>> from_places(BoundEnvironment& environment, std::span<const Place> places) {
    Ints problems, values;
    for (Place place : places) {
        const EnvironmentProblem& world = *environment.problems[place.problem];
        problems.push_back(place.problem);
        const size_t first = values.size();
        values.resize(first + world.task().num_variables());
        world.values(place.state, values.data() + first);
    }
    return {to_numpy(std::move(problems)), to_numpy(std::move(values))};
}

std::vector<Place> to_places(BoundEnvironment& environment, const nb::tuple& given) {
    const auto problems = nb::cast<Flat>(given[0]), values = nb::cast<Flat>(given[1]);
    std::vector<Place> places;
    size_t next = 0;
    for (size_t i = 0; i < problems.size(); ++i) {
        const int problem = problems.data()[i];
        EnvironmentProblem& world = environment.at(problem);
        const Task& task = world.task();
        require(next + task.num_variables() <= values.size(), "a state lacks values");
        for (int v = 0; v < task.num_variables(); ++v) {
            const int value = values.data()[next + v];
            require(value >= 0 && value < task.domain_size[v], "a state has a value that does not exist");
        }
        places.push_back({problem, world.add(values.data() + next)});
        next += task.num_variables();
    }
    require(next == values.size(), "there are more values than states");
    return places;
}

Dict memory(BoundLearner& self) {
    const auto lock = self.environment.use.lock();
    const RtdpLearner::Memory held = self.learner.memory();
    Dict result;
    result["theta"] = to_numpy(held.theta);
    result["average"] = to_numpy(held.average);
    result["target"] = to_numpy(held.target);
    result["mean"] = to_numpy(held.mean);
    result["square"] = to_numpy(held.square);
    std::vector<Place> places, bounded;
    std::vector<int64_t> lengths;
    std::vector<float> upper;
    for (const auto& bucket : held.buckets) {
        places.insert(places.end(), bucket.begin(), bucket.end());
        lengths.push_back(static_cast<int64_t>(bucket.size()));
    }
    // By their values: numbers of states are others in a resumed run, and its bytes must be the same.
    const auto by_values = [&](Place a, Place b) {
        return a.problem != b.problem ? a.problem < b.problem
                                      : self.environment.problems[a.problem]->is_before(a.state, b.state);
    };
    auto known_upper = held.upper;
    std::sort(known_upper.begin(), known_upper.end(),
              [&](const auto& a, const auto& b) { return by_values(a.place, b.place); });
    for (const auto& known : known_upper) {
        bounded.push_back(known.place);
        upper.push_back(known.upper);
    }
    std::vector<Place> dead_ends = held.dead_ends;
    std::sort(dead_ends.begin(), dead_ends.end(), by_values);
    result["dead_ends"] = from_places(self.environment, dead_ends);
    result["states"] = from_places(self.environment, places);
    result["lengths"] = to_numpy(lengths);
    result["fresh"] = to_numpy(held.fresh);
    result["bounded"] = from_places(self.environment, bounded);
    result["upper"] = to_numpy(upper);
    result["goal_steps"] = to_numpy(held.goal_steps);
    const RtdpProgress& p = held.progress;
    result["counters"] = to_numpy(std::vector<int64_t>{p.steps, p.updates, p.episodes, p.goals});
    result["sums"] = to_numpy(std::vector<double>{p.loss, p.returns});
    result["random"] = held.random;
    return result;
}

void restore(BoundLearner& self, const Dict& given) {
    const auto lock = self.environment.use.lock();
    RtdpLearner::Memory held;
    const auto floats = [&](const char* name) { return copied(nb::cast<Floats>(given[name])); };
    held.theta = floats("theta");
    held.average = floats("average");
    held.target = floats("target");
    held.mean = floats("mean");
    held.square = floats("square");
    const std::vector<Place> places = to_places(self.environment, nb::cast<nb::tuple>(given["states"]));
    size_t next = 0;
    for (int64_t length : copied(nb::cast<Longs>(given["lengths"]))) {
        require(length >= 0 && next + static_cast<size_t>(length) <= places.size(), "a bucket lacks states");
        held.buckets.emplace_back(places.begin() + static_cast<int64_t>(next),
                                  places.begin() + static_cast<int64_t>(next) + length);
        next += static_cast<size_t>(length);
    }
    held.fresh = copied(nb::cast<Longs>(given["fresh"]));
    const std::vector<Place> bounded = to_places(self.environment, nb::cast<nb::tuple>(given["bounded"]));
    const std::vector<float> upper = floats("upper");
    require(upper.size() == bounded.size(), "there must be one bound per state");
    for (size_t i = 0; i < bounded.size(); ++i) held.upper.push_back({bounded[i], upper[i]});
    held.dead_ends = to_places(self.environment, nb::cast<nb::tuple>(given["dead_ends"]));
    held.goal_steps = copied(nb::cast<Longs>(given["goal_steps"]));
    const auto counters = copied(nb::cast<Longs>(given["counters"]));
    const auto sums = copied(nb::cast<Array<double, 1>>(given["sums"]));
    require(counters.size() == 4 && sums.size() == 2, "the counters are not those of a learner");
    held.progress = {counters[0], counters[1], counters[2], counters[3], sums[0], sums[1]};
    held.random = nb::cast<uint64_t>(given["random"]);
    self.learner.restore(held);
}

Numpy<float> learner_values(BoundLearner& self, const Flat& of, const Longs& states) {
    const auto lock = self.environment.use.lock();
    const std::vector<Place> places = self.environment.checked(of, states);
    std::vector<float> result(places.size());
    guarded([&] { self.learner.values(places, result.data()); });
    return to_numpy(std::move(result));
}

}  // namespace

Shaping::Reward to_reward(const std::string& name) {
    if (name == "step") return Shaping::Reward::Step;
    if (name == "free-last") return Shaping::Reward::FreeLast;
    if (name == "goal") return Shaping::Reward::Goal;
    refuse("unknown reward '", name, "'; choose step, free-last or goal");
}

Shaping::Potential to_potential(const std::string& name) {
    if (name == "none") return Shaping::Potential::None;
    if (name == "naive") return Shaping::Potential::Naive;
    if (name == "discounted") return Shaping::Potential::Discounted;
    refuse("unknown potential '", name, "'; choose none, naive or discounted");
}

void bind_reinforcement(nb::module_& m) {
    nb::class_<BoundEnvironment>(m, "Environment")
        .def("__init__", &make_environment, nb::arg("problems"), nb::arg("heuristic"), nb::arg("lower"),
             nb::arg("deadline") = 0.0, nb::arg("memory_bytes") = 0)
        .def("__len__", [](const BoundEnvironment& self) { return self.problems.size(); })
        .def("num_states", [](BoundEnvironment& self, int problem) { return self.at(problem).size(); })
        .def("add", &add_state, nb::arg("problem"), nb::arg("state"))
        .def("values", &state_values, nb::arg("problem"), nb::arg("state"))
        .def("about", &about, nb::arg("problems"), nb::arg("states"))
        .def("expand", &expand, nb::arg("problems"), nb::arg("states"))
        .def("inputs", &inputs, nb::arg("problems"), nb::arg("states"));
    nb::class_<RtdpOptions>(m, "RtdpOptions")
        .def(nb::init<>())
        .def_prop_rw(
            "gamma", [](const RtdpOptions& o) { return o.shaping.gamma; },
            [](RtdpOptions& o, double value) { o.shaping.gamma = value; })
        .def("set_reward",
             [](RtdpOptions& o, const std::string& name) { o.shaping.reward = to_reward(name); })
        .def("set_potential",
             [](RtdpOptions& o, const std::string& name) { o.shaping.potential = to_potential(name); })
        .def_rw("episode_steps", &RtdpOptions::episode_steps)
        .def_rw("temperature", &RtdpOptions::temperature)
        .def_rw("samples_actions", &RtdpOptions::samples_actions)
        .def_rw("max_backup", &RtdpOptions::max_backup)
        .def_rw("batch", &RtdpOptions::batch)
        .def_rw("capacity", &RtdpOptions::capacity)
        .def_rw("least_states", &RtdpOptions::least_states)
        .def_rw("fresh_first", &RtdpOptions::fresh_first)
        .def_rw("target_period", &RtdpOptions::target_period)
        .def_rw("learns_dead_ends", &RtdpOptions::learns_dead_ends)
        .def_rw("searches", &RtdpOptions::searches)
        .def_rw("bounded", &RtdpOptions::bounded)
        .def_rw("average", &RtdpOptions::average)
        .def_rw("weight_decay", &RtdpOptions::weight_decay);
    nb::class_<BoundLearner>(m, "RtdpLearner")
        .def("__init__", &make_learner, nb::arg("environment"), nb::arg("buckets"), nb::arg("shape"),
             nb::arg("theta"), nb::arg("options"), nb::arg("seed"), nb::arg("threads"))
        .def(
            "run",
            [](BoundLearner& self, int64_t until, int64_t last, double learning_rate, double deadline,
               uint64_t memory_bytes) {
                const auto lock = self.environment.use.lock();
                guarded([&] { self.learner.run(until, last, learning_rate, {deadline, memory_bytes}); });
            },
            nb::arg("until"), nb::arg("last"), nb::arg("learning_rate"), nb::arg("deadline") = 0.0,
            nb::arg("memory_bytes") = 0)
        .def("values", &learner_values, nb::arg("problems"), nb::arg("states"))
        .def("progress",
             [](BoundLearner& self) {
                 const RtdpProgress& p = self.learner.progress();
                 Dict result;
                 result["steps"] = p.steps;
                 result["updates"] = p.updates;
                 result["episodes"] = p.episodes;
                 result["goals"] = p.goals;
                 result["loss"] = p.loss;
                 result["returns"] = p.returns;
                 return result;
             })
        .def("weights", [](BoundLearner& self) { return to_numpy(self.learner.result()); })
        .def("memory", &memory)
        .def("restore", &restore, nb::arg("memory"));
}

}  // namespace hstar::bindings
