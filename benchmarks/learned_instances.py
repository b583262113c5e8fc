"""Learning for one goal, on the first and the last task of each domain of a suite.

    python benchmarks/learned_instances.py SUITES/ferber/hard --learn 60 --limit 20 --states 2 3

p1 stands for the instance: it is all that learning sees (hstar.learning.instance). The other
initial states of the task are the test. Each is searched by the default planner and by greedy
search with the learned heuristic, one core and the same limit for both. Learning is not part of
that limit. No state that learning used for a trial is a test state; the script checks that.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hstar import _core
from hstar.learned.heuristic import LearnedHeuristic
from hstar.learning.instance import InstanceLearner, LearnOptions
from hstar.pddl import parse
from hstar.runtime.resources import Budget
from hstar.search import STRONGEST, SearchOptions, SearchResult, run
from hstar.spaces.task import Task, load_task


def ends(suite: Path) -> Iterator[Path]:
    """The first and the last task of each domain by name."""
    for domain in sorted(path for path in suite.iterdir() if path.is_dir()):
        tasks = sorted(path for path in domain.iterdir() if path.is_dir())
        yield from dict.fromkeys([tasks[0], tasks[-1]])


def searched(task: Task, options: SearchOptions, seconds: float) -> dict[str, Any]:
    found: SearchResult = run(task, options, Budget.starting_now(seconds, None))
    return {
        "solved": found.solved,
        "seconds": round(found.search_time, 3),
        "evaluated": found.evaluated,
        "expanded": found.expanded,
        "length": found.plan_length,
    }


def measured(folder: Path, learn: float, limit: float, states: list[int]) -> dict[str, Any]:
    domain = folder / "domain.pddl"
    start = _core.monotonic_seconds()
    learner = InstanceLearner(
        parse(domain, folder / "p1.pddl"), LearnOptions(seconds=learn), Budget(), lambda _: None
    )
    learned = learner.run()
    row: dict[str, Any] = {
        "domain": folder.parent.name,
        "task": folder.name,
        "learning": round(_core.monotonic_seconds() - start, 1),
        "verdict": learned.sentence(),
        "pays": learned.pays,
        "test": [],
    }
    used = {frozenset(learner.task.atoms(state)) for state in learner.states}
    for number in states:
        task = load_task(domain, folder / f"p{number}.pddl")
        assert frozenset(task.atoms(task.initial_state)) not in used, "a trial used a test state"
        result = {"state": number, "default": searched(task, STRONGEST, limit)}
        if learned.file is not None:
            heuristic = LearnedHeuristic(learned.file, "learned")
            result["learned"] = searched(task, SearchOptions(heuristic=heuristic), limit)
        row["test"].append(result)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| domain | states | default | learned | either |", "|---|---|---|---|---|"]
    shares: dict[str, list[float]] = {"default": [], "learned": [], "either": []}
    for domain in sorted({row["domain"] for row in rows}):
        tests = [test for row in rows if row["domain"] == domain for test in row["test"]]
        solved = {
            name: [bool(test.get(name, {}).get("solved")) for test in tests]
            for name in ("default", "learned")
        }
        solved["either"] = [a or b for a, b in zip(*solved.values(), strict=True)]
        counts = {name: sum(found) for name, found in solved.items()}
        for name, count in counts.items():
            shares[name].append(100 * count / max(1, len(tests)))
        cells = " | ".join(str(count) for count in counts.values())
        lines.append(f"| {domain} | {len(tests)} | {cells} |")
    means = " | ".join(f"{sum(found) / len(found):.1f} %" for found in shares.values())
    lines.append(f"| mean of the domains | | {means} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--learn", type=float, default=60.0)
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--states", type=int, nargs="+", default=[2, 3])
    parser.add_argument(
        "--part", default="1/1", help="such as 1/2: every second task from the first"
    )
    parser.add_argument("--rows", type=Path, nargs="*", help="print the table of such files only")
    given = parser.parse_args()
    if given.rows:
        print(table([json.loads(line) for path in given.rows for line in path.open()]))
        return
    first, _, step = given.part.partition("/")
    rows = []
    for folder in list(ends(given.suite))[int(first) - 1 :: int(step)]:
        rows.append(measured(folder, given.learn, given.limit, given.states))
        print(json.dumps(rows[-1]), flush=True)
    print(table(rows), file=sys.stderr)


if __name__ == "__main__":
    main()
