"""hstar against Fast Downward on real benchmarks: the same numbers, or exit code 1.

    python benchmarks/differential.py SUITE_DIR

1. hmax and hadd on the states of random walks: Fast Downward gets every state as the initial state
   of its translated task. Only tasks without negation in conditions take part, because the values
   of the others depend on how a planner encodes false atoms.
2. Costs of A* with blind, hmax and lmcut: equal to each other and to Fast Downward's lmcut (blind
   where Fast Downward's lmcut refuses conditional effects).

SUITE_DIR is a folder of unpacked PDDL suites; tasks are taken domain by domain, smallest first.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import planner
from tasks import PddlTask, find_tasks, one_per_domain_first

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
import downward

HEURISTICS = {"hmax": "hmax()", "hadd": "add()"}  # hstar's name -> Fast Downward's
TRANSLATE_SECONDS = 20
SMALL_SECONDS = 5  # a task counts as small if Fast Downward's blind search takes no longer
HSTAR_SECONDS = 120
MAX_OPERATORS = 5000  # larger tasks would spend the time on reading files


@dataclass
class Tally:
    """Lines of a markdown table, and what went wrong."""

    head: list[str]
    lines: list[list[Any]] = field(default_factory=list)
    mismatches: list[str] = field(default_factory=list)
    compared: int = 0

    def add(self, *cells: Any) -> None:
        self.lines.append(list(cells))
        print(f"  {' '.join(map(str, cells))}", file=sys.stderr, flush=True)

    def text(self) -> str:
        rows = [self.head, ["---"] * len(self.head), *self.lines]
        return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def translated(tasks: list[PddlTask], folder: Path) -> Iterator[tuple[PddlTask, Path]]:
    """The tasks Fast Downward translates quickly, without axioms and to a moderate size."""
    for task in tasks:
        try:
            done = downward.translate(task.domain, task.problem, folder, timeout=TRANSLATE_SECONDS)
        except (subprocess.TimeoutExpired, downward.FastDownwardError):
            continue
        if 0 < done.operators <= MAX_OPERATORS and not downward.has_axioms(done.sas.read_text()):
            yield task, done.sas


def is_positive(domain: Path, problem_file: Path) -> bool:
    """Whether no condition or goal contains a negated atom (equalities may be negated)."""
    from hstar.pddl import PddlError, model, parse

    def negates(formula: model.Formula, negated: bool = False) -> bool:
        match formula:
            case model.Atom():
                return negated
            case model.Not(inner):
                return negates(inner, not negated)
            case model.And(parts) | model.Or(parts):
                return any(negates(part, negated) for part in parts)
            case model.Forall(_, body) | model.Exists(_, body):
                return negates(body, negated)
        return False

    try:
        problem = parse(domain, problem_file)
    except PddlError:
        return False
    actions = problem.domain.actions
    conditions = [action.precondition for action in actions]
    conditions += [effect.condition for action in actions for effect in action.effects]
    return not any(negates(formula) for formula in [problem.goal, *conditions])


def walk_states(task: Any, count: int, rng: random.Random) -> list[Any]:
    """States met on random walks from the initial state, the initial state first."""
    states = [task.initial_state]
    state = task.initial_state
    while len(states) < count:
        _, successors = task.successors(state)
        if len(successors) == 0 or rng.random() < 0.02:
            state = task.initial_state  # a dead end, or time to look elsewhere
            if len(task.successors(state)[1]) == 0:
                break
            continue
        state = successors[rng.randrange(len(successors))]
        if rng.random() < 0.3:
            states.append(state)
    return states


def compare_values(tasks: list[PddlTask], wanted: int, count: int, folder: Path) -> Tally:
    import numpy as np

    from hstar.planning.heuristics import make_heuristic
    from hstar.planning.task import load_task

    tally = Tally(["task", "states", "values equal", "values different"])
    for task, sas in translated(tasks, folder):
        if len(tally.lines) == wanted:
            break
        if not is_positive(task.domain, task.problem):
            continue
        text = sas.read_text()
        grounded = load_task(task.domain, task.problem, keep_irrelevant=True)
        states = walk_states(grounded, count, random.Random(task.name))
        ours = {
            name: make_heuristic(grounded, name).evaluate(np.stack(states)) for name in HEURISTICS
        }
        different = 0
        for i, state in enumerate(states):
            atoms = grounded.atoms(state)
            sas.write_text(downward.with_initial_state(text, atoms))
            for name, theirs in HEURISTICS.items():
                value = downward.heuristic_value(sas, theirs)
                if value != ours[name][i]:
                    different += 1
                    tally.mismatches.append(
                        f"{task.name}: {name} is {ours[name][i]:g}, Fast Downward's {value:g}, in "
                        + " ".join(atoms)
                    )
        total = len(states) * len(HEURISTICS)
        tally.compared += total
        tally.add(task.name, len(states), total - different, different)
    return tally


def compare_costs(tasks: list[PddlTask], wanted: int, folder: Path) -> Tally:
    tally = Tally(["task", "Fast Downward", "blind", "hmax", "lmcut", "verdict"])
    for task, sas in translated(tasks, folder):
        if len(tally.lines) == wanted:
            break
        small = downward.run(sas, f"astar(blind(), max_time={SMALL_SECONDS})")
        if not small.solved and not small.unsolvable:
            continue
        reference = downward.run(sas, f"astar(lmcut(), max_time={HSTAR_SECONDS})")
        if not reference.solved and not reference.unsolvable:
            reference = small
        expected = reference.plan_cost if reference.solved else "unsolvable"
        costs = [hstar_cost(task, heuristic) for heuristic in ("blind", "hmax", "lmcut")]
        verdict = "equal" if all(cost == expected for cost in costs) else "DIFFERENT"
        tally.compared += 1
        tally.add(task.name, expected, *costs, verdict)
        if verdict != "equal":
            tally.mismatches.append(f"{task.name}: Fast Downward {expected}, hstar {costs}")
    return tally


def hstar_cost(task: PddlTask, heuristic: str) -> int | float | str:
    flags = ("-H", heuristic, "-s", "astar")
    run = planner.plan(task.domain, task.problem, *flags, time_limit=HSTAR_SECONDS)
    if run.exit_code == 0:
        return run["plan_cost"]
    return "unsolvable" if run.exit_code == 11 else f"exit {run.exit_code}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suite", type=Path, help="folder of unpacked PDDL suites")
    parser.add_argument("--value-tasks", type=int, default=20, help="default 20")
    parser.add_argument("--states", type=int, default=50, help="per task, default 50")
    parser.add_argument("--cost-tasks", type=int, default=60, help="default 60")
    args = parser.parse_args()
    missing = downward.why_unavailable()
    if missing is not None:
        sys.exit(missing)
    tasks = one_per_domain_first(find_tasks(args.suite))
    if not tasks:
        parser.error(f"no PDDL problems with a domain below {args.suite}")
    with tempfile.TemporaryDirectory() as folder:
        values = compare_values(tasks, args.value_tasks, args.states, Path(folder))
        costs = compare_costs(tasks, args.cost_tasks, Path(folder))
    print(f"## hmax and hadd on states of random walks\n\n{values.text()}\n")
    print(f"## Costs of optimal plans\n\n{costs.text()}\n")
    mismatches = values.mismatches + costs.mismatches
    print(
        f"{values.compared} heuristic values on {len(values.lines)} tasks and "
        f"{costs.compared} optimal costs compared, {len(mismatches)} mismatches."
    )
    for mismatch in mismatches:
        print(f"- {mismatch}")
    return int(bool(mismatches) or not values.compared or not costs.compared)


if __name__ == "__main__":
    sys.exit(main())
