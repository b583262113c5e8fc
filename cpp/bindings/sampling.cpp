#include <optional>

#include "bindings/bindings.hpp"
#include "regression/regression.hpp"
#include "search/walks.hpp"
#include "teaching/labels.hpp"

namespace hstar::bindings {

namespace {

std::pair<Numpy<int64_t>, Numpy<int>> to_arrays(Rows<int> rows) {
    std::vector<int64_t> starts(rows.offset.begin(), rows.offset.end());
    return {to_numpy(std::move(starts)), to_numpy(std::move(rows.data))};
}

// Whether work is done after so many seconds. The limits of the caller still hold.
template <class Work>
bool finishes_within(double seconds, const Limits& limits, Work work) {
    const double own = monotonic_seconds() + seconds;
    const bool is_own = limits.deadline == 0 || own < limits.deadline;
    return guarded([&] {
        try {
            work(Limits{is_own ? own : limits.deadline, limits.memory_bytes});
            return true;
        } catch (const Stopped& stopped) {
            if (stopped.reason == StopReason::Time && is_own) return false;
            throw;
        }
    });
}

// The goal side of a task: what can be regressed, and what excludes what.
struct BoundRegression {
    BoundRegression(const BoundTask& bound, const Limits& limits)
        : task(guarded([&] { return SetTask(bound.task); })),
          mutexes(guarded([&] { return Mutexes(task, limits); })) {}
    SetTask task;
    Mutexes mutexes;
};

bool add_h2(const Limits& limits, BoundRegression& self, double seconds) {
    return finishes_within(seconds, limits, [&](const Limits& own) {
        self.task.keep_only(self.mutexes.add_h2(self.task, own));
    });
}

// The operators that regress a set of facts.
Ints operators(const BoundRegression& self, const Flat& given) {
    const Ints facts = copied(given);
    for (int fact : facts) checked_number(fact, self.task.task.num_facts(), "no such fact");
    Regression set(self.task, self.mutexes);
    set.set(facts);
    return set.operators();
}

struct BoundPreImages {
    const BoundRegression& regression;
    PreImages images;
};

// What `sample` finds by regression from the goal.
template <class Options>
BoundPreImages sampled(PreImages (*sample)(const SetTask&, const Mutexes&, const Options&, const Limits&),
                       const BoundRegression& self, const Options& options, const Limits& limits) {
    return {self, guarded([&] { return sample(self.task, self.mutexes, options, limits); })};
}

BoundPreImages backward_walks(const Limits& limits, const BoundRegression& self, int count, int length,
                              const std::string& novelty, uint64_t seed) {
    require(count >= 1 && length >= 1, "the numbers of walks and of their steps must be at least 1");
    const auto preferred = chosen<Novelty>("choice", novelty,
                                           {{"none", Novelty::None},
                                            {"preconditions", Novelty::Preconditions},
                                            {"deletes", Novelty::Deletes},
                                            {"both", Novelty::Both}});
    return sampled(walk_backwards, self, BackwardWalkOptions{count, length, preferred, seed}, limits);
}

BoundPreImages focused(const Limits& limits, const BoundRegression& self, int count, double breadth_first,
                       int length, int stride, uint64_t seed) {
    require(count >= 1 && stride >= 1, "the number of sets and the stride must be at least 1");
    require(breadth_first >= 0 && breadth_first <= 1, "the share found breadth-first must be from 0 to 1");
    return sampled(sample_focused, self, FocusedOptions{count, breadth_first, length, stride, seed}, limits);
}

auto complete_images(const Limits& limits, const BoundPreImages& self, const Flat& images,
                     const std::string& way, uint64_t seed) {
    const Ints numbers = copied(images);
    for (int number : numbers) require(number >= -1 && number < self.images.size(), "no pre-image ", number);
    const auto completion = chosen<Completion>("choice", way,
                                               {{"atoms", Completion::Atoms},
                                                {"exclusive", Completion::Exclusive},
                                                {"variables", Completion::Variables}});
    return to_arrays(guarded([&] {
        return complete(self.regression.task, self.regression.mutexes, self.images, numbers, completion, seed,
                        limits);
    }));
}

Numpy<int> depths(const Limits& limits, const BoundPreImages& self, const Longs& starts, const Flat& facts) {
    const GivenRows given(starts, facts, self.regression.task.task.num_facts(), "fact");
    require(facts.size() <= UINT32_MAX, "the states hold too many facts");
    const Rows<int> states{{given.starts.begin(), given.starts.end()}, given.items};
    return to_numpy(
        guarded([&] { return smallest_depths(self.regression.task, self.images, states, limits); }));
}

bool improve(const Limits& limits, BoundPreImages& self, double seconds) {
    return finishes_within(
        seconds, limits, [&](const Limits& own) { improve_depths(self.regression.task, self.images, own); });
}

Numpy<int, 2> walk(const Limits& limits, const BoundTask& bound, int count, int steps, uint64_t seed) {
    require(count >= 0 && steps >= 0, "the numbers of walks and of their steps must not be negative");
    Ints states = guarded([&] {
        return random_walks(*bound.make_space(bound.task.initial_state, limits), count, steps, seed, limits);
    });
    return to_numpy(std::move(states),
                    {static_cast<size_t>(count), static_cast<size_t>(bound.task.num_variables())});
}

// Calls work(space of the task, heuristic).
template <class Work>
auto with_heuristic(const Limits& limits, const BoundTask& bound, BoundHeuristic& heuristic, Work work) {
    require(heuristic.space.is_same(bound), "the heuristic was made for another task or puzzle");
    return guarded([&] {
        const auto space = bound.make_space(bound.task.initial_state, limits);
        const auto lock = heuristic.use.lock();
        return work(*space, *heuristic.evaluator);
    });
}

auto label(const Limits& limits, const BoundTask& bound, const States& starts, BoundHeuristic& heuristic,
           SearchOptions options, double seconds) {
    require(!options.deepen, "labels come from searches that remember states");
    const StateRows rows = bound.checked(starts);
    options.limits = limits;
    PlanLabels labels = with_heuristic(limits, bound, heuristic, [&](StateSpace& space, Evaluator& h) {
        return label_by_search(space, rows.batch(), h, options, seconds);
    });
    const size_t count = labels.steps.size();  // before it is moved: arguments have no order
    return std::tuple(to_numpy(std::move(labels.states), {count, rows.columns}),
                      to_numpy(std::move(labels.steps)), to_numpy(std::move(labels.solved)));
}

auto bellman(const Limits& limits, const BoundTask& bound, const States& states, BoundHeuristic& heuristic) {
    const StateRows rows = bound.checked(states);
    return to_numpy(with_heuristic(limits, bound, heuristic, [&](StateSpace& space, Evaluator& h) {
        return bellman_values(space, rows.batch(), h, limits);
    }));
}

auto distances(const Limits& limits, const BoundTask& bound, const States& states, BoundHeuristic& heuristic,
               SearchOptions options, uint64_t max_evaluations) {
    const StateRows rows = bound.checked(states);
    options.limits = limits;
    return to_numpy(with_heuristic(limits, bound, heuristic, [&](StateSpace& space, Evaluator& h) {
        return distances_by_search(space, rows.batch(), h, options, max_evaluations);
    }));
}

}  // namespace

void bind_sampling(nb::module_& m) {
    constexpr auto kOwned = nb::rv_policy::automatic;  // the arrays are no part of the object
    const auto array = [](std::vector<int> PreImages::* member) {
        return [member](const BoundPreImages& p) { return to_numpy(p.images.*member); };
    };
    m.def("random_walks", limited(&walk));
    nb::class_<BoundPreImages>(m, "PreImages")
        .def("__len__", [](const BoundPreImages& p) { return p.images.size(); })
        .def_prop_ro(
            "facts", [](const BoundPreImages& p) { return to_arrays(p.images.facts); }, kOwned)
        .def_prop_ro("depth", array(&PreImages::depth), kOwned)
        .def_prop_ro("parent", array(&PreImages::parent), kOwned)
        .def_prop_ro("op", array(&PreImages::op), kOwned)
        .def_prop_ro("walk", array(&PreImages::walk), kOwned)
        .def("improve", limited(&improve))
        .def("complete", limited(&complete_images))
        .def("smallest_depths", limited(&depths));
    nb::class_<BoundRegression>(m, "Regression")
        .def("__init__", limited(+[](const Limits& limits, BoundRegression* self, const BoundTask& task) {
                 new (self) BoundRegression(task, limits);
             }),
             KeepFirst())
        .def("add_h2", limited(&add_h2))
        .def("exclusive",
             [](const BoundRegression& r, int a, int b) {
                 for (int fact : {a, b}) checked_number(fact, r.task.task.num_facts(), "no such fact");
                 return r.mutexes.exclusive(a, b);
             })
        .def("operators", &operators)
        .def("backward_walks", limited(&backward_walks), KeepSource())
        .def("focused", limited(&focused), KeepSource());
    m.def("label_by_search", limited(&label));
    m.def("distances", limited(&distances));
    m.def("bellman_values", limited(&bellman));
}

}  // namespace hstar::bindings
