// Heuristics as Python hands them over: of class Heuristic, or callables.
#pragma once
#include <memory>
#include <vector>

#include "bindings/bindings.hpp"

namespace hstar::bindings {

// A Python callable: states int32 [B, V] -> B numbers. If it has a method
// evaluate_edges(parents int32 [E, V], counts int32 [E], ops int32 [B], children int32 [B, V]) -> B numbers,
// that one is asked for states with a parent. The first counts[0] children are successors of the first
// parent, and so on.
class CallableEvaluator : public Evaluator {
  public:
    explicit CallableEvaluator(nb::object callable)
        : callable_(std::move(callable)), is_of_edges_(nb::hasattr(callable_, "evaluate_edges")) {}
    bool is_safe() const override { return false; }
    bool is_of_edges() const override { return is_of_edges_; }
    void evaluate(const StateBatch& batch, float* h, Rows<int>*) override {
        nb::gil_scoped_acquire acquire;
        size_t count = batch.count, variables = batch.num_variables;
        read(callable_(to_numpy(Ints(batch.values, batch.values + count * variables), {count, variables})),
             count, "states", h);
    }

    void evaluate_expansions(const ExpansionBatch& batch, float* h, Rows<int>* preferred) override {
        if (!is_of_edges_ || !batch.expansions[0].parent) return evaluate(batch.children, h, preferred);
        nb::gil_scoped_acquire acquire;
        const size_t count = batch.children.count, variables = batch.children.num_variables;
        const size_t num_parents = batch.expansions.size();
        Ints parents(num_parents * variables), counts;
        for (size_t i = 0; i < num_parents; ++i) {
            batch.packing.unpack(batch.expansions[i].parent, parents.data() + i * variables);
            counts.push_back(batch.expansions[i].count);
        }
        const int* children = batch.children.values;
        read(callable_.attr("evaluate_edges")(
                 to_numpy(std::move(parents), {num_parents, variables}), to_numpy(std::move(counts)),
                 to_numpy(Ints(batch.ops.begin(), batch.ops.end())),
                 to_numpy(Ints(children, children + count * variables), {count, variables})),
             count, "edges", h);
    }

  private:
    static void read(const nb::object& answered, size_t count, const char* of_what, float* h) {
        nb::object numpy = nb::module_::import_("numpy");
        nb::object answer = numpy.attr("ascontiguousarray")(answered, "float32");
        auto values = nb::cast<nb::ndarray<const float, nb::c_contig, nb::device::cpu>>(answer);
        if (values.ndim() != 1 || values.size() != count)
            refuse("the heuristic was given ", count, " ", of_what,
                   " and must return as many numbers, in one dimension");
        for (size_t i = 0; i < count; ++i) {
            h[i] = values.data()[i];
            if (h[i] != h[i]) refuse("the heuristic returned NaN; use inf for dead ends");
        }
    }

    nb::object callable_;
    const bool is_of_edges_;
};

// Keeps what it was given alive, as long as the caller keeps the objects of class Heuristic alive.
class GivenHeuristics {
  public:
    // Throws std::invalid_argument for a heuristic of another space.
    Evaluator* add(const BoundSpace& bound, nb::handle heuristic) {
        if (nb::isinstance<BoundHeuristic>(heuristic)) {
            auto* given = nb::cast<BoundHeuristic*>(heuristic);
            if (!given->space.is_same(bound)) refuse("the heuristic was made for another task or puzzle");
            used_.insert(&given->use);
            return given->evaluator.get();
        }
        made_.push_back(std::make_unique<CallableEvaluator>(nb::borrow(heuristic)));
        return made_.back().get();
    }
    const Exclusive::Set& used() const { return used_; }  // to be locked while they work

  private:
    std::vector<std::unique_ptr<Evaluator>> made_;
    Exclusive::Set used_;
};

}  // namespace hstar::bindings
