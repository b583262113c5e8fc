#include <optional>

#include "bindings/bindings.hpp"
#include "regression/completion.hpp"
#include "regression/improvement.hpp"
#include "regression/regression.hpp"
#include "search/walks.hpp"

namespace hstar::bindings {

namespace {

template <class T>
T named(const std::vector<std::pair<std::string, T>>& known, const std::string& name) {
    for (const auto& [given, value] : known)
        if (given == name) return value;
    throw std::invalid_argument("unknown choice '" + name + "'");
}

Novelty to_novelty(const std::string& name) {
    return named<Novelty>({{"none", Novelty::None},
                           {"preconditions", Novelty::Preconditions},
                           {"adds", Novelty::Adds},
                           {"deletes", Novelty::Deletes},
                           {"both", Novelty::Both}},
                          name);
}

Completion to_completion(const std::string& name) {
    return named<Completion>({{"atoms", Completion::Atoms},
                              {"exclusive", Completion::Exclusive},
                              {"variables", Completion::Variables}},
                             name);
}

std::pair<Numpy<int64_t>, Numpy<int>> to_arrays(Rows<int> rows) {
    std::vector<int64_t> starts(rows.offset.begin(), rows.offset.end());
    return {to_numpy(std::move(starts)), to_numpy(std::move(rows.data))};
}

// Rows of facts from Python. Throws std::invalid_argument.
Rows<int> to_rows(const Array<int64_t, 1>& starts, const Flat& facts, int num_facts) {
    Rows<int> rows;
    rows.data.assign(facts.data(), facts.data() + facts.size());
    rows.offset.clear();
    int64_t last = 0;
    for (size_t i = 0; i < starts.size(); ++i) {
        const int64_t start = starts.data()[i];
        if (start < last || start > static_cast<int64_t>(facts.size()) || start > UINT32_MAX ||
            (i == 0 && start != 0))
            throw std::invalid_argument("starts must ascend from 0 to the number of facts");
        rows.offset.push_back(static_cast<uint32_t>(last = start));
    }
    if (starts.size() == 0 || last != static_cast<int64_t>(facts.size()))
        throw std::invalid_argument("starts must end with the number of facts");
    for (int fact : rows.data)
        if (fact < 0 || fact >= num_facts) throw std::invalid_argument("no fact " + std::to_string(fact));
    return rows;
}

// Whether work is done after so many seconds. The limits of the caller still hold.
template <class Work>
bool finishes_within(double seconds, double deadline, uint64_t memory_bytes, Work work) {
    const double own = monotonic_seconds() + seconds;
    const bool is_own = deadline == 0 || own < deadline;
    return guarded([&] {
        try {
            work(Limits{is_own ? own : deadline, memory_bytes});
            return true;
        } catch (const Stopped& stopped) {
            if (stopped.reason == StopReason::Time && is_own) return false;
            throw;
        }
    });
}

// The goal side of a task: what can be regressed, and what excludes what.
struct BoundRegression {
    BoundRegression(nb::object owner, const BoundTask& bound, const Limits& limits)
        : owner(std::move(owner)),
          task(guarded([&] { return SetTask(bound.task); })),
          mutexes(guarded([&] { return Mutexes(task, limits); })) {}
    nb::object owner;  // keeps the task alive
    SetTask task;
    Mutexes mutexes;

