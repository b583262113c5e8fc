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
};

std::unique_ptr<BoundEnvironment> make_environment(
    const Limits& limits, const std::vector<std::pair<nb::typed<nb::object, BoundTask>, Dict>>& problems,
    const std::string& heuristic, const std::string& lower) {
    auto made = std::make_unique<BoundEnvironment>();
    std::vector<std::pair<const BoundTask*, NlmEncoding>> given;
    for (const auto& [task, encoding] : problems) {
        made->owners.push_back(task);
        given.emplace_back(&nb::cast<const BoundTask&>(task), to_nlm_encoding(encoding));
    }
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
    return made;
}

// Of one state: h, whether it is a goal, and whether it is known as a dead end.
std::tuple<float, bool, bool> about(BoundEnvironment& self, int problem, int64_t state) {
    const auto lock = self.use.lock();
    const StateId id = self.checked(problem, state).state;
    const EnvironmentProblem& world = self.at(problem);
    return {world.h(id), world.is_goal(id), world.is_dead_end(id)};
}

// Operators, and the numbers of the successors.
std::pair<Ints, std::vector<StateId>> expand(BoundEnvironment& self, int problem, int64_t state) {
    const auto lock = self.use.lock();
    std::pair<Ints, std::vector<StateId>> steps;
    for (const auto& edge : self.at(problem).expand(self.checked(problem, state).state)) {
        steps.first.push_back(edge.op);
        steps.second.push_back(edge.to);
    }
    return steps;
}

// The number of objects, pairs of arity and index, and their values.
auto inputs(BoundEnvironment& self, int problem, int64_t state) {
    const auto lock = self.use.lock();
    std::vector<NlmEntry> entries;
    std::vector<float> values;
    self.at(problem).encode(self.checked(problem, state).state, entries, values);
    std::vector<std::pair<int, int>> pairs;
    for (const NlmEntry& entry : entries) pairs.emplace_back(entry.arity, entry.index);
    return std::tuple(self.at(problem).encoding().num_objects, std::move(pairs), std::move(values));
}

int64_t add_state(BoundEnvironment& self, int problem, const States& given) {
    const auto lock = self.use.lock();
    EnvironmentProblem& world = self.at(problem);
    const StateRows row = nb::cast<const BoundTask&>(self.owners[problem]).checked_one(given);
    return guarded([&] { return world.add(row.row(0)); });
}

Numpy<int> state_values(BoundEnvironment& self, int problem, int64_t state) {
    const auto lock = self.use.lock();
    return to_numpy(self.at(problem).values(self.checked(problem, state).state));
}

struct BoundLearner {
    BoundEnvironment& environment;
    RtdpLearner learner;
};

void make_learner(BoundLearner* self, BoundEnvironment& environment, const Ints& buckets,
                  const NlmShape& shape, const Floats& theta, const RtdpOptions& options, uint64_t seed,
                  int threads) {
    std::vector<EnvironmentProblem*> problems;
    std::vector<Evaluator*> lower;
    for (const auto& problem : environment.problems) problems.push_back(problem.get());
    for (const auto& evaluator : environment.lower)
        if (evaluator) lower.push_back(evaluator.get());
    RtdpLearner learner(std::move(problems), std::move(lower), buckets, shape, copied(theta), options, seed,
                        threads);
    new (self) BoundLearner{environment, std::move(learner)};
}

void run(const Limits& limits, BoundLearner& self, int64_t until, int64_t last, double learning_rate) {
    const auto lock = self.environment.use.lock();
    guarded([&] { self.learner.run(until, last, learning_rate, limits); });
}

float value(BoundLearner& self, int problem, int64_t state) {
    const auto lock = self.environment.use.lock();
    return self.learner.value(self.environment.checked(problem, state));
}

Dict progress(BoundLearner& self) {
    const RtdpProgress& p = self.learner.progress();
    Dict result;
    result["steps"] = p.steps;
    result["updates"] = p.updates;
    result["episodes"] = p.episodes;
    result["goals"] = p.goals;
    result["loss"] = p.loss;
    result["returns"] = p.returns;
    return result;
}

