"""The same answers as Fast Downward: h values state by state, and optimal costs.

The oracle shares our reading of PDDL; Fast Downward does not. The large version of this test, over
real benchmark suites, is benchmarks/differential.py.
"""

from __future__ import annotations

import random
from pathlib import Path

import downward
import numpy as np
import pytest
import small_domains
from random_tasks import random_task

from hstar import search
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, load_task

pytestmark = pytest.mark.skipif(
    downward.why_unavailable() is not None, reason=str(downward.why_unavailable())
)

# hstar's name -> Fast Downward's
HEURISTICS = {"hmax": "hmax()", "hadd": "add()"}
STATES = 6


def write(folder: Path, domain: str, problem: str) -> tuple[Path, Path]:
    paths = folder / "domain.pddl", folder / "problem.pddl"
    for path, text in zip(paths, (domain, problem), strict=True):
        path.write_text(text)
    return paths


def random_walk_states(task: Task, count: int, rng: random.Random) -> list[np.ndarray]:
    """States at the ends of random walks of random lengths, the initial state among them."""
    states = [np.array(task.initial_state, dtype=np.int32)]
    while len(states) < count:
        state = states[0]
        for _ in range(rng.randint(1, 20)):
            _, successors = task.successors(state)
            if len(successors) == 0:
                break
            state = successors[rng.randrange(len(successors))]
        states.append(state)
    return states


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("domain", sorted(small_domains.POSITIVE))
def test_heuristic_values(domain: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    paths = write(tmp_path, *small_domains.POSITIVE[domain](rng))
    sas = downward.translate(*paths, tmp_path).sas
    text = sas.read_text()
    task = load_task(*paths, keep_irrelevant=True)
    states = random_walk_states(task, STATES, rng)
    for name, theirs in HEURISTICS.items():
        values = make_heuristic(task, name).evaluate(np.stack(states))
        for state, value in zip(states, values, strict=True):
            atoms = task.atoms(state)
            sas.write_text(downward.with_initial_state(text, atoms))
            assert value == downward.heuristic_value(sas, theirs), (name, atoms)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("domain", sorted(small_domains.ALL))
def test_optimal_costs(domain: str, seed: int, tmp_path: Path) -> None:
    paths = write(tmp_path, *small_domains.ALL[domain](random.Random(100 + seed)))
    check_optimal_cost(*paths, tmp_path)


@pytest.mark.parametrize("seed", range(500, 520))
def test_optimal_costs_of_random_tasks(seed: int, tmp_path: Path) -> None:
    text = random_task(seed)
    check_optimal_cost(*write(tmp_path, text.domain, text.problem), tmp_path)


def check_optimal_cost(domain: Path, problem: Path, folder: Path) -> None:
    """Blind on Fast Downward's side: its other admissible heuristics refuse conditional effects."""
    expected = downward.run(downward.translate(domain, problem, folder).sas, "astar(blind())")
    assert expected.solved or expected.unsolvable, expected
    for heuristic in ("blind", "hmax", "lmcut"):
        result = search(load_task(domain, problem), heuristic=heuristic, algorithm="astar")
        assert result.plan_cost == expected.plan_cost, heuristic
        assert result.exit_code == (0 if expected.solved else 11), heuristic
