"""`hstar info`: what a problem contains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hstar import _core
from hstar.commands.arguments import Options, Parser, input_files
from hstar.pddl import Problem, parse
from hstar.pddl.model import TRUTH, Equal, Exists, Forall, Not, Or, subformulas
from hstar.planning.task import Task, ground

HELP = "describe what a problem contains"


def add_arguments(parser: Parser) -> None:
    parser.add_files()
    parser.add_json()
    parser.add("--mutex-groups", "list the mutex groups")
    parser.add_limits()


def run(options: Options) -> int:
    domain_path, problem_path = input_files(options.files)
    budget = options.start_budget()
    with budget.enforced():
        start = _core.monotonic_seconds()
        problem = parse(domain_path, problem_path)
        parsed = _core.monotonic_seconds()
        task = ground(problem, keep_irrelevant=options.keep_irrelevant, budget=budget)
        times = {"parse_time": parsed - start, "ground_time": _core.monotonic_seconds() - parsed}
        held, features = sizes(task), sorted(set(features_of(problem)))
        domain_sizes = dict(sorted(Counter(task.domain_sizes).items()))
        groups = task.mutex_groups if options.mutex_groups else None
    shown = {**held, "features": ", ".join(features) or "STRIPS"}
    counts = (f"{count} with {size}" for size, count in domain_sizes.items())
    shown["variables by domain size"] = ", ".join(counts)
    shown |= {name: f"{seconds:.3f} s" for name, seconds in times.items()}
    width = max(map(len, shown)) + 2
    lines = [f"{name.replace('_', ' '):<{width}}{value}" for name, value in shown.items()]
    held |= {"features": features, **times, "variables_by_domain_size": domain_sizes}
    if groups is not None:
        held["mutex_group_list"] = groups
        lines += ["mutex: " + "; ".join(group) for group in groups]
    options.tell(held, lines)
    return 0


def sizes(task: Task) -> dict[str, object]:
    problem = task.problem
    return {
        "domain": problem.domain.name,
        "problem": problem.name,
        "objects": len(problem.objects),
        "predicates": len(problem.domain.predicates),
        "actions": len(problem.domain.actions),
        "initial_atoms": len(problem.init),
        "variables": task.num_variables,
        "facts": task.num_facts,
        "operators": task.num_operators,
        "goal_facts": len(task.goal),
        "mutex_groups": len(task.core.mutex_groups),
        "bytes_per_state": task.state_bytes,
    }


def features_of(problem: Problem) -> Iterator[str]:
    domain = problem.domain
    effects = [effect for action in domain.actions for effect in action.effects]
    found = {
        "typing": len(domain.types) > 1,
        "constants": domain.constants,
        "action costs": problem.uses_metric,
        "universal effects": any(effect.variables for effect in effects),
        "conditional effects": any(effect.condition != TRUTH for effect in effects),
    }
    yield from (name for name, is_there in found.items() if is_there)
    conditions = [problem.goal, *(action.precondition for action in domain.actions)]
    for condition in (*conditions, *(effect.condition for effect in effects)):
        for part in subformulas(condition):
            match part:
                case Equal():
                    yield "equality"
                case Not(inner) if not isinstance(inner, Equal):
                    yield "negative conditions"
                case Or():
                    yield "disjunction"
                case Forall():
                    yield "universal conditions"
                case Exists():
                    yield "existential conditions"
