// Regression: from a set of facts x to the weakest set from which an operator leads to a superset of x.
//
// Operator o regresses x if it adds a fact of x, deletes none, adds nothing that excludes a fact of x, and if
// x' = (x minus add(o)) plus pre(o) holds no exclusive pair. Then every state that contains x' reaches one
// that contains x by o.
#pragma once
#include <cstdint>
#include <vector>

#include "regression/mutexes.hpp"
#include "regression/set_task.hpp"
#include "runtime/random.hpp"

namespace hstar {

class Regression {
  public:
    Regression(const SetTask& task, const Mutexes& mutexes);

    void set(std::span<const int> facts);
    // The facts of the current set, ascending.
    std::vector<int> facts() const;
    bool contains(int fact) const { return bits_[fact / 64] >> (fact % 64) & 1; }

    // The operators that regress the current set, ascending.
    const std::vector<int>& operators();
    // Replaces the current set by its regression; the operator must be one of operators().
    void apply(int op);

  private:
    bool is_valid(int op);
    bool meets(int fact) const;  // whether it excludes a fact of the set
    void insert(int fact) {
        bits_[fact / 64] |= uint64_t{1} << (fact % 64);
        value_[task_.variable_of[fact]] = fact;
    }
    void erase(int fact) {
        bits_[fact / 64] &= ~(uint64_t{1} << (fact % 64));
        value_[task_.variable_of[fact]] = -1;
    }

    const SetTask& set_task_;
    const Task& task_;
    const Mutexes& mutexes_;
    std::vector<uint64_t> bits_;
    std::vector<int> value_;  // per variable: the fact of the set, or -1
    std::vector<uint32_t> seen_;
    uint32_t round_ = 0;
    std::vector<int> ops_, removed_;
};

// How a walk backwards chooses among the operators that regress its set. Ties are broken at random.
enum class Novelty {
    None,           // at random
    Preconditions,  // most preconditions that are neither goals nor preconditions of operators chosen before
    Adds,           // most facts that no earlier set of the walk holds
    Deletes,        // most facts lost that all earlier sets hold
    Both            // the sum of the last two
};

// Sets of facts from which a known number of steps leads to the goal.
struct PreImages {
    Rows<int> facts;          // ascending
    std::vector<int> depth;   // steps to the goal
    std::vector<int> parent;  // the pre-image that `op` leads to; -1: the goal
    std::vector<int> op;
    std::vector<int> walk;  // its number
    int size() const { return facts.size(); }
};

struct BackwardWalkOptions {
    int count = 5, length = 500;
    Novelty novelty = Novelty::None;
    uint64_t seed = 0;
};

// Walks backwards from the goal. Each starts with the goal itself; an artificial operator that reaches one of
// several goals is no step. A walk ends early where nothing regresses its set.
PreImages walk_backwards(const SetTask& task, const Mutexes& mutexes, const BackwardWalkOptions& options,
                         const Limits& limits);

struct FocusedOptions {
    int count = 100000;          // of pre-images
    double breadth_first = 0.1;  // share of them
    int length = 0;              // of walks; 0: facts / mean effects of an operator
    int stride = 1;              // lists one set in so many along a walk; if over 1, without its parent
    uint64_t seed = 0;
};

// Bettker et al. 2024: breadth-first regression from the goal for a share of the pre-images, then random
// walks from its leaves that visit no set twice. Each set is listed once with the smallest depth found.
PreImages sample_focused(const SetTask& task, const Mutexes& mutexes, const FocusedOptions& options,
                         const Limits& limits);

// Lowers depths until these bounds lower less than one in a thousand more; of up to a thousand sets, none. It
// may be stopped at any moment (Stopped): all depths are upper bounds all the time. Afterwards `parent` and
// `op` say how a set was found, but a shorter way may be known.
void improve_depths(const SetTask& task, PreImages& images, const Limits& limits);

}  // namespace hstar
