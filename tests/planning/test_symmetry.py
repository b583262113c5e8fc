"""Corners of the cube up to symmetry: nothing is lost, and networks that learn classes of states
are certified for every state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from small_patterns import OPTIONS

from hstar.pdb import PatternDatabase, compress
from hstar.planning.puzzle import Puzzle
from hstar.slots.features.pattern_states import PatternStates
from hstar.slots.pattern_network import LearnedFile, read_learned
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.device_sweep import DeviceSweep
from hstar.training.certified.learning import learn
from hstar.training.certified.sweep import Sweep, SweepOptions
from hstar.training.certified.thresholds import GRID
from hstar.training.source import TableData

STATES = 88_179_840


@pytest.fixture(scope="module")
def classes(corners: PatternDatabase) -> PatternDatabase:
    return compress(corners, symmetric=True)


@pytest.fixture(scope="module")
def states(cube: Puzzle) -> NDArray[np.int32]:
    return np.stack([cube.scramble(1 + seed % 30, seed) for seed in range(5000)])


@pytest.fixture(scope="module")
def path(classes: PatternDatabase, cube: Puzzle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("symmetry") / "corners.safetensors"
    assert learn(TableData(classes, cube), path, OPTIONS) is not None
    return path


@pytest.fixture(scope="module")
def learned(path: Path) -> LearnedFile:
    return read_learned(path)


def test_classes_lose_nothing(
    corners: PatternDatabase, classes: PatternDatabase, states: NDArray[np.int32]
) -> None:
    assert classes.layout.cells == 984 * 3**7
    assert classes.num_bytes == 984 * 3**7 // 2
    assert np.array_equal(classes.lookup(states), corners.lookup(states))


def test_classes_stand_for_all_states(corners: PatternDatabase, classes: PatternDatabase) -> None:
    assert sum(classes.multiplicities) == 40320
    assert sum(classes.histogram[0]) == STATES
    assert classes.histogram == corners.histogram


def test_a_network_reads_the_representative(
    learned: LearnedFile, classes: PatternDatabase, cube: Puzzle, states: NDArray[np.int32]
) -> None:
    index = classes.index(cube)
    representatives = states.copy()
    representatives[:, :8] = index.unrank(index.rank(states))
    assert not np.array_equal(representatives, states)
    values = learned.model.lookup(states)
    assert np.array_equal(values, learned.model.lookup(representatives))
    assert len(np.unique(values)) > 1


def test_no_state_is_overestimated(
    learned: LearnedFile, path: Path, corners: PatternDatabase, states: NDArray[np.int32]
) -> None:
    assert np.all(learned.model.lookup(states) <= corners.lookup(states))
    assert sum(one.count for one in learned.model.exceptions) > 0
    for options in (SweepOptions(threads=1, batch=1000), SweepOptions(threads=2, batch=4096)):
        _, verification = verify_file(path, options=options)
        assert verification.holds
        assert verification.certificate["states"] == STATES
        assert verification.certificate["overestimates"] == 0


def test_sweeps_count_states(learned: LearnedFile, classes: PatternDatabase, cube: Puzzle) -> None:
    core = Sweep(classes, cube, SweepOptions(threads=2))
    device = DeviceSweep(PatternStates(classes, cube, torch.device("cpu")))
    one, other = core.count_values(learned.model), device.count_values(learned.model)
    assert one.states == other.states == STATES
    assert np.array_equal(one.classes, other.classes)
    levels = core.count_levels(learned.model, GRID)
    assert levels.states == STATES
    # All but the goal are within level 1; the goal is one index above which it lies.
    assert levels.within[0].sum() == STATES - 1
    assert (levels.below[0] + levels.just[0]).sum() == 1
    some = device.count_levels(learned.model, GRID, share=8)
    assert some.states / STATES == pytest.approx(1 / 8, abs=0.03)
    assert some.states - some.within[0].sum() in (0, 1)
