// What the bindings share. Only this folder knows Python; it has few, fat functions: a lifted task in, a
// grounded task out; batches of states in, arrays out. The GIL is released while the core works.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "networks/mlp/network.hpp"
#include "networks/nlm/batch.hpp"
#include "pdb/piece_walker.hpp"
#include "runtime/limits.hpp"
#include "runtime/require.hpp"
#include "search/search.hpp"
#include "task/successors.hpp"
#include "task/task.hpp"
#include "wl/graph.hpp"

namespace hstar::bindings {

namespace nb = nanobind;
using namespace nb::literals;

using Ints = std::vector<int>;
template <class T, int dimensions>
using Array = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Flat = Array<int, 1>;
using States = Array<int, 2>;
using Floats = Array<float, 1>;
using Matrix = Array<float, 2>;
using Longs = Array<int64_t, 1>;

// A copy, because another thread may change the array while the core reads it.
template <class Numbers>
auto copied(const Numbers& array) {
    using T = std::remove_const_t<typename Numbers::Scalar>;
    return std::vector<T>(array.data(), array.data() + array.size());
}

// What Python gets. Types of results are written out in the stub, so `nb::object` says too little.
template <class T, int dimensions = 1>
using Numpy = nb::ndarray<nb::numpy, T, nb::ndim<dimensions>>;
using Dict = nb::typed<nb::dict, nb::str, nb::any>;
// What a new object refers to is kept alive: the first argument behind it, or that of the function it is
// from.
using KeepFirst = nb::keep_alive<1, 2>;
using KeepSource = nb::keep_alive<0, 1>;

// Hands a vector over to Python without a copy.
template <class T, class Allocator, size_t dimensions>
auto to_numpy(std::vector<T, Allocator> data, const size_t (&shape)[dimensions]) {
    using Vector = std::vector<T, Allocator>;
    auto* owner = new Vector(std::move(data));
    nb::capsule deleter(owner, [](void* p) noexcept { delete static_cast<Vector*>(p); });
    return Numpy<T, dimensions>(owner->data(), dimensions, shape, deleter);
}
template <class T, class Allocator>
auto to_numpy(std::vector<T, Allocator> data) {
    const size_t size = data.size();
    return to_numpy(std::move(data), {size});
}

// Rows of numbers below a limit, one after the other: where each begins, and the end of the last. Throws
// std::invalid_argument for other arrays.
struct GivenRows {
    GivenRows(const Longs& starts, const Flat& items, size_t limit, const char* what);
    std::vector<int64_t> starts;
    Ints items;
};

struct StateRows {
    // Throws std::invalid_argument for more rows than the core can count.
    explicit StateRows(const States& states);
    Ints values;
    size_t count, columns;
    const int* row(size_t i) const { return values.data() + i * columns; }
    StateBatch batch() const { return {values.data(), static_cast<int>(count), static_cast<int>(columns)}; }
};

CostType to_cost_type(const std::string& name);

template <class Kernel>
std::vector<std::string> names_of(const std::vector<Kernel>& kernels) {
    std::vector<std::string> names;
    for (const Kernel& kernel : kernels) names.push_back(kernel.name);
    return names;
}

struct StoppedError : std::runtime_error {
    using std::runtime_error::runtime_error;
    explicit StoppedError(Stopped stopped) : StoppedError(kReasons[static_cast<int>(stopped.reason)]) {}
    static constexpr const char* kReasons[] = {"time", "memory", "interrupt", "terminate"};
};

// Keeps threads from using an object of the core at once, where it has work space of its own.
class Exclusive {
  public:
    using Lock = std::unique_lock<std::timed_mutex>;

