#include "task/task.hpp"

namespace hstar {

std::string Task::operator_name(int op) const {
    if (is_artificial(op)) return "(reach-goal)";
    const ActionSchema& schema = lifted->schemas[op_schema[op]];
    std::string name = "(" + lifted->actions[schema.action];
    const int* tuple = parameter_tuples[op_schema[op]].data() +
                       static_cast<size_t>(op_tuple[op]) * schema.parameter_types.size();
    for (int p = 0; p < lifted->action_arity[schema.action]; ++p) name += " " + lifted->objects[tuple[p]];
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
