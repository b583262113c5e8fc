#include "wl/incremental.hpp"

#include <algorithm>
#include <utility>

namespace hstar {

IncrementalWl::IncrementalWl(WlGraph graph, ColourTable table)
    : graph_(std::move(graph)),
      table_(std::move(table)),
      rounds_(graph_.rounds()),
      stride_(rounds_ + 1),
      arity_(static_cast<int>(graph_.position_keys().size())),
      steps_(arity_) {}

void IncrementalWl::start(const int* values) {
    const size_t objects = static_cast<size_t>(graph_.num_objects());
    counts_.assign(table_.num_features(), 0);
    std::vector<int> alone;  // features of the objects without neighbours
    objects_.rounds.resize(objects * stride_);
    objects_.touched_at.assign(objects, 0);
    edges_.assign(objects, {});
    slot_of_.assign(graph_.num_atoms(), -1);
    for (size_t o = 0; o < objects; ++o) {
        WlColour colour = graph_.object_colour(static_cast<int>(o));
        for (int round = 0; round <= rounds_; ++round) {
            if (round > 0) colour = next_colour(colour, round, 0);
            const int feature = table_.feature(colour);
            objects_.rounds[o * stride_ + round] = {colour, 0, feature};
            if (feature >= 0) alone.push_back(feature);
        }
    }
    changes_ = graph_.vertices(values);
    if (graph_.orders()) {
        is_achieved_ = graph_.achieved_goals(values);
        graph_.orders()->find_premature(is_achieved_, is_premature_);
    }
    apply();
    difference_.gained.insert(difference_.gained.end(), alone.begin(), alone.end());
    commit();
    values_.assign(values, values + graph_.task().num_variables());
    has_state_ = true;
}

void IncrementalWl::change(int variable, int old_value, int new_value) {
    if (old_value == new_value) return;
    const int first = graph_.task().first_fact[variable];
    WlGraph::Change said;
    if (graph_.says(first + old_value, said))
        changes_.push_back({said.atom, said.look == WlGraph::kFalse ? WlGraph::kTrue : WlGraph::kFalse});
    if (graph_.says(first + new_value, said)) changes_.push_back(said);
    if (!graph_.orders()) return;
    for (int value : {old_value, new_value}) {
        const int goal = graph_.goal_of(first + value);
        if (goal < 0) continue;
        if (!has_goal_change_) will_be_achieved_ = is_achieved_;
        has_goal_change_ = true;
        will_be_achieved_[goal] = value == new_value;
    }
}

void IncrementalWl::settle_goals() {
    if (!has_goal_change_) return;
    graph_.orders()->find_premature(will_be_achieved_, will_be_premature_);
    for (size_t g = 0; g < will_be_achieved_.size(); ++g) {
        const int atom = graph_.atom_of_goal(static_cast<int>(g));
        if (!will_be_achieved_[g] || atom < 0) continue;
        const auto look = will_be_premature_[g] ? WlGraph::kPremature : WlGraph::kTrue;
        if (!is_achieved_[g]) {
            for (WlGraph::Change& change : changes_)
                if (change.atom == atom && change.look == WlGraph::kTrue) change.look = look;
        } else if (is_premature_[g] != will_be_premature_[g]) {
            changes_.push_back({atom, look});
        }
    }
}

void IncrementalWl::find_changes(const int* values) {
    for (size_t v = 0; v < values_.size(); ++v)
        if (values_[v] != values[v]) change(static_cast<int>(v), values_[v], values[v]);
}

const IncrementalWl::Difference& IncrementalWl::move_to(const int* values) {
    if (!has_state_) {
        start(values);
        return difference_;
    }
    changes_.clear();
    has_goal_change_ = false;
    find_changes(values);
    settle_goals();
    apply();
    commit();
    if (has_goal_change_) {
        std::swap(is_achieved_, will_be_achieved_);
        std::swap(is_premature_, will_be_premature_);
    }
    std::copy_n(values, values_.size(), values_.begin());
    return difference_;
}

const IncrementalWl::Difference& IncrementalWl::successor(int op, const int* values) {
    const Task& task = graph_.task();
    changes_.clear();
    has_goal_change_ = false;
    if (task.conditional[op].empty()) {
        for (auto [variable, value] : task.effects[op]) change(variable, values_[variable], value);
    } else {  // which effects fired shows in the values
        find_changes(values);
    }
    settle_goals();
    apply();
    undo();
    return difference_;
}

// Computes the colours after changes_; commit() or undo() must follow.
void IncrementalWl::apply() {
    difference_.lost.clear();
    difference_.gained.clear();
    change_clock_ = ++clock_;
    for (const WlGraph::Change& change : changes_) begin(change);
    for (int round = 0; round < rounds_; ++round) {
        ++clock_;
        add_shares(round);
        spread_to_atoms(round);
        recolour(objects_, round);
        recolour(atoms_, round);
    }
    objects_.recoloured.clear();
    atoms_.recoloured.clear();
}

// The first colour of an atom that changes.
void IncrementalWl::begin(const WlGraph::Change& change) {
    const WlGraph::Atom& atom = graph_.atom(change.atom);
    int slot = slot_of_[change.atom];
    if (slot < 0) {
        slot = take_slot(change.atom);
        arrived_.push_back(slot);
        Colouring& first = atoms_.rounds[static_cast<size_t>(slot) * stride_];
        first.feature = -1;
        set_colour(first, atom.colour[change.look]);
    } else if (change.look != WlGraph::kFalse || atom.is_goal) {
        const int index = slot * stride_;
        atoms_.log.push_back({index, atoms_.rounds[index]});
        const WlColour before = set_colour(atoms_.rounds[index], atom.colour[change.look]);
        atoms_.recoloured.push_back({slot, before});
    } else {
        left_.push_back(slot);
        left_at_[slot] = change_clock_;
        for (int round = 0; round <= rounds_; ++round) {
            const int feature = atoms_.rounds[static_cast<size_t>(slot) * stride_ + round].feature;
            if (feature >= 0) difference_.lost.push_back(feature);
        }
    }
}

// Sets a colour and its feature; returns the colour before.
WlColour IncrementalWl::set_colour(Colouring& colouring, WlColour colour) {
    if (colouring.feature >= 0) difference_.lost.push_back(colouring.feature);
    colouring.feature = table_.feature(colour);
    if (colouring.feature >= 0) difference_.gained.push_back(colouring.feature);
    return std::exchange(colouring.colour, colour);
}

void IncrementalWl::touch(Vertices& vertices, int vertex, int round) {
    if (vertices.touched_at[vertex] == clock_) return;
    vertices.touched_at[vertex] = clock_;
    vertices.touched.push_back(vertex);
    const int index = vertex * stride_ + round;
    vertices.log.push_back({index, vertices.rounds[index]});
}

// What an atom of a colour adds to the sums of its arguments, or takes from them.
void IncrementalWl::share(int round, int slot, WlColour colour, bool is_added) {
    const auto keys = graph_.position_keys();
    const auto arguments = args(slot);
    for (size_t position = 0; position < arguments.size(); ++position) {
        const int object = arguments[position];
        touch(objects_, object, round);
        const int index = object * stride_ + round;
        const uint64_t share = neighbour_share(keys[position], colour);
        if (graph_.is_set()) {
            const uint64_t pair = share ^ (static_cast<uint64_t>(index + 1) * 0x9E3779B97F4A7C15ull);
            if (!(is_added ? pairs_.add(pair) : pairs_.remove(pair))) continue;
        }
        objects_.rounds[index].sum += is_added ? share : -share;
    }
}

// Brings the sums of objects up to date with the colours of atoms after a round.
void IncrementalWl::add_shares(int round) {
    for (int slot : left_) share(round, slot, atoms_.rounds[slot * stride_ + round].colour, false);
    for (int slot : arrived_) share(round, slot, atoms_.rounds[slot * stride_ + round].colour, true);
    for (auto [slot, before] : atoms_.recoloured) {
        share(round, slot, before, false);
        share(round, slot, atoms_.rounds[slot * stride_ + round].colour, true);
    }
    for (auto [object, before] : objects_.recoloured) touch(objects_, object, round);
}

// Brings the sums of atoms up to date with the colours of objects after a round.
void IncrementalWl::spread_to_atoms(int round) {
    const auto keys = graph_.position_keys();
    for (auto [slot, before] : atoms_.recoloured) touch(atoms_, slot, round);
    for (auto [object, before] : objects_.recoloured) {
        const WlColour after = objects_.rounds[object * stride_ + round].colour;
        for (int position = 0; position < arity_; ++position)
            steps_[position] =
                neighbour_share(keys[position], after) - neighbour_share(keys[position], before);
        for (auto [slot, position] : edges_[object]) {
            if (left_at_[slot] == change_clock_) continue;
            touch(atoms_, slot, round);
            atoms_.rounds[slot * stride_ + round].sum += steps_[position];
        }
    }
    for (int slot : arrived_) {
        const auto arguments = args(slot);
        uint64_t sum = 0;
        for (size_t position = 0; position < arguments.size(); ++position)
            sum += neighbour_share(keys[position],
                                   objects_.rounds[arguments[position] * stride_ + round].colour);
        Colouring* of_slot = &atoms_.rounds[static_cast<size_t>(slot) * stride_];
        of_slot[round].sum = sum;
        of_slot[round + 1].feature = -1;
        set_colour(of_slot[round + 1], next_colour(of_slot[round].colour, round + 1, sum));
    }
}

// The colours of touched vertices after the next round.
void IncrementalWl::recolour(Vertices& vertices, int round) {
    vertices.next_recoloured.clear();
    for (int vertex : vertices.touched) {
        const int index = vertex * stride_ + round;
        const Colouring& now = vertices.rounds[index];
        Colouring& next = vertices.rounds[index + 1];
        const WlColour colour = next_colour(now.colour, round + 1, now.sum);
        if (colour == next.colour) continue;
        vertices.log.push_back({index + 1, next});
        vertices.next_recoloured.push_back({vertex, set_colour(next, colour)});
    }
    vertices.touched.clear();
    std::swap(vertices.recoloured, vertices.next_recoloured);
}

void IncrementalWl::undo() {
    for (Vertices* vertices : {&objects_, &atoms_}) {
        for (size_t i = vertices->log.size(); i-- > 0;)
            vertices->rounds[vertices->log[i].index] = vertices->log[i].colouring;
        vertices->log.clear();
    }
    pairs_.undo();
    for (size_t i = arrived_.size(); i-- > 0;) {
        slot_of_[atom_in_[arrived_[i]]] = -1;
        free_slots_.push_back(arrived_[i]);
    }
    arrived_.clear();
    left_.clear();
}

void IncrementalWl::commit() {
    for (int slot : left_) {
        const auto arguments = args(slot);
        for (int position = 0; position < static_cast<int>(arguments.size()); ++position) {
            auto& edges = edges_[arguments[position]];
            const int place = places_[slot * arity_ + position];
            edges[place] = edges.back();
            places_[edges[place].slot * arity_ + edges[place].position] = place;
            edges.pop_back();
        }
        slot_of_[atom_in_[slot]] = -1;
        free_slots_.push_back(slot);
    }
    for (int slot : arrived_) {
        const auto arguments = args(slot);
        for (int position = 0; position < static_cast<int>(arguments.size()); ++position) {
            auto& edges = edges_[arguments[position]];
            places_[slot * arity_ + position] = static_cast<int>(edges.size());
            edges.push_back({slot, position});
        }
    }
    for (int feature : difference_.lost) --counts_[feature];
    for (int feature : difference_.gained) ++counts_[feature];
    for (Vertices* vertices : {&objects_, &atoms_}) vertices->log.clear();
    pairs_.keep();
    left_.clear();
    arrived_.clear();
}

std::vector<WlColour> IncrementalWl::colours() const {
    std::vector<WlColour> all;
    for (const Colouring& colouring : objects_.rounds) all.push_back(colouring.colour);
    for (size_t slot = 0; slot < atom_in_.size(); ++slot)
        for (int round = 0; slot_of_[atom_in_[slot]] == static_cast<int>(slot) && round <= rounds_; ++round)
            all.push_back(atoms_.rounds[slot * stride_ + round].colour);
    return all;
}

int IncrementalWl::take_slot(int atom) {
    int slot = static_cast<int>(atom_in_.size());
    if (free_slots_.empty()) {
        atom_in_.push_back(-1);
        left_at_.push_back(0);
        atoms_.touched_at.push_back(0);
        atoms_.rounds.resize(atoms_.rounds.size() + stride_);
        places_.resize(places_.size() + arity_);
    } else {
        slot = free_slots_.back();
        free_slots_.pop_back();
    }
    atom_in_[slot] = atom;
    return slot_of_[atom] = slot;
}

}  // namespace hstar
