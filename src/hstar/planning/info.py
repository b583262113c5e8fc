"""What a problem contains: sizes, mutex groups, PDDL features."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hstar.pddl.model import Equal, Exists, Forall, Not, Or, Problem, Truth, subformulas
from hstar.planning.task import Task


@dataclass(slots=True)
class TaskDescription:
    sizes: dict[str, object]
    features: list[str]
    domain_sizes: dict[int, int]  # number of values -> number of variables
    mutex_groups: list[list[str]] | None
    times: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> str:
        fields = {**self.sizes, "features": self.features, **self.times}
        fields["variables_by_domain_size"] = self.domain_sizes
        if self.mutex_groups is not None:
            fields["mutex_group_list"] = self.mutex_groups
        return json.dumps(fields)

    def to_text(self) -> str:
        shown = {**self.sizes, "features": ", ".join(self.features) or "STRIPS"}
        shown["variables by domain size"] = ", ".join(
            f"{count} with {size}" for size, count in self.domain_sizes.items()
        )
        shown |= {name: f"{seconds:.3f} s" for name, seconds in self.times.items()}
        width = max(map(len, shown)) + 2
        lines = [f"{name.replace('_', ' '):<{width}}{value}" for name, value in shown.items()]
        for group in self.mutex_groups or ():
            lines.append("mutex: " + "; ".join(group))
        return "\n".join(lines)


def describe_task(task: Task, *, with_mutex_groups: bool = False) -> TaskDescription:
    problem = task.problem
    return TaskDescription(
        sizes={
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
        },
        features=sorted(set(_features(problem))),
        domain_sizes=dict(sorted(Counter(task.domain_sizes).items())),
        mutex_groups=task.mutex_groups if with_mutex_groups else None,
    )


def _features(problem: Problem) -> Iterator[str]:
    domain = problem.domain
    if len(domain.types) > 1:
        yield "typing"
    if domain.constants:
        yield "constants"
    if problem.uses_metric:
        yield "action costs"
    conditions = [problem.goal]
    for action in domain.actions:
        conditions.append(action.precondition)
        for effect in action.effects:
            conditions.append(effect.condition)
            if effect.variables:
                yield "universal effects"
            if effect.condition != Truth():
                yield "conditional effects"
    for condition in conditions:
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
