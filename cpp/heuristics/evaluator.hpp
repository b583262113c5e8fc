// A heuristic as search sees it: a batch of states in, one number per state out.
//
// Search hands over all new successors of an expansion at once, together with their parent and the operators
// that lead to them. An evaluator can share most of the work between them, or start from the parent's value.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/limits.hpp"
#include "runtime/rows.hpp"
#include "task/packing.hpp"
#include "task/task.hpp"

namespace hstar {

constexpr float kDeadEnd = std::numeric_limits<float>::infinity();

// An integer value as float; beyond 2^24 rounded down, so that an admissible value stays admissible.
inline float to_float_below(int64_t value) {
    float rounded = static_cast<float>(value);
    return static_cast<int64_t>(rounded) > value ? std::nextafterf(rounded, 0.0f) : rounded;
}

struct StateBatch {
    const int* values;  // count x num_variables
    int count;
    int num_variables;
    const int* row(int i) const { return values + static_cast<size_t>(i) * num_variables; }
};

// Consecutive rows of a batch that are successors of one state.
struct Expansion {
    const unsigned char* parent;  // packed; null if the states have none
    int first, count;             // rows of the batch
};

struct ExpansionBatch {
    StateBatch children;
    std::span<const Expansion> expansions;  // cover the children in order
    std::span<const int> ops;               // the operator that leads to each child
    const Packing& packing;                 // of the parents
};

class Evaluator {
  public:
    virtual ~Evaluator() = default;
    // Fills h[0 .. count); kDeadEnd where no plan exists. If `preferred` is given, appends a row of preferred
    // operators per state; only for evaluators that have them.
    virtual void evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) = 0;
    // The same for successors of known parents. Incremental evaluators override it.
    virtual void evaluate_expansions(const ExpansionBatch& batch, float* h, Rows<int>* preferred) {
        evaluate(batch.children, h, preferred);
    }
    // The same for a search that leaves out states with h over `most[i]`: where that is known, h may stay a
    // lower bound over it.
    virtual void evaluate_within(const StateBatch& batch, const double* /*most*/, float* h) {
        evaluate(batch, h, nullptr);
    }
    virtual bool has_preferred_operators() const { return false; }
    // From now on, wherever preferred operators are asked for, a row of `ways` is appended too: operators
    // that can be applied one after the other and are likely to lead towards the goal. Null ends it.
    // Only for evaluators that have them.
    virtual void write_ways_to(Rows<int>* /*ways*/) {}
    virtual bool has_ways() const { return false; }
    // Ranks operators that are applicable in a state: search should try those with small ranks first. Ranks
    // in different states cannot be compared. Only for evaluators that rank operators.
    virtual void rank_operators(const int* /*values*/, std::span<const int> /*ops*/, float* /*rank*/) {}
    virtual bool ranks_operators() const { return false; }
    // How many states may be handed over at once without risk to time limits.
    virtual int slice() const { return std::numeric_limits<int>::max(); }
    // Seconds spent on values so far, by an evaluator that looks at the clock anyway; 0 by others.
    virtual double seconds_spent() const { return 0; }
    // Whether computing a value again is cheaper than remembering it.
    virtual bool is_trivial() const { return false; }
    // Whether kDeadEnd is a proof. If not, an exhausted search has proved nothing.
    virtual bool is_safe() const { return true; }
    // Whether a value belongs to the edge (parent, operator) and not to the state it leads to. kDeadEnd is
    // about the state all the same. Only evaluate_expansions knows edges; evaluate is for the initial state.
    virtual bool is_of_edges() const { return false; }
};

// How operator costs enter a heuristic.
enum class CostType { Normal, One, PlusOne };
std::vector<int> adjusted_costs(const Task& task, CostType type);

std::unique_ptr<Evaluator> make_lmcut(const Task& task, CostType type, const Limits& limits);

// The registry: blind, goalcount, hmax, hadd, ff, lmcut. Throws std::invalid_argument for other names.
// On large tasks construction takes seconds: it throws Stopped when a limit is reached.
std::unique_ptr<Evaluator> make_evaluator(const std::string& name, const Task& task, CostType type,
                                          const Limits& limits = {});

}  // namespace hstar
