"""The search first-improvement, which expands states in parts, against a plain implementation."""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hstar import search
from hstar.domains import generate
from hstar.pddl.validate import validate
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, load_task

SIZES = {
    "blocksworld": {"blocks": [5, 6, 8]},
    "ferry": {"locations": [4, 5], "cars": [4]},
    "gripper": {"balls": [4, 6]},
    "visitall": {"side": [4]},
}
PARTS = (4, 8, 16, 32, 64)  # successors that are evaluated at once; then always the last


def tasks_of(domain: str, folder: Path) -> list[Task]:
    generate(domain, folder, ["train"], seed=3, count=4, ranges=SIZES[domain])
    files = sorted(path for path in (folder / "train").glob("*.pddl") if path.stem != "domain")
    return [load_task(folder / "train" / "domain.pddl", path) for path in files]


class Reference:
    """Evaluations and length of the plan of the search, which it must find."""

    def __init__(self, task: Task, heuristic: Any) -> None:
        self.task, self.heuristic = task, heuristic
        self.open: list[tuple[float, int, bytes]] = []
        self.states: dict[bytes, Any] = {}
        self.h: dict[bytes, float] = {}
        self.depth: dict[bytes, int] = {}
        self.tried: dict[bytes, int] = {}
        self.evaluations = self.expanded = 0
        self.order = 0

    def push(self, key: bytes) -> None:
        heapq.heappush(self.open, (self.h[key], self.order, key))
        self.order += 1

    def meet(self, state: Any, depth: int) -> bytes:
        key = bytes(state.tobytes())
        self.states[key], self.depth[key] = state, depth
        return key

    def evaluate(self, keys: list[bytes]) -> None:
        for key in keys:
            self.h[key] = float(self.heuristic.evaluate(self.states[key][None])[0])

    def run(self) -> int:
        start = self.meet(self.task.initial_state, 0)
        self.evaluations += 1
        self.evaluate([start])
        self.push(start)
        while True:
            _, _, key = heapq.heappop(self.open)
            length = self.expand(key)
            if length is not None:
                return length

    def expand(self, key: bytes) -> int | None:
        _, successors = self.task.successors(self.states[key])
        self.expanded += key not in self.tried
        tried = self.tried.setdefault(key, 0)
        part = 0
        while tried < len(successors):
            fresh = []
            for state in successors[tried : tried + PARTS[min(part, len(PARTS) - 1)]]:
                tried += 1
                self.evaluations += 1
                if bytes(state.tobytes()) in self.states:
                    continue
                found = self.meet(state, self.depth[key] + 1)
                if self.task.is_goal(state):
                    return self.depth[found]
                fresh.append(found)
            self.evaluate(fresh)
            alive = [one for one in fresh if np.isfinite(self.h[one])]
            for one in alive:
                self.push(one)
            part += 1
            if any(self.h[one] < self.h[key] for one in alive) and tried < len(successors):
                self.tried[key] = tried
                self.push(key)
                return None
        return None


@pytest.mark.parametrize("heuristic", ["ff", "hadd", "goalcount"])
@pytest.mark.parametrize("domain", SIZES)
def test_it_agrees_with_a_plain_implementation(domain: str, heuristic: str, tmp_path: Path) -> None:
    saved = 0
    for task in tasks_of(domain, tmp_path):
        found = search(task, heuristic, "first-improvement", cost="one")
        reference = Reference(task, make_heuristic(task, heuristic, cost="one"))
        length = reference.run()
        assert found.solved and found.plan_length == length
        assert (found.requested, found.expanded) == (reference.evaluations, reference.expanded)
        steps = [tuple(step.strip("()").split()) for step in found.plan or ()]
        assert validate(task.problem, steps).valid
        saved += search(task, heuristic, "gbfs", cost="one").requested > found.requested
    if (domain, heuristic) == ("gripper", "ff"):
        assert saved  # what it is for


def test_two_heuristics_take_turns(tmp_path: Path) -> None:
    counts = []
    for heuristics in (["ff"], ["goalcount"], ["ff", "goalcount"]):
        found = [
            search(t, heuristics, "first-improvement", cost="one")
            for t in tasks_of("blocksworld", tmp_path)
        ]
        assert all(one.solved for one in found)
        counts.append([one.requested for one in found])
    assert counts[0] != counts[1] != counts[2] != counts[0]


def test_a_seed_changes_which_successor_is_first(tmp_path: Path) -> None:
    task = tasks_of("gripper", tmp_path)[0]
    counts = {
        search(task, "ff", "first-improvement", cost="one", seed=seed).requested
        for seed in range(5)
    }
    assert len(counts) > 1