// A learner's memory in Python: a dictionary of arrays; states as problem numbers and values, one state after
// the other.
nb::object to_python(BoundEnvironment& environment, const std::vector<Place>& places) {
    Ints problems, values;
    for (Place place : places) {
        problems.push_back(place.problem);
        const Ints state = environment.problems[place.problem]->values(place.state);
        values.insert(values.end(), state.begin(), state.end());
    }
    return nb::cast(std::pair(to_numpy(std::move(problems)), to_numpy(std::move(values))));
}
template <class Number>
nb::object to_python(BoundEnvironment&, const std::vector<Number>& numbers) {
    return nb::cast(to_numpy(numbers));
}

void from_python(BoundEnvironment& environment, nb::handle given, std::vector<Place>& places) {
    const auto [problems, values] = nb::cast<std::pair<Flat, Flat>>(given);
    size_t next = 0;
    for (const int problem : copied(problems)) {
        EnvironmentProblem& world = environment.at(problem);
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
void from_python(BoundEnvironment&, nb::handle given, std::vector<Number>& numbers) {
    numbers = copied(nb::cast<Array<Number, 1>>(given));
}

template <class Visit>
void for_each_part(RtdpLearner::Memory& memory, Visit visit) {
    visit("theta", memory.theta);
    visit("average", memory.average);
    visit("target", memory.target);
    visit("mean", memory.mean);
    visit("square", memory.square);
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
    const auto lock = self.environment.use.lock();
    RtdpLearner::Memory held = self.learner.memory();
    Dict result;
    for_each_part(
        held, [&](const char* name, const auto& part) { result[name] = to_python(self.environment, part); });
    result["random"] = held.random;
    return result;
}

void restore(BoundLearner& self, const Dict& given) {
    const auto lock = self.environment.use.lock();
    RtdpLearner::Memory held;
    for_each_part(held,
                  [&](const char* name, auto& part) { from_python(self.environment, given[name], part); });
    held.random = nb::cast<uint64_t>(given["random"]);
    self.learner.restore(held);
}

using Reward = Shaping::Reward;
using Potential = Shaping::Potential;

void set_reward(RtdpOptions& options, const std::string& name) {
    options.shaping.reward = chosen<Reward>(
        "reward", name, {{"step", Reward::Step}, {"free-last", Reward::FreeLast}, {"goal", Reward::Goal}});
}

void set_potential(RtdpOptions& options, const std::string& name) {
    options.shaping.potential = chosen<Potential>(
        "potential", name,
        {{"none", Potential::None}, {"naive", Potential::Naive}, {"discounted", Potential::Discounted}});
}

}  // namespace

void bind_reinforcement(nb::module_& m) {
    nb::class_<BoundEnvironment>(m, "Environment")
        .def(nb::new_(limited(&make_environment)), "problems"_a, "heuristic"_a, "lower"_a, "deadline"_a = 0.0,
             "memory_bytes"_a = 0)
        .def("num_states", [](BoundEnvironment& self, int problem) { return self.at(problem).size(); })
        .def("add", &add_state)
        .def("values", &state_values)
        .def("about", &about)
        .def("expand", &expand)
        .def("inputs", &inputs);
    nb::class_<RtdpOptions>(m, "RtdpOptions")
        .def(nb::init<>())
        .def_prop_rw(
            "gamma", [](const RtdpOptions& o) { return o.shaping.gamma; },
            [](RtdpOptions& o, double value) { o.shaping.gamma = value; })
        .def("set_reward", &set_reward)
        .def("set_potential", &set_potential)
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
        .def("__init__", &make_learner, KeepFirst())
        .def("run", limited(&run), "until"_a, "last"_a, "learning_rate"_a, "deadline"_a = 0.0,
             "memory_bytes"_a = 0)
        .def("value", &value)
        .def("progress", &progress)
        .def("weights", [](BoundLearner& self) { return to_numpy(self.learner.result()); })
        .def("memory", &memory)
        .def("restore", &restore);
}

}  // namespace hstar::bindings
