// The graph of a state for the Weisfeiler-Leman algorithm (instance learning graph, Chen et al. 2024).
//
// Vertices are the objects, the true atoms and the goal atoms. An edge leads from an atom to each of its
// arguments and carries the argument's position. At the start all objects look alike, except that constants
// of the domain have colours of their own; the colour of an atom is its predicate and its role, one of: true
// and no goal, unachieved or achieved goal, unachieved or achieved negative goal. With orders of goals, an
// achieved goal that must be undone once more has a role of its own.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "task/task.hpp"
#include "wl/colour.hpp"
#include "wl/goal_orders.hpp"

namespace hstar {

constexpr int kMaxWlRounds = 4;

// The numbers that are given to `count` things, or those of their order if none are. Throws
// std::invalid_argument if they are no permutation.
std::vector<int> given_numbers(std::vector<int> numbers, size_t count, const char* of_what);

struct WlOptions {
    int rounds = 2;
    bool is_set = true;           // equal pairs of position and colour count once among a vertex's neighbours
    bool statics = false;         // atoms that the grounded task does not track are vertices, too
    std::vector<int> predicates;  // per predicate of the domain its number; empty: in order
    std::vector<int> constants;   // objects that are constants of the domain, in an order that problems share
    bool orders = false;          // premature goals look different (wl/goal_orders.hpp)
};

// What the states of a task share.
class WlGraph {
  public:
    // Throws std::invalid_argument for options that make no sense.
    WlGraph(const Task& task, WlOptions options);

    const Task& task() const { return task_; }
    int rounds() const { return options_.rounds; }
    bool is_set() const { return options_.is_set; }
    int num_objects() const { return static_cast<int>(object_colours_.size()); }
    WlColour object_colour(int object) const { return object_colours_[object]; }  // at the start

    enum Look { kFalse, kTrue, kPremature };  // of an atom in a state
    struct Atom {
        WlColour colour[3];  // at the start, by its look
        int first_arg, arity;
        bool is_goal;  // if not, a false one is no vertex
    };
    int num_atoms() const { return static_cast<int>(atoms_.size()); }
    const Atom& atom(int number) const { return atoms_[number]; }
    std::span<const int> args(const Atom& atom) const {
        return {args_.data() + atom.first_arg, static_cast<size_t>(atom.arity)};
    }
    std::span<const uint64_t> position_keys() const { return position_keys_; }  // up to the largest arity

    struct Change {
        int atom;
        Look look;
    };
    // What a fact says of an atom when it holds; its opposite when it does not. False if it says nothing.
    bool says(int fact, Change& change) const {
        const int said = said_[fact];
        change = {said >> 1, said & 1 ? kFalse : kTrue};
        return said >= 0;
    }
    // All atoms that are vertices in a state.
    std::vector<Change> vertices(const int* values) const;
    // The most vertices that a state can have.
    int64_t most_vertices() const;

    // Null if no goal comes before another, or orders do not matter.
    const GoalOrders* orders() const { return orders_ ? &*orders_ : nullptr; }
    // With orders: the number of a goal among the task's, -1 for other facts; and its atom, or -1.
    int goal_of(int fact) const { return goal_of_[fact]; }
    int atom_of_goal(int goal) const { return atom_of_goal_[goal]; }
    std::vector<char> achieved_goals(const int* values) const;

  private:
    void add_atom(int predicate, std::span<const int> args);

    const Task& task_;
    WlOptions options_;
    std::vector<WlColour> object_colours_;
    std::vector<Atom> atoms_;
    std::vector<int> args_;
    std::vector<uint64_t> position_keys_;
    std::vector<int> said_;        // per fact: 2 * atom, plus one if it makes the atom false; or -1
    std::vector<int> true_first_;  // atoms that are true unless a fact says otherwise
    std::vector<int> goals_;       // atoms
    std::optional<GoalOrders> orders_;
    std::vector<int> goal_of_, atom_of_goal_;
};

}  // namespace hstar
