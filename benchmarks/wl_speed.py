"""How long a linear function on Weisfeiler-Leman features takes per state of a greedy search.

    python benchmarks/wl_speed.py SUITE [--problems medium/p15 hard/p15] [--evaluations 100000]

SUITE is a folder of the ten domains of the IPC 2023 learning track (DOMAIN/domain.pddl,
DOMAIN/testing/medium/p15.pddl). Colours are those of 100 states at the ends of random walks, and
weights are random. Columns are microseconds of CPU time per evaluation, with 1 and 2 rounds, and
those of the whole search with 2 rounds. Where the package wlplan is installed: what its `predict`
takes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.experiments.report import markdown_table
from hstar.pddl import parse
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.features.feature import SpaceStates
from hstar.slots.features.wl import WL

ROUNDS = (1, 2)
MOST_OPERATORS = 8_000_000


def heuristic(task: Task, states: NDArray[np.int32], options: dict[str, Any]) -> Any:
    config = WL.fit(WL.configure([task], options, "one"), [SpaceStates(task, states)])
    weights = np.random.default_rng(1).normal(size=(1, config["width"])).astype(np.float32)
    layer = (weights, np.zeros(1, dtype=np.float32), "none", False)
    decode = {"name": "value", "sigma": 0.0}
    spec = {"cost": "one", "base": "", "lower": "", "cap": 0.0, "decode": decode}
    network = {"model": "mlp", "layers": [layer], **WL.native(config, task)}
    return _core.Heuristic.learned(task.core, {**spec, **network})


def microseconds(task: Task, used: Any, evaluations: int, seconds: float) -> tuple[float, float]:
    """Of the evaluations in a greedy search and of all of it, per evaluated state."""
    options = _core.SearchOptions()
    options.max_evaluations = evaluations
    wall, cpu = _core.monotonic_seconds(), time.process_time()
    searches = [([used], options)]
    _, (found,) = _core.search_in_turns(task.core, None, searches, [1.0], wall + seconds, 0)
    cpu = time.process_time() - cpu
    # The evaluator counts time that other processes take from this one, too.
    share = cpu / (_core.monotonic_seconds() - wall)
    count = max(1, found["evaluated"])
    return 1e6 * share * used.seconds_spent / count, 1e6 * cpu / count


def peer_microseconds(
    task: Task, states: NDArray[np.int32], rounds: int, hash: str
) -> float | None:
    """Of WLPlan's `predict` on states that it has already read."""
    try:
        import wlplan  # noqa: F401
    except ImportError:
        return None
    import sys

    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
    from wlplan_peer import Peer

    peer = Peer(task, rounds, hash, statics=False)
    peer.counts(states)
    features = peer.features
    features.set_problem(peer.problem)
    features.set_weights([1.0] * features.get_n_features())
    known = [peer.state(state) for state in states[-50:]]
    start = time.process_time()
    for state in known:
        features.predict(state)
    return 1e6 * (time.process_time() - start) / len(known)


def row(domain: str, problem: str, task: Task, given: argparse.Namespace) -> list[Any]:
    states = _core.random_walks(task.core, 100, 30, 0, 0.0, 0)
    goals = _core.Heuristic(task.core, "goalcount", "one")
    microseconds(task, goals, 1, given.seconds)  # makes what searches share
    columns: list[Any] = [domain, problem, task.num_facts]
    for rounds in ROUNDS:
        options = {**WL.options, "rounds": rounds, "hash": given.hash, "statics": given.statics}
        made = heuristic(task, states, options)
        alone, whole = microseconds(task, made, given.evaluations, given.seconds)
        columns.append(alone)
    columns.append(whole)
    return columns + [peer_microseconds(task, states, rounds, given.hash) for rounds in ROUNDS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("--problems", nargs="+", default=["medium/p15", "hard/p15"])
    parser.add_argument("--domains", nargs="+", default=[])
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of each search")
    parser.add_argument("--hash", default="set", choices=["set", "multiset"])
    parser.add_argument("--statics", action="store_true")
    given = parser.parse_args()
    rows = []
    for problem in given.problems:
        for folder in sorted(given.suite.iterdir()):
            if given.domains and folder.name not in given.domains:
                continue
            files = folder / "domain.pddl", folder / "testing" / f"{problem}.pddl"
            if not files[1].exists():
                continue
            try:
                task = ground(parse(*files), budget=Budget.starting_now(60, 6 << 30))
            except (OutOfResources, MemoryError):
                print(f"{folder.name} {problem} is too large to ground", flush=True)
                continue
            if task.num_operators > MOST_OPERATORS:
                print(f"{folder.name} {problem} is too large to search", flush=True)
                continue
            rows.append(row(folder.name, problem, task, given))
            print(_text(rows[-1]), flush=True)
        part = [r for r in rows if r[1] == problem]
        if part:
            means = [float(np.mean([r[i] for r in part])) for i in (3, 4, 5)]
            rows.append(["mean", problem, "", *means, None, None])
    headers = ["domain", "problem", "facts", "1 round", "2 rounds", "search"]
    headers += ["WLPlan 1 round", "WLPlan 2 rounds"]
    print(markdown_table(headers, [_text(r) for r in rows]))


def _text(columns: list[Any]) -> list[str]:
    return [
        "" if one is None else f"{one:.2f}" if isinstance(one, float) else str(one)
        for one in columns
    ]


if __name__ == "__main__":
    main()
