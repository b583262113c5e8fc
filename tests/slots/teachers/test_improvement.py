"""Shorter ways between pre-images, against their definition and against exact distances."""

from __future__ import annotations

import itertools
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_tasks import random_task
from small_domains import ALL
from test_regression import NO_LIMIT, SetOracle, classic, regression_of, rows, task_of

from hstar import _core
from hstar.pddl import parse
from hstar.planning.task import Task, ground
from hstar.slots.teachers.regression import sample_focused, sample_walks
from hstar.slots.teachers.teacher import SamplingTask

SEEDS = range(120)
SECONDS = 600.0


def sampled(task: Task, seed: int) -> _core.PreImages:
    """Few enough that improvement ends at the fixed point."""
    regression = regression_of(task, h2=seed % 3 == 0)
    if seed % 2:
        return regression.backward_walks(4, 12, "both", seed, *NO_LIMIT)
    return regression.focused(90, 0.3, 0, 1 + seed % 3, seed, *NO_LIMIT)


def improved_by_definition(task: Task, images: _core.PreImages, oracle: SetOracle) -> list[int]:
    """d(s) <= d(t) if s contains t, and d(s) <= d(t) + 1 if an operator leads from s to a set that
    contains t; an artificial operator is no step."""
    sets = [frozenset(one) for one in rows(*images.facts)]
    best: dict[frozenset[int], int] = {}
    for one, depth in zip(sets, images.depth.tolist(), strict=True):
        best[one] = min(best.get(one, depth), depth)
    edges = [
        (s, t, step)
        for s in best
        for after, step in [(s, 0), *successors(task, oracle, s)]
        for t in best
        if t <= after
    ]
    before: dict[frozenset[int], int] = {}
    while best != before:
        before = dict(best)
        for s, t, step in edges:
            best[s] = min(best[s], best[t] + step)
    return [best[one] for one in sets]


def successors(
    task: Task, oracle: SetOracle, facts: frozenset[int]
) -> list[tuple[frozenset[int], int]]:
    return [
        (
            frozenset(oracle.progressed(set(facts), number)),
            int(not task.operator_name(number).startswith("(reach-goal")),
        )
        for number, operator in enumerate(oracle.ops)
        if operator is not None and operator[0] <= facts
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_tasks_as_by_definition(seed: int) -> None:
    task = task_of(seed)
    if task.goal_is_false:
        return
    images = sampled(task, seed)
    expected = improved_by_definition(task, images, SetOracle(task, regression_of(task, h2=False)))
    before = images.depth
    assert images.improve(SECONDS, *NO_LIMIT)
    assert images.depth.tolist() == expected
    assert (images.depth <= before).all()


@pytest.mark.parametrize("name", ALL)
def test_classic_domains_as_by_definition(name: str) -> None:
    task = classic(name)
    images = sampled(task, 2)
    expected = improved_by_definition(task, images, SetOracle(task, regression_of(task, h2=False)))
    assert images.improve(SECONDS, *NO_LIMIT)
    assert images.depth.tolist() == expected


def steps_task(domain: str, problem: str) -> Task:
    """Every action costs 1."""
    with tempfile.TemporaryDirectory() as name:
        paths = Path(name) / "domain.pddl", Path(name) / "problem.pddl"
        paths[0].write_text(domain)
        paths[1].write_text(problem)
        return ground(replace(parse(*paths), uses_metric=False))


def contained_bounds(task: Task, images: _core.PreImages) -> tuple[np.ndarray, np.ndarray]:
    """The bounds on all reachable states that contain a pre-image, and their h*."""
    found = _core.explore(task.core, 5000, *NO_LIMIT)
    if found is None:
        return np.zeros(0), np.zeros(0)
    states, h, _ = found
    first = np.array([0, *itertools.accumulate(task.domain_sizes)])[:-1]
    facts = (states + first).astype(np.int32)
    starts = np.arange(len(facts) + 1, dtype=np.int64) * task.num_variables
    depths = images.smallest_depths(starts, facts.reshape(-1), *NO_LIMIT)
    return depths[depths >= 0], h[depths >= 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_stay_bounds(seed: int) -> None:
    text = random_task(seed)
    task = steps_task(text.domain, text.problem)
    if task.goal_is_false:
        return
    images = sampled(task, seed)
    images.improve(SECONDS, *NO_LIMIT)
    bounds, exact = contained_bounds(task, images)
    assert (exact <= bounds).all()


def test_bounds_of_classic_domains_come_closer() -> None:
    """All together, and none of them below h*."""
    total_before, total_after = 0, 0
    for name in ALL:
        task = steps_task(*ALL[name](random.Random(3)))
        images = regression_of(task, h2=True).backward_walks(5, 60, "none", 1, *NO_LIMIT)
        before, exact = contained_bounds(task, images)
        images.improve(SECONDS, *NO_LIMIT)
        after, _ = contained_bounds(task, images)
        assert (exact <= after).all() and (after <= before).all()
        total_before, total_after = total_before + before.sum(), total_after + after.sum()
    assert total_after < total_before


def test_two_runs_are_the_same() -> None:
    task = classic("logistics")
    one, other = (regression_of(task, True).focused(2000, 0.1, 60, 1, 5, *NO_LIMIT) for _ in "ab")
    one.improve(SECONDS, *NO_LIMIT)
    other.improve(SECONDS, *NO_LIMIT)
    assert one.depth.tolist() == other.depth.tolist()


def test_without_time_depths_stay_bounds() -> None:
    task = classic("blocks")
    images = regression_of(task, True).focused(20_000, 0.1, 60, 1, 5, *NO_LIMIT)
    before = images.depth
    images.improve(0.0, *NO_LIMIT)
    after = images.depth
    images.improve(SECONDS, *NO_LIMIT)
    assert (images.depth <= after).all() and (after <= before).all()
    with pytest.raises(_core.Stopped, match="time"):
        regression_of(task, True).focused(20_000, 0.1, 60, 1, 5, *NO_LIMIT).improve(
            SECONDS, _core.monotonic_seconds() - 1.0, 0
        )


@pytest.mark.parametrize("sample", [sample_walks, sample_focused])
def test_the_option_lowers_the_labels_of_teachers(sample: object) -> None:
    assert callable(sample)
    task = classic("blocks")
    old, new = (
        sample(SamplingTask(task, states=2000, seed=1), improve=improve)
        for improve in (False, True)
    )
    assert new.h.mean() < old.h.mean()
