// Weisfeiler-Leman features that follow the search from state to state.
//
// The colours of the current state are kept, with the sum of what each vertex's neighbours add. A change of
// some atoms changes sums of their arguments, those change colours, and so on round by round, but nothing
// else. A successor is computed like a move to it, and then taken back by a log. All sums are exact, so
// features do not depend on the way to a state.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "wl/graph.hpp"

namespace hstar {

// How often each key occurs, with steps that can be taken back. For set hashing: a key is an object together
// with what a neighbour adds to its sum, which counts once however many neighbours add the same.
class PairCounts {
  public:
    // Whether the key did not occur before.
    bool add(uint64_t key) { return step(key, 1) == 1; }
    // Whether the key does not occur any more.
    bool remove(uint64_t key) { return step(key, -1) == 0; }
    // Takes back all steps since the last call of this or of keep().
    void undo() {
        for (auto [number, change] : steps_) counts_[number] -= change;
        keep();
    }
    void keep() {
        steps_.clear();
        if (counts_.size() > most_) forget_absent();
    }

  private:
    int step(uint64_t key, int change) {
        const auto [number, is_new] = numbering_.find_or_add(key);
        if (is_new) counts_.push_back(0);
        steps_.emplace_back(number, change);
        return counts_[number] += change;
    }
    void forget_absent() {
        Numbering numbering;
        std::vector<int> counts;
        for (int number = 0; number < numbering_.size(); ++number) {
            if (counts_[number] == 0) continue;
            numbering.find_or_add(numbering_.hash(number));
            counts.push_back(counts_[number]);
        }
        numbering_ = std::move(numbering);
        counts_ = std::move(counts);
        most_ = std::max<size_t>(64, 4 * counts_.size());
    }

    Numbering numbering_;  // of keys; some occur no more
    std::vector<int> counts_;
    std::vector<std::pair<int, int>> steps_;  // numbers of keys, and by how much their counts changed
    size_t most_ = 64;                        // keys before absent ones are forgotten
};

class IncrementalWl {
  public:
    IncrementalWl(WlGraph graph, ColourTable table);

    const WlGraph& graph() const { return graph_; }
    int num_features() const { return table_.num_features(); }
    // Features, one per vertex and round, that a state lacks or has in addition to another.
    struct Difference {
        std::vector<int> lost, gained;
    };
    // Moves to a state, in as few steps as it takes from the state before. The difference is to that state;
    // for the first one it is everything.
    const Difference& move_to(const int* values);
    // The colour of an object of the state after a round.
    WlColour object_colour(int object, int round) const {
        return objects_.rounds[static_cast<size_t>(object) * stride_ + round].colour;
    }
    // The colours of all vertices of the state after each round, in no special order.
    std::vector<WlColour> colours() const;
    // How many vertices of the state have each feature, over all rounds.
    const std::vector<int>& counts() const { return counts_; }
    // The difference of a successor by an operator, whose values are given, to the state.
    const Difference& successor(int op, const int* values);

  private:
    struct Colouring {  // of a vertex after some round
        WlColour colour;
        uint64_t sum;  // of what neighbours add in the next round
        int feature;
    };
    struct Edge {
        int slot, position;
    };
    struct Recoloured {
        int vertex;  // an object, or the slot of an atom
        WlColour before;
    };
    struct Logged {
        int index;
        Colouring colouring;
    };
    // Vertices of one kind.
    struct Vertices {
        std::vector<Colouring> rounds;  // vertex * (rounds + 1) + round
        std::vector<uint64_t> touched_at;
        std::vector<int> touched;
        std::vector<Recoloured> recoloured, next_recoloured;
        std::vector<Logged> log;
    };

    void start(const int* values);
    // Fills changes_ with what differs between the current state and another one.
    void find_changes(const int* values);
    void change(int variable, int old_value, int new_value);
    // Adds to changes_ which goals are premature now or no longer.
    void settle_goals();
    void apply();
    void undo();
    void commit();

    void begin(const WlGraph::Change& change);
    void add_shares(int round);
    void share(int round, int slot, WlColour colour, bool is_added);
    void spread_to_atoms(int round);
    void touch(Vertices& vertices, int vertex, int round);
    void recolour(Vertices& vertices, int round);
    WlColour set_colour(Colouring& colouring, WlColour colour);

    int take_slot(int atom);
    std::span<const int> args(int slot) const { return graph_.args(atom_in_[slot]); }

    WlGraph graph_;
    ColourTable table_;
    int rounds_, stride_;
    bool has_state_ = false;
    std::vector<int> values_;  // of the state
    std::vector<int> counts_;

    Vertices objects_, atoms_;
    std::vector<std::vector<Edge>> edges_;  // per object
    std::vector<int> slot_of_;              // per atom: -1 if it is no vertex
    std::vector<int> atom_in_;              // per slot
    std::vector<int> free_slots_;
    std::vector<int> places_;      // per slot and position: where the edge is among those of the argument
    int arity_;                    // the largest
    std::vector<uint64_t> steps_;  // per position: by how much a recoloured object changes sums

    // With orders: which goals of the state are achieved and premature, and the same after changes_.
    std::vector<char> is_achieved_, is_premature_, will_be_achieved_, will_be_premature_;
    bool has_goal_change_ = false;

    PairCounts pairs_;  // if neighbours are sets
    std::vector<WlGraph::Change> changes_;
    std::vector<int> left_, arrived_;  // slots of atoms that stop or start to be vertices
    std::vector<uint64_t> left_at_;    // per slot
    uint64_t clock_ = 0, change_clock_ = 0;
    Difference difference_;
};

}  // namespace hstar
