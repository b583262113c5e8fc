// Regression: from a set of facts x to the weakest set from which an operator leads to a superset of x.
//
// Operator o regresses x if it adds a fact of x, deletes none, adds nothing that excludes a fact of x, and if
// x' = (x minus add(o)) plus pre(o) holds no exclusive pair. Then every state that contains x' reaches one
// that contains x by o.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/limits.hpp"
#include "runtime/random.hpp"
#include "runtime/rows.hpp"
#include "task/task.hpp"

namespace hstar {

// A task over sets of facts, for searching backwards from the goal.
//
// A set holds at most one fact per variable and may leave variables open. The value "none of those" is not a
// fact of any set: an operator that assigns it only deletes. The grounder writes "delete this fact" as a
// conditional effect where the precondition does not mention the fact; here it is a plain delete again.
// Operators with other conditional effects are left out.
struct SetTask {
    explicit SetTask(const Task& task);

    const Task& task;
    std::vector<char> is_fact;                   // per fact of the task: not "none of those"
    std::vector<std::pair<int, int>> negations;  // facts "not a" and "a", where both are facts
    std::vector<char> is_usable;                 // per operator
    Rows<int> deletes;  // per operator: facts deleted whatever the state, besides those that effects replace
    Rows<int> achievers;  // per fact: the usable operators that add it, ascending

    // Removes operators that no reachable state satisfies.
    void keep_only(const std::vector<char>& possible);

  private:
    void index_achievers();
};

// Pairs of facts that no reachable state holds together, as a matrix of bits.
//
// The variables and the mutex groups of the grounder give some, and an atom excludes its negation. h^2
// (Haslum and Geffner 2000) gives more: a pair is possible if it holds initially, or if an operator whose
// preconditions are pairwise possible adds both facts, or adds one and keeps the other.
class Mutexes {
  public:
    // From variables, mutex groups and negations. Throws Stopped.
    Mutexes(const SetTask& task, const Limits& limits);

    // Adds the pairs that h^2 excludes, and all pairs with a fact that it does not reach. Returns, per
    // operator, whether its preconditions are pairwise possible. When a limit is reached it throws Stopped
    // and changes nothing: h^2 proves nothing before it is complete.
    std::vector<char> add_h2(const SetTask& task, const Limits& limits);

    int words() const { return words_; }
    std::span<const uint64_t> row(int fact) const {
        return {bits_.data() + static_cast<size_t>(fact) * words_, static_cast<size_t>(words_)};
    }
    bool exclusive(int a, int b) const { return row(a)[b / 64] >> (b % 64) & 1; }

    // Above this number of facts the matrix would take more than half a gigabyte.
    static constexpr int kMostFacts = 1 << 16;

  private:
    void exclude(int a, int b) {
        bits_[static_cast<size_t>(a) * words_ + b / 64] |= uint64_t{1} << (b % 64);
        bits_[static_cast<size_t>(b) * words_ + a / 64] |= uint64_t{1} << (a % 64);
    }
    int num_facts_, words_;
    std::vector<uint64_t> bits_;
};

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
    Preconditions,  // most preconditions that are neither goals nor preconditions of operators chosen before:
                    // most facts that no earlier set of the walk holds
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

// From sets of facts to whole states, and from whole states to upper bounds on their distance to the goal.
//
// A completed state is a set of facts again. It need not be reachable, and may leave a variable open. A
// negated atom is in it if and only if the atom itself is not.
enum class Completion {
    Atoms,      // each open fact with chance 1/2, then of each mutex group one is kept (the published way)
    Exclusive,  // the same, but no two facts that exclude each other, by h^2 too, are kept
    Variables   // each open variable gets a random value that nothing excludes
};

// One state per entry of `chosen`: a completion of that pre-image, or of the empty set for -1.
Rows<int> complete(const SetTask& task, const Mutexes& mutexes, const PreImages& images,
                   const std::vector<int>& chosen, Completion way, uint64_t seed, const Limits& limits);

// Per state the smallest depth of a pre-image that it contains, or -1.
std::vector<int> smallest_depths(const SetTask& task, const PreImages& images, const Rows<int>& states,
                                 const Limits& limits);

}  // namespace hstar
