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

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "heuristics/evaluator.hpp"
#include "runtime/limits.hpp"
#include "search/search.hpp"
#include "task/successors.hpp"
#include "task/task.hpp"

namespace hstar::bindings {

namespace nb = nanobind;

using Ints = std::vector<int>;
using Flat = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using States = nb::ndarray<const int, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct StoppedError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Hands a vector over to Python without a copy.
template <class T, class Allocator>
nb::object to_numpy(std::vector<T, Allocator> data, std::vector<size_t> shape) {
    using Vector = std::vector<T, Allocator>;
    auto* owner = new Vector(std::move(data));
    nb::capsule deleter(owner, [](void* p) noexcept { delete static_cast<Vector*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owner->data(), shape.size(), shape.data(), deleter));
}

Limits make_limits(double deadline, uint64_t memory_bytes);
const char* reason_name(StopReason reason);
CostType to_cost_type(const std::string& name);

// A task with what Python asks of it often.
struct BoundTask {
    explicit BoundTask(Task grounded) : task(std::move(grounded)) {}
    Task task;

    // Built on first use: describing a task does not need it.
    const SuccessorGenerator& generator() const;
    // Throws std::invalid_argument for values that are no states of the task.
    void check_states(const States& states) const;

  private:
    mutable std::unique_ptr<SuccessorGenerator> generator_;
};

struct BoundHeuristic {
    BoundHeuristic(nb::object owner, std::unique_ptr<Evaluator> evaluator);
    nb::object owner;  // keeps the task alive
    const BoundTask& bound;
    std::unique_ptr<Evaluator> evaluator;
    std::mutex mutex;  // evaluators have work space of their own, and threads may share one

    nb::object evaluate(States states);
    std::vector<Ints> preferred_operators(States states);
    nb::object plan_features(States states);
    void set_wide_threshold(int count);
    int64_t states_side_by_side() const;

  private:
    StateBatch batch(const States& states) const;
};

// From the dictionary that hstar.learned.heuristic makes.
std::unique_ptr<BoundHeuristic> make_learned_heuristic(nb::object task, const nb::dict& spec);
// The maximum of sums of pattern databases of the task.
std::unique_ptr<BoundHeuristic> make_pdb_heuristic(nb::object task, const nb::list& sums);

// A Python callable: states int32 [B, V] -> B numbers.
std::unique_ptr<Evaluator> make_callable(nb::object callable);
// All but the plan and its cost.
nb::dict to_dict(const SearchResult& result);

// Each adds its part to the module.
nb::class_<BoundTask> bind_task(nb::module_& m);
void bind_heuristics(nb::module_& m);
void bind_search(nb::class_<BoundTask>& task);
void bind_learned(nb::module_& m);
void bind_puzzles(nb::module_& m);
void bind_pdb(nb::module_& m);
void bind_learned_pdb(nb::module_& m);

}  // namespace hstar::bindings
