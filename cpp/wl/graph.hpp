// The graph of a state for the Weisfeiler-Leman algorithm (instance learning graph, Chen et al. 2024).
//
// Vertices are the objects, the true atoms and the goal atoms. An edge leads from an atom to each of its
// arguments and carries the argument's position. At the start all objects look alike, except that constants
// of the domain have colours of their own; the colour of an atom is its predicate and its role, one of: true
// and no goal, unachieved or achieved goal, unachieved or achieved negative goal. With orders of goals, an
// achieved goal that must be undone once more has a role of its own.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grounding/fact_table.hpp"
#include "runtime/hash.hpp"
#include "runtime/numbering.hpp"
#include "runtime/require.hpp"
#include "task/task.hpp"
#include "wl/goal_orders.hpp"

namespace hstar {

// A colour is a 64-bit hash.
//
// Every step mixes in one multiplication. Two colours that differ get equal hashes with a chance of about
// 2^-64, which is never seen in practice.
using WlColour = uint64_t;

// Of a kind of vertex at the start: an object, or an atom of some predicate in some role.
inline WlColour initial_colour(uint64_t kind) {
    const uint64_t mixed = fold_multiply(kind + 0x9E3779B97F4A7C15ull, 0xA0761D6478BD642Full);
    return fold_multiply(mixed ^ 0xE7037ED1A0B428DBull, 0x8EBC6AF09C88C6E3ull);
}

// What a neighbour adds to the sum of a vertex; the edge carries the position of an argument.
inline uint64_t neighbour_share(uint64_t position_key, WlColour colour) {
    return fold_multiply(colour ^ position_key, 0xD6E8FEB86659FD93ull);
}
// The keys of all positions up to the largest arity.
inline std::vector<uint64_t> keys_of_positions(const std::vector<int>& arities) {
    std::vector<uint64_t> keys;
    for (int arity : arities)
        while (static_cast<int>(keys.size()) < arity)
            keys.push_back(initial_colour(~static_cast<uint64_t>(keys.size())));
    return keys;
}

// The colour after a round, of the one before and the sum of what the neighbours add.
inline WlColour next_colour(WlColour colour, int round, uint64_t sum) {
    return fold_multiply(colour + static_cast<uint64_t>(round) * 0x9E3779B97F4A7C15ull,
                         sum ^ 0x589965CC75374CC3ull);
}

// Which feature counts a colour. Colours that are not in the table have none.
class ColourTable {
  public:
    // Feature i counts colours[i]. Throws std::invalid_argument if two are equal.
    explicit ColourTable(const std::vector<WlColour>& colours) {
        for (WlColour colour : colours)
            require(numbering_.find_or_add(colour).second, "two features count the same colour");
    }
    int num_features() const { return numbering_.size(); }
    // -1 for a colour without one.
    int feature(WlColour colour) const { return numbering_.find(colour); }

  private:
    Numbering numbering_;
};

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
        bool is_goal;        // if not, a false one is no vertex
    };
    int num_atoms() const { return static_cast<int>(atoms_.size()); }
    const Atom& atom(int number) const { return atoms_[number]; }
    std::span<const int> args(int atom) const { return names_.args(atom); }
    std::span<const uint64_t> position_keys() const { return position_keys_; }

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
    const Task& task_;
    WlOptions options_;
    std::vector<WlColour> object_colours_;
    FactTable names_;  // of the atoms
    std::vector<Atom> atoms_;
    std::vector<uint64_t> position_keys_;
    std::vector<int> said_;        // per fact: 2 * atom, plus one if it makes the atom false; or -1
    std::vector<int> true_first_;  // atoms that are true unless a fact says otherwise
    std::vector<int> goals_;       // atoms
    std::optional<GoalOrders> orders_;
    std::vector<int> goal_of_, atom_of_goal_;
};

}  // namespace hstar
