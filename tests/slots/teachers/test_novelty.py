"""Which operators walks backwards from the goal choose, and from which depths states are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_regression import NO_LIMIT, NOVELTIES, SEEDS, SetOracle, rows, task_of

from hstar import _core
from hstar.pddl import parse
from hstar.planning.task import ground
from hstar.slots.teachers.regression import by_depth


@pytest.mark.parametrize("novelty", NOVELTIES[1:])
def test_the_most_novel_operator_is_chosen(novelty: str) -> None:
    """By the definitions: facts of the new set that no set before it has, facts that all sets have
    but the new one, or both."""
    decided = 0
    for seed in SEEDS:
        task = task_of(seed)
        if task.goal_is_false:
            continue
        regression = _core.Regression(task.core, *NO_LIMIT)
        oracle = SetOracle(task, regression)
        images = regression.backward_walks(2, 8, novelty, seed, *NO_LIMIT)
        sets = rows(*images.facts)
        for image in np.flatnonzero(images.parent >= 0):
            before = [sets[i] for i in range(image) if images.walk[i] == images.walk[image]]

            def score(facts: set[int], before: list[set[int]] = before) -> int:
                new, lost = len(facts - set.union(*before)), len(set.intersection(*before) - facts)
                return (novelty != "deletes") * new + (novelty != "preconditions") * lost

            ops = range(task.num_operators)
            found = [oracle.regressed(before[-1], op) for op in ops]
            scores = [score(facts) for facts in found if facts is not None]
            assert score(sets[image]) == max(scores)
            decided += min(scores) < max(scores)
    assert decided > 100


NOVEL = """\
(define (domain d) (:predicates (g1) (g2) (g3) (g4) (a) (b) (c) (d) (e))
  (:action new4-lost1 :precondition (and (a) (b) (c) (d) (g2) (g3) (g4)) :effect (g1))
  (:action new3-lost3 :precondition (and (a) (b) (c) (g4)) :effect (and (g1) (g2) (g3)))
  (:action new1-lost4 :precondition (e) :effect (and (g1) (g2) (g3) (g4)))
  (:action get :precondition (e) :effect (and (a) (b) (c) (d)))
  (:action drop :precondition (d) :effect (and (not (a)) (not (b)) (not (c)) (not (d)) (not (e)))))
"""


@pytest.mark.parametrize(
    ("novelty", "first"),
    [
        ("none", {"(new4-lost1)", "(new3-lost3)", "(new1-lost4)"}),
        ("preconditions", {"(new4-lost1)"}),
        ("deletes", {"(new1-lost4)"}),
        ("both", {"(new3-lost3)"}),
    ],
)
def test_novelty_chooses_among_operators(novelty: str, first: set[str], tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(NOVEL)
    problem = "(define (problem q) (:domain d) (:init (e)) (:goal (and (g1) (g2) (g3) (g4))))"
    (tmp_path / "problem.pddl").write_text(problem)
    task = ground(parse(tmp_path / "domain.pddl", tmp_path / "problem.pddl"), keep_constant=True)
    regression = _core.Regression(task.core, *NO_LIMIT)
    chosen = {
        task.operator_name(int(regression.backward_walks(1, 1, novelty, seed, *NO_LIMIT).op[1]))
        for seed in range(60)
    }
    assert chosen == first


def test_each_depth_has_its_share_of_states() -> None:
    """Depth i is drawn for i, i + 1, ... in turn, from all pre-images up to there."""
    longest, walks, states = 9, 3, 100_000
    depth = np.tile(np.arange(longest + 1, dtype=np.int32), walks)
    chosen = by_depth(depth, states, 0.5, seed=1)
    assert (chosen < 0).mean() == pytest.approx(0.5, abs=0.01)
    shares = np.bincount(depth[chosen[chosen >= 0]]) / (chosen >= 0).sum()
    later = [sum(1 / (k + 1) for k in range(i, longest + 1)) for i in range(longest + 1)]
    assert shares == pytest.approx(np.array(later) / (longest + 1), abs=0.01)
    evenly = by_depth(depth, states, 0.0, seed=1, even=True)
    assert (np.bincount(depth[evenly]) == states / (longest + 1)).all()
    assert len(set(evenly)) == len(depth)  # of each walk