    bool add_h2(double seconds, double deadline, uint64_t memory_bytes) {
        return finishes_within(seconds, deadline, memory_bytes,
                               [&](const Limits& limits) { task.keep_only(mutexes.add_h2(task, limits)); });
    }
};

struct BoundPreImages {
    nb::object owner;  // keeps the regression alive
    const BoundRegression& regression;
    PreImages images;
};

std::unique_ptr<BoundPreImages> backward_walks(nb::object self, int count, int length,
                                               const std::string& novelty, uint64_t seed, double deadline,
                                               uint64_t memory_bytes) {
    const auto& regression = nb::cast<const BoundRegression&>(self);
    require(count >= 1 && length >= 1, "the numbers of walks and of their steps must be at least 1");
    const BackwardWalkOptions options{count, length, to_novelty(novelty), seed};
    PreImages images = guarded([&] {
        return walk_backwards(regression.task, regression.mutexes, options, Limits{deadline, memory_bytes});
    });
    return std::make_unique<BoundPreImages>(BoundPreImages{self, regression, std::move(images)});
}

std::unique_ptr<BoundPreImages> focused(nb::object self, int count, double breadth_first, int length,
                                        int stride, uint64_t seed, double deadline, uint64_t memory_bytes) {
    const auto& regression = nb::cast<const BoundRegression&>(self);
    require(count >= 1 && stride >= 1, "the number of sets and the stride must be at least 1");
    require(breadth_first >= 0 && breadth_first <= 1, "the share found breadth-first must be from 0 to 1");
    const FocusedOptions options{count, breadth_first, length, stride, seed};
    PreImages images = guarded([&] {
        return sample_focused(regression.task, regression.mutexes, options, Limits{deadline, memory_bytes});
    });
    return std::make_unique<BoundPreImages>(BoundPreImages{self, regression, std::move(images)});
}

auto complete_images(const BoundPreImages& self, const Flat& chosen, const std::string& way, uint64_t seed,
                     double deadline, uint64_t memory_bytes) {
    const Ints numbers(chosen.data(), chosen.data() + chosen.size());
    for (int number : numbers)
        if (number < -1 || number >= self.images.size())
            throw std::invalid_argument("no pre-image " + std::to_string(number));
    const Completion completion = to_completion(way);
    return to_arrays(guarded([&] {
        return complete(self.regression.task, self.regression.mutexes, self.images, numbers, completion, seed,
                        Limits{deadline, memory_bytes});
    }));
}

Numpy<int> depths(const BoundPreImages& self, const Array<int64_t, 1>& starts, const Flat& facts,
                  double deadline, uint64_t memory_bytes) {
    const Rows<int> states = to_rows(starts, facts, self.regression.task.task.num_facts());
    auto found = guarded([&] {
        return smallest_depths(self.regression.task, self.images, states, Limits{deadline, memory_bytes});
    });
    return to_numpy(std::move(found));
}

bool improve(BoundPreImages& self, double seconds, double deadline, uint64_t memory_bytes) {
    return finishes_within(seconds, deadline, memory_bytes, [&](const Limits& limits) {
        improve_depths(self.regression.task, self.images, limits);
    });
}

Numpy<int, 2> walk(const BoundTask& bound, int count, int steps, uint64_t seed, double deadline,
                   uint64_t memory_bytes) {
    require(count >= 0 && steps >= 0, "the numbers of walks and of their steps must not be negative");
    const Limits limits = Limits{deadline, memory_bytes};
    Ints states = guarded([&] {
        return random_walks(
            *bound.make_space(bound.task.initial_state, limits),
            [&](int op) { return bound.is_artificial(op); }, count, steps, seed, limits);
    });
    return to_numpy(std::move(states),
                    {static_cast<size_t>(count), static_cast<size_t>(bound.task.num_variables())});
}

}  // namespace

void bind_sampling(nb::module_& m) {
    constexpr auto kOwned = nb::rv_policy::automatic;  // the arrays are no part of the object
    m.def("random_walks", &walk, nb::arg("task"), nb::arg("count"), nb::arg("steps"), nb::arg("seed"),
          nb::arg("deadline"), nb::arg("memory_bytes"));
    nb::class_<BoundPreImages>(m, "PreImages")
        .def("__len__", [](const BoundPreImages& p) { return p.images.size(); })
        .def_prop_ro(
            "facts", [](const BoundPreImages& p) { return to_arrays(p.images.facts); }, kOwned)
        .def_prop_ro(
            "depth", [](const BoundPreImages& p) { return to_numpy(p.images.depth); }, kOwned)
        .def_prop_ro(
            "parent", [](const BoundPreImages& p) { return to_numpy(p.images.parent); }, kOwned)
        .def_prop_ro(
            "op", [](const BoundPreImages& p) { return to_numpy(p.images.op); }, kOwned)
        .def_prop_ro(
            "walk", [](const BoundPreImages& p) { return to_numpy(p.images.walk); }, kOwned)
        .def("improve", &improve, nb::arg("seconds"), nb::arg("deadline"), nb::arg("memory_bytes"))
        .def("complete", &complete_images, nb::arg("chosen"), nb::arg("way"), nb::arg("seed"),
             nb::arg("deadline"), nb::arg("memory_bytes"))
        .def("smallest_depths", &depths, nb::arg("starts"), nb::arg("facts"), nb::arg("deadline"),
             nb::arg("memory_bytes"));
    nb::class_<BoundRegression>(m, "Regression")
        .def(
            "__init__",
            [](BoundRegression* self, Object<BoundTask> task, double deadline, uint64_t memory_bytes) {
                new (self)
                    BoundRegression(task, nb::cast<const BoundTask&>(task), Limits{deadline, memory_bytes});
            },
            nb::arg("task"), nb::arg("deadline"), nb::arg("memory_bytes"))
        .def("add_h2", &BoundRegression::add_h2, nb::arg("seconds"), nb::arg("deadline"),
             nb::arg("memory_bytes"))
        .def_prop_ro("num_left_out", [](const BoundRegression& r) { return r.task.num_left_out; })
        .def_prop_ro("num_mutexes", [](const BoundRegression& r) { return r.mutexes.num_pairs(); })
        .def("exclusive",
             [](const BoundRegression& r, int a, int b) {
                 const int facts = r.task.task.num_facts();
                 if (std::min(a, b) < 0 || std::max(a, b) >= facts) throw nb::index_error("no such fact");
                 return r.mutexes.exclusive(a, b);
             })
        .def("operators",
             [](const BoundRegression& r, const Flat& facts) {
                 const Rows<int> one = [&] {
                     Rows<int> rows;
                     for (size_t i = 0; i < facts.size(); ++i) {
                         const int fact = facts.data()[i];
                         if (fact < 0 || fact >= r.task.task.num_facts())
                             throw nb::index_error("no such fact");
                         rows.push(fact);
                     }
                     rows.close_row();
                     return rows;
                 }();
                 Regression set(r.task, r.mutexes);
                 set.set(one[0]);
                 return set.operators();
             })
        .def("backward_walks", &backward_walks, nb::arg("count"), nb::arg("length"), nb::arg("novelty"),
             nb::arg("seed"), nb::arg("deadline"), nb::arg("memory_bytes"))
        .def("focused", &focused, nb::arg("count"), nb::arg("breadth_first"), nb::arg("length"),
             nb::arg("stride"), nb::arg("seed"), nb::arg("deadline"), nb::arg("memory_bytes"));
}

}  // namespace hstar::bindings
