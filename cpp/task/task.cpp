#include "task/task.hpp"

namespace hstar {

std::string Task::operator_name(int op) const {
    if (is_artificial(op)) return "(reach-goal)";
    std::string name = "(" + lifted->actions[action(op)];
    for (int object : arguments(op)) name += " " + lifted->objects[object];
    return name + ")";
}

std::string Task::atom_name(int fact) const {
    const AtomName& atom = atoms[fact];
    if (atom.predicate < 0) return "<none of those>";
    std::string name = atom.negated ? "not " : "";
    name += atom.predicate == artificial_goal_predicate(*lifted) ? "goal-reached"
                                                                 : lifted->predicates[atom.predicate];
    name += "(";
    for (size_t p = 0; p < atom.args.size(); ++p) name += (p ? ", " : "") + lifted->objects[atom.args[p]];
    return name + ")";
}

}  // namespace hstar