    // Waits without the GIL, whether or not the caller has it; signals and the deadline of the caller's work,
    // if any, end that. A function of Python that a search calls must not wait for what this search holds: it
    // would wait forever. It may do so in another thread: whoever waits gives up when the holder's deadline
    // has passed. Throws std::invalid_argument, StoppedError.
    Lock lock(double deadline = 0) {
        for (const Holder* holder = innermost_; holder; holder = holder->outer_)
            require(!holder->held_.contains(this),
                    "the search that calls this function, or one that takes turns with it, uses the same "
                    "heuristic; bind or make another one for the function");
        Lock lock(mutex_, std::try_to_lock);
        std::optional<nb::gil_scoped_release> release;
        if (!lock && PyGILState_Check()) release.emplace();
        int overdue = 0;  // in so many looks in a row; the first may see the deadline of an earlier holder
        while (!lock && !lock.try_lock_for(std::chrono::milliseconds(20))) {
            try {
                Limits{deadline}.check();
            } catch (const Stopped& stopped) {
                throw StoppedError(stopped);
            }
            overdue = deadline_ > 0 && monotonic_seconds() > deadline_ ? overdue + 1 : 0;
            require(
                overdue < 10,
                "a search that has no time left uses the same heuristic, and may wait for this call; bind or "
                "make another one");
            nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        deadline_ = deadline;
        return lock;
    }

    using Set = std::set<Exclusive*>;
    // Everyone locks them in this order, and all at once, so that nobody waits in a circle.
    static std::vector<Lock> lock_all(const Set& set, double deadline) {
        std::vector<Lock> locks;
        for (Exclusive* one : set) locks.push_back(one->lock(deadline));
        return locks;
    }

    // While it exists, this thread works for someone who holds the set.
    class Holder {
      public:
        explicit Holder(const Set& held) : held_(held), outer_(innermost_) { innermost_ = this; }
        ~Holder() { innermost_ = outer_; }
        Holder(const Holder&) = delete;
        Holder& operator=(const Holder&) = delete;

      private:
        friend class Exclusive;
        const Set& held_;
        const Holder* outer_;
    };

  private:
    static inline thread_local const Holder* innermost_ = nullptr;
    std::timed_mutex mutex_;
    std::atomic<double> deadline_ = 0;  // of the holder; 0: none
};

// Runs without the GIL.
template <class Work>
auto without_gil(Work work) {
    nb::gil_scoped_release release;
    return work();
}

// The same; signals and limits end it.
template <class Work>
auto guarded(Work work) {
    SignalScope signals;
    // A signal that Python has noted, but not yet acted upon, would be unknown to the core.
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    nb::gil_scoped_release release;
    try {
        return work();
    } catch (const Stopped& stopped) {
        throw StoppedError(stopped);
    }
}

// Python gives limits as the last two arguments: the deadline, and the bytes of memory.
template <class Result, class... Args>
auto limited(Result (*function)(const Limits&, Args...)) {
    return [function](Args... args, double deadline, uint64_t memory_bytes) {
        return function(Limits{deadline, memory_bytes}, std::forward<Args>(args)...);
    };
}

// The number itself. Throws IndexError.
inline int checked_number(int number, int count, const char* what) {
    if (number < 0 || number >= count) throw nb::index_error(what);
    return number;
}

// What can be searched, as Python holds it: a task or a puzzle.
struct BoundSpace {
    virtual ~BoundSpace() = default;
    // Throw std::invalid_argument for rows that are no states of the space.
    StateRows checked(const States& states) const;
    void check_columns(const StateRows& states) const;
    void check_value(const StateRows& states, size_t i, int variable) const;
    virtual void check_state(const int*) const {}  // whose values exist
    // The heuristic of a name. Throws std::invalid_argument, Stopped.
    virtual std::unique_ptr<Evaluator> make_evaluator(const std::string& name, CostType cost,
                                                      const Limits& limits) const = 0;
    // To be called without the GIL. Throws Stopped.
    virtual std::unique_ptr<StateSpace> make_space(Ints initial_state, const Limits& limits) const = 0;
    virtual const Ints& domain_sizes() const = 0;
    virtual const Ints* initial_state() const { return nullptr; }  // null: a search must name one
    virtual std::string operator_name(int op) const = 0;
    virtual const Puzzle* as_puzzle() const { return nullptr; }
    bool is_same(const BoundSpace& other) const {
        return this == &other ||
               (as_puzzle() && other.as_puzzle() && as_puzzle()->name == other.as_puzzle()->name);
    }
};

// A task with what Python needs often.
struct BoundTask : BoundSpace {
    explicit BoundTask(Task grounded) : task(std::move(grounded)) {}
    Task task;

    // Built on first use: describing a task does not need it. To be called without the GIL.
    const SuccessorGenerator& generator(const Limits& limits) const;
    std::unique_ptr<Evaluator> make_evaluator(const std::string& name, CostType cost,
                                              const Limits& limits) const override;
    std::unique_ptr<StateSpace> make_space(Ints initial_state, const Limits& limits) const override;
    const Ints& domain_sizes() const override { return task.domain_size; }
    const Ints* initial_state() const override { return &task.initial_state; }
    std::string operator_name(int op) const override { return task.operator_name(op); }

  private:
    mutable std::mutex mutex_;
    mutable std::unique_ptr<SuccessorGenerator> generator_;
};

// An evaluator of the core, bound to a space.
struct BoundHeuristic {
    BoundHeuristic(const BoundSpace& space, std::unique_ptr<Evaluator> evaluator)
        : space(space), evaluator(std::move(evaluator)) {}
    const BoundSpace& space;
    std::unique_ptr<Evaluator> evaluator;
    Exclusive use;  // evaluators have work space of their own, and threads may share one

    // IDA* with pattern databases of a puzzle; null for other heuristics. Throws Stopped.
    const PieceDeepening* deepening(const Limits& limits);
    // Null for other kinds of evaluators.
    template <class Kind>
    Kind* as() const {
        return dynamic_cast<Kind*>(evaluator.get());
    }

  private:
    std::unique_ptr<PieceDeepening> deepening_;
    bool is_prepared_ = false;
};

// From a list of (weights [outputs, inputs], bias, "relu" or "none", whether the input of the layer before is
// added).
using Layers = nb::typed<nb::list, nb::any>;
std::vector<MlpLayer> to_mlp_layers(const Layers& items);
// From the dictionary that hstar.slots.features.atoms makes.
NlmEncoding to_nlm_encoding(const nb::dict& spec);

// From the dictionary that hstar.slots.features.wl makes.
std::pair<WlOptions, std::vector<WlColour>> to_wl_colouring(const nb::dict& spec);

// From the dictionary that hstar.slots.learned_heuristic makes.
std::unique_ptr<BoundHeuristic> make_learned_heuristic(const BoundTask& task, const Dict& spec);
using Sums = nb::typed<nb::list, nb::any>;  // of lists of pattern databases
// The maximum of sums of pattern databases of a space.
std::unique_ptr<BoundHeuristic> make_pdb_heuristic(const BoundSpace& space, const Sums& sums);

// Each adds its part to the module.
using Binder = void(nb::module_& m);
Binder bind_task, bind_sampling, bind_reinforcement, bind_heuristics, bind_search, bind_learned,
    bind_training, bind_puzzles, bind_pdb, bind_learned_pdb;

}  // namespace hstar::bindings
