"""How strong hstar's LM-cut is: values of initial states, summed by domain, beside Fast Downward's.

    python benchmarks/lmcut_strength.py SUITE_DIR [--tasks 20]

Takes every third problem of a domain by file size while there are enough, else all. Tasks that
Fast Downward does not translate in time, or that need axioms or conditional effects, are left out.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tasks import PddlTask, find_tasks

from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import load_task

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
import downward

SECONDS = 12  # for Fast Downward's translator, and again for its search
MAX_OPERATORS = 6000


def values(task: PddlTask, folder: Path) -> tuple[float, float] | None:
    """hstar's and Fast Downward's LM-cut of the initial state; None if they cannot be compared."""
    try:
        done = downward.translate(task.domain, task.problem, folder, timeout=SECONDS)
        if done.operators > MAX_OPERATORS or downward.has_axioms(done.sas.read_text()):
            return None
        search = "eager_greedy([lmcut()], bound=0)"
        theirs = downward.run(done.sas, search, timeout=SECONDS).initial_h
    except (subprocess.TimeoutExpired, downward.FastDownwardError):
        return None
    if theirs is None or math.isinf(theirs):
        return None
    grounded = load_task(task.domain, task.problem)
    heuristic = make_heuristic(grounded, "lmcut")
    return float(heuristic.evaluate(np.stack([grounded.initial_state]))[0]), theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suite", type=Path, help="folder of unpacked PDDL domains")
    parser.add_argument("--tasks", type=int, default=20, help="per domain, default 20")
    args = parser.parse_args()
    missing = downward.why_unavailable()
    if missing is not None:
        sys.exit(missing)
    domains: dict[str, list[PddlTask]] = {}
    for task in find_tasks(args.suite):
        domains.setdefault(task.name.split("/")[0], []).append(task)
    if not domains:
        parser.error(f"no PDDL problems with a domain below {args.suite}")
    print("| domain | tasks | hstar | Fast Downward | higher | lower |\n" + "| --- " * 6 + "|")
    pairs: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, tasks in domains.items():
            tasks.sort(key=lambda task: (task.problem.stat().st_size, task.name))
            chosen = tasks[: 3 * args.tasks : 3] if len(tasks) > args.tasks else tasks
            found = [pair for task in chosen if (pair := values(task, Path(folder))) is not None]
            if found:
                print(row(name, found), flush=True)
                pairs += found
    print(row("**all**", pairs))


def row(name: str, pairs: list[tuple[float, float]]) -> str:
    ours, theirs = (sum(column) for column in zip(*pairs, strict=True))
    higher, lower = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    return f"| {name} | {len(pairs)} | {ours:g} | {theirs:g} | {higher} | {lower} |"


if __name__ == "__main__":
    main()
