#include "wl/graph.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/sort_unique.hpp"

namespace hstar {

namespace {

enum Role { kNoGoal, kUnachievedGoal, kAchievedGoal, kUnachievedNegative, kAchievedNegative, kNumRoles };
constexpr uint64_t kObjectKind = uint64_t{1} << 62;     // plus the number of the constant
constexpr uint64_t kPrematureKind = uint64_t{1} << 61;  // plus the number of the predicate

}  // namespace

std::vector<int> given_numbers(std::vector<int> numbers, size_t count, const char* of_what) {
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    if (numbers.empty()) return order;
    require(std::ranges::is_permutation(numbers, order), of_what,
            " must be a permutation of the numbers of the domain's ", of_what);
    return numbers;
}

WlGraph::WlGraph(const Task& task, WlOptions options)
    : task_(task), options_(std::move(options)), names_(arities_of_atoms(*task.lifted)) {
    const LiftedTask& lifted = *task.lifted;
    require(options_.rounds >= 0 && options_.rounds <= kMaxWlRounds, "rounds must be 0 to ", kMaxWlRounds);
    options_.predicates =
        given_numbers(std::move(options_.predicates), lifted.predicates.size(), "predicates");
    position_keys_ = keys_of_positions(lifted.predicate_arity);
    object_colours_.assign(lifted.objects.size(), initial_colour(kObjectKind));
    for (size_t c = 0; c < options_.constants.size(); ++c) {
        const int object = options_.constants[c];
        require(object >= 0 && object < num_objects(), "a constant is no object of the task");
        object_colours_[object] = initial_colour(kObjectKind + 1 + c);
    }
    const auto kind_of = [&](int predicate) {  // the artificial goal comes after all others
        const bool is_artificial = predicate == artificial_goal_predicate(lifted);
        return static_cast<uint64_t>(is_artificial ? predicate : options_.predicates[predicate]);
    };
    const auto find_or_add = [&](int predicate, const int* args) {
        const auto found = names_.intern(predicate, args);
        if (found.second)
            atoms_.push_back({{0, initial_colour(kind_of(predicate) * kNumRoles + kNoGoal), 0}, false});
        return found;
    };

    said_.assign(task.num_facts(), -1);
    for (bool is_negated : {false, true})
        for (int fact = 0; fact < task.num_facts(); ++fact) {
            const Task::AtomName& name = task.atoms[fact];
            if (name.predicate < 0 || name.negated != is_negated) continue;
            const auto [atom, is_new] = find_or_add(name.predicate, name.args.data());
            if (!is_new) continue;  // the opposite of a fact
            said_[fact] = 2 * atom + is_negated;
            if (is_negated) true_first_.push_back(atom);
        }
    if (options_.statics)
        for (size_t i = 0; i < lifted.init.size();) {
            const int predicate = lifted.init[i];
            const auto [atom, is_new] = find_or_add(predicate, lifted.init.data() + i + 1);
            if (is_new) true_first_.push_back(atom);
            i += 1 + static_cast<size_t>(lifted.predicate_arity[predicate]);
        }

    const auto want = [&](int predicate, const std::vector<int>& args, bool is_negative) {
        const int number = find_or_add(predicate, args.data()).first;
        Atom& atom = atoms_[number];
        if (atom.is_goal) return;
        const uint64_t kind = kind_of(predicate) * kNumRoles;
        atom.is_goal = true;
        atom.colour[0] = initial_colour(kind + (is_negative ? kAchievedNegative : kUnachievedGoal));
        atom.colour[1] = initial_colour(kind + (is_negative ? kUnachievedNegative : kAchievedGoal));
        if (!is_negative) atom.colour[kPremature] = initial_colour(kPrematureKind + kind_of(predicate));
        goals_.push_back(number);
    };
    if (!task.goal_is_false)
        for (Assignment goal : task.goal) {
            const Task::AtomName& name = task.atoms[task.fact(goal)];
            if (name.predicate >= 0) want(name.predicate, name.args, name.negated);
        }
    // Goals that hold in all states are not among the task's.
    if (options_.statics && lifted.goals.size() == 1)
        for (const Literal& literal : lifted.goals[0].condition.literals) {
            if (literal.predicate == kEquality || std::ranges::any_of(literal.args, is_variable)) continue;
            std::vector<int> args = literal.args;
            for (int& arg : args) arg = ~arg;
            want(literal.predicate, args, literal.negated);
        }
    if (!options_.orders) return;
    orders_.emplace(task);
    if (orders_->empty()) {
        orders_.reset();
        return;
    }
    goal_of_.assign(task.num_facts(), -1);
    for (Assignment goal : task.goal) {
        const int fact = task.fact(goal);
        const Task::AtomName& name = task.atoms[fact];
        goal_of_[fact] = static_cast<int>(atom_of_goal_.size());
        const bool is_atom = name.predicate >= 0 && !name.negated;
        atom_of_goal_.push_back(is_atom ? find_or_add(name.predicate, name.args.data()).first : -1);
    }
}

std::vector<char> WlGraph::achieved_goals(const int* values) const {
    std::vector<char> is_achieved;
    for (auto [variable, value] : task_.goal) is_achieved.push_back(values[variable] == value);
    return is_achieved;
}

std::vector<WlGraph::Change> WlGraph::vertices(const int* values) const {
    std::vector<int> is_true = true_first_, is_false;
    for (int v = 0; v < task_.num_variables(); ++v) {
        Change change;
        if (says(task_.first_fact[v] + values[v], change))
            (change.look == kTrue ? is_true : is_false).push_back(change.atom);
    }
    sort_unique(is_true);
    std::erase_if(is_true, [&](int atom) { return std::ranges::find(is_false, atom) != is_false.end(); });
    std::vector<Change> found;
    std::vector<int> premature;  // atoms
    if (orders_) {
        std::vector<char> is_premature;
        orders_->find_premature(achieved_goals(values), is_premature);
        for (size_t goal = 0; goal < is_premature.size(); ++goal)
            if (is_premature[goal]) premature.push_back(atom_of_goal_[goal]);
        sort_unique(premature);
    }
    for (int atom : is_true)
        found.push_back({atom, std::ranges::binary_search(premature, atom) ? kPremature : kTrue});
    for (int atom : goals_)
        if (!std::ranges::binary_search(is_true, atom)) found.push_back({atom, kFalse});
    return found;
}

int64_t WlGraph::most_vertices() const {
    return static_cast<int64_t>(num_objects()) + task_.num_variables() + static_cast<int64_t>(goals_.size()) +
           static_cast<int64_t>(true_first_.size());
}

}  // namespace hstar
