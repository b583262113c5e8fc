"""Any heuristic of the program as the potential and the lower bound of reinforcement learning."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_window import network_values
from numpy.typing import NDArray
from small_domains import ALL
from small_patterns import OPTIONS

from hstar import search
from hstar.pdb import build_pdb, choose_pattern, write_pdb
from hstar.pddl import InputFileError
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, load_task
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.loader import find_heuristic
from hstar.slots.model_file import ModelFileError, read_model, write_model
from hstar.training.certified.learning import learn
from hstar.training.reinforcement.rtdp import PRESETS, Rtdp, RtdpSettings
from hstar.training.source import TableData

SMALL = {"depth": 3, "width": 4, "batch": 8, "least_states": 8, "unions": 0}
CALLS: list[int] = []


def ff_of_python(task: Task) -> Any:
    """h^FF, as code outside the core."""
    inner = make_heuristic(task, "ff", "one")

    def evaluate(states: NDArray[np.int32]) -> NDArray[np.float32]:
        CALLS.append(len(states))
        return inner.evaluate(states)

    return evaluate


def wrong_in_python(states: NDArray[np.int32]) -> NDArray[np.float32]:
    return np.full(len(states), np.nan, np.float32)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    domain, problem = ALL["gripper"](random.Random(3))
    (tmp_path / "domain.pddl").write_text(domain)
    (tmp_path / "p.pddl").write_text(problem)
    return load_task(tmp_path / "domain.pddl", tmp_path / "p.pddl")


def settings_with(**changes: Any) -> RtdpSettings:
    return replace(PRESETS["own"], **SMALL, **changes)


def learned(task: Task, settings: RtdpSettings, steps: int = 60) -> Rtdp:
    learner = Rtdp([task], settings, seed=0)
    learner.run(steps)
    return learner


def test_a_heuristic_in_python_teaches_what_the_same_one_of_the_core_does(task: Task) -> None:
    CALLS.clear()
    outside = f"{__name__}:ff_of_python"
    expected = learned(task, settings_with(lower="none")).weights()
    found = learned(task, settings_with(lower="none", heuristic=outside)).weights()
    assert found.tobytes() == expected.tobytes()
    assert max(CALLS) > 1  # all new successors of a state in one call
    other = learned(task, settings_with(lower="none", heuristic="hadd")).weights()
    assert other.tobytes() != expected.tobytes()


@pytest.mark.parametrize("kind", ["table", "network"])
def test_pattern_databases_and_certified_networks(kind: str, task: Task, tmp_path: Path) -> None:
    """As potential and as lower bound; search uses the same values as the learner."""
    database = build_pdb(task, choose_pattern(task, 500))
    file = tmp_path / ("h.safetensors" if kind == "network" else "h.pdb")
    if kind == "network":
        assert learn(TableData(database, task), file, OPTIONS) is not None
    else:
        write_pdb(file, database)
    text = f"pdb:{file}"
    settings = settings_with(heuristic=text, lower=text)
    learner = learned(task, settings)
    path = tmp_path / "model.safetensors"
    write_model(path, learner.model_file(learner.weights(), {}))
    states = task.successors(task.initial_state)[1]
    h = make_heuristic(task, find_heuristic(text)).evaluate(states)
    assert h.max() > 0
    bound: Any = find_heuristic(str(path)).bind(task)
    expected = -settings.phi(h) - network_values(learner, task, states)
    is_goal = np.array([task.is_goal(row) for row in states])
    assert np.abs(bound(states) - expected)[~is_goal].max() < 1e-3
    assert search(task, find_heuristic(str(path)), "gbfs").solved
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(InputFileError, match="digest does not match"):
        find_heuristic(str(path)).bind(task)
    file.unlink()
    with pytest.raises(InputFileError, match=r"(?i)no such"):
        find_heuristic(str(path)).bind(task)


def test_a_learned_model_as_potential(task: Task, tmp_path: Path) -> None:
    first = learned(task, settings_with())
    path = tmp_path / "first.safetensors"
    write_model(path, first.model_file(first.weights(), {}))
    again = learned(task, settings_with(heuristic=str(path)))
    heuristic = LearnedHeuristic(again.model_file(again.weights(), {}), "again")
    assert search(task, heuristic, "gbfs").solved


def test_code_outside_needs_trust(task: Task, tmp_path: Path) -> None:
    learner = learned(task, settings_with(heuristic=f"{__name__}:ff_of_python"))
    path = tmp_path / "model.safetensors"
    write_model(path, learner.model_file(learner.weights(), {}))
    with pytest.raises(ModelFileError, match="--trust"):
        read_model(path)
    assert search(task, find_heuristic(str(path), trust=True), "gbfs").solved


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heuristic": "hff"}, "hff"),
        ({"heuristic": "pdb:"}, "names no file"),
        ({"heuristic": "nowhere.safetensors"}, "nowhere.safetensors"),
        ({"heuristic": f"{__name__}:nothing"}, "nothing"),
        ({"heuristic": f"{__name__}:wrong_in_python"}, "NaN"),
        ({"lower": "ff"}, "lower bound"),
    ],
)
def test_wrong_potentials(changes: dict[str, str], message: str, task: Task) -> None:
    with pytest.raises(Exception, match=message):
        learned(task, settings_with(**changes))


def test_lower_bounds_count_steps(tmp_path: Path) -> None:
    domain, problem = ALL["transport"](random.Random(3))
    (tmp_path / "domain.pddl").write_text(domain)
    (tmp_path / "p.pddl").write_text(problem)
    costly = load_task(tmp_path / "domain.pddl", tmp_path / "p.pddl")
    write_pdb(tmp_path / "h.pdb", build_pdb(costly, choose_pattern(costly, 500)))
    with pytest.raises(ValueError, match="steps are counted here"):
        Rtdp([costly], settings_with(lower=f"pdb:{tmp_path / 'h.pdb'}"), 0)
