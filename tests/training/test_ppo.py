"""Episodes of a policy, and its training by PPO."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hard_tasks import write_task
from label_folders import write_folder
from small_domains import BLOCKS, GRIPPER, problem_text
from test_learned_symmetry import DOMAINS
from test_policy import QUICK, heuristic_of, network_for, train_on

import hstar
from hstar import search
from hstar.slots.features.atoms import Encoder
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.model_file import to_bytes
from hstar.slots.models.gnn import GNN
from hstar.training.checkpoint import CheckpointError
from hstar.training.reinforcement.curriculum import Curriculum
from hstar.training.reinforcement.episodes import Arena, play
from hstar.training.reinforcement.ppo import PolicyRun, TrainedPolicy, train_policy

pytestmark = pytest.mark.usefixtures("one_thread")


def arena_of(task: hstar.Task) -> tuple[Arena, GNN]:
    network, _ = network_for(task)
    vocabulary = Vocabulary.of(task.problem.domain)
    return Arena(task, vocabulary, network.config.schemas), network


def test_returns_are_discounted_chances(towers: hstar.Task) -> None:
    """With a trace of 1 a return is gamma^(steps to the goal - 1), or at the limit what the value
    of the last state says."""
    arena, network = arena_of(towers)
    rng = np.random.default_rng(3)
    outcomes = set()
    for _ in range(40):
        played = play([arena], network, rng, 0.9, 1.0)
        steps = len(played)
        assert steps <= arena.most_steps
        (earned,) = played.earned
        if earned:
            expected = [0.9 ** (steps - 1 - t) for t in range(steps)]
            assert played.returns.tolist() == pytest.approx(expected, abs=1e-5)
            assert earned == pytest.approx(expected[0])
        else:
            assert steps == arena.most_steps
            ratios = played.returns[1:] / played.returns[:-1]
            assert ratios.tolist() == pytest.approx([1 / 0.9] * (steps - 1), rel=1e-4)
        outcomes.add(earned > 0)
    assert outcomes == {False, True}


ROOMS = """(define (domain pit) (:predicates (at ?x) (path ?x ?y))
(:action go :parameters (?x ?y) :precondition (and (at ?x) (path ?x ?y))
  :effect (and (at ?y) (not (at ?x)))))"""


def test_an_episode_ends_in_a_dead_end(tmp_path: Path) -> None:
    """Nothing follows, so the return is 0; and learning avoids the pit."""
    init = ["(at start)", "(path start pit)", "(path start hall)", "(path hall end)"]
    problem = problem_text("pit", "start hall pit end", init, ["(at end)"])
    task = hstar.load_task(*write_task(tmp_path, ROOMS, problem), keep_irrelevant=True)
    arena, network = arena_of(task)
    played = play(50 * [arena], network, np.random.default_rng(0), 0.9, 1.0)
    solved = np.count_nonzero(played.earned)
    assert 0 < solved < 50
    failed = played.returns < 1e-6
    assert failed.sum() == 50 - solved and len(played) == 50 + solved


def test_larger_problems_come_when_smaller_ones_are_solved() -> None:
    """Groups in ascending order; and nothing that was learned is left out for good."""
    sizes = [30.0, 10.0, 20.0, 11.0]
    curriculum, rng = Curriculum(sizes), np.random.default_rng(0)
    assert [group.tolist() for group in curriculum.groups] == [[1], [3], [2], [0]]
    for _ in range(5):
        drawn = curriculum.draw(rng, 20)
        assert set(drawn.tolist()) == {1}
        curriculum.learn(drawn, 20 * [0.0])
    seen = []
    for _ in range(40):
        drawn = curriculum.draw(rng, 20)
        seen.append(set(drawn.tolist()))
        curriculum.learn(drawn, [0.5 if sizes[i] < 25 else 0.0 for i in drawn])
    assert seen[0] == {1} and set.union(*seen[-5:]) == {0, 1, 2, 3}
    assert curriculum.solved[:3].min() > 0.9 and curriculum.solved[3] < 0.1
    assert curriculum.gained[:3].max() < 0.51
    drawn = curriculum.draw(rng, 1000)
    again = Curriculum(sizes)
    again.restore(json.loads(json.dumps(curriculum.state())))
    assert again.state() == curriculum.state()


def test_a_step_too_far_is_undone(towers: hstar.Task) -> None:
    """Whatever the learning rate: an update ends near the policy that it began with, and the next
    one is more careful."""
    options = replace(QUICK, updates=1, learning_rate=0.5, most_divergence=0.001)
    run = PolicyRun([towers], options)
    run.go()
    assert run.rate < 0.5
    begun = PolicyRun([towers], options)
    arena = begun.arenas[0]
    played = play(8 * [arena], begun.network, np.random.default_rng(1), 0.9, 1.0)
    with torch.inference_mode():
        before, after = (
            one.network.policy(played.inputs, played.choices)[0] for one in (begun, run)
        )
    divergence = (before.exp() * (before - after)).sum() / len(played)
    assert 0 <= float(divergence) < 0.1


def test_what_was_lost_is_found_again(towers: hstar.Task) -> None:
    """A policy that does far worse than the best one so far gives way to it."""
    run = PolicyRun([towers], replace(QUICK, updates=1))
    run.curriculum.learn(np.zeros(60, np.int64), 60 * [0.8])
    assert not run._judge()
    best, open_groups = run.best, run.curriculum.state()
    with torch.no_grad():
        for weight in run.network.parameters():
            weight.add_(1.0)
    run.curriculum.learn(np.zeros(5, np.int64), 5 * [0.0])
    assert not run._judge()  # one bad update is no proof
    run.curriculum.learn(np.zeros(60, np.int64), 60 * [0.0])
    rate = run.rate
    assert run._judge() and run.rate < rate
    assert run.curriculum.state() == open_groups
    found = run.network.state_dict()
    assert all(np.array_equal(found[name].numpy(), one) for name, one in best.items())


def test_values_do_not_change_the_policy(towers: hstar.Task) -> None:
    run = PolicyRun([towers], QUICK)
    parts = [set(map(id, part)) for part in run.parts]
    assert not parts[0] & parts[1]
    assert parts[0] | parts[1] == set(map(id, run.network.parameters()))
    played = play([run.arenas[0]], run.network, run.rng, 0.9, 1.0)
    log_pi, value = run.network.policy(played.inputs, played.choices)
    for output, others in ((log_pi, run.parts[1]), (value, run.parts[0])):
        found = torch.autograd.grad(output.sum(), others, retain_graph=True, allow_unused=True)
        assert all(one is None for one in found)


def test_more_objects_do_not_make_values_larger(tmp_path: Path) -> None:
    """Twice the same problem side by side: the mean over objects is the same."""
    network, vocabulary = None, None
    logits = []
    for copies in (1, 2, 4):
        names = [f"{block}{i}" for i in range(copies) for block in "ab"]
        atoms = [f"({fact} {name})" for name in names for fact in ("ontable", "clear")]
        goal = [f"(on a{i} b{i})" for i in range(copies)]
        folder = tmp_path / str(copies)
        folder.mkdir()
        text = problem_text("blocks", " ".join(names), [*atoms, "(handempty)"], goal)
        task = hstar.load_task(*write_task(folder, BLOCKS, text))
        if network is None:
            network, vocabulary = network_for(task)
        with torch.inference_mode():
            logits.append(
                float(network(Encoder(task, vocabulary).encode(task.initial_state[None])))
            )
    assert logits[1] == pytest.approx(logits[0], abs=1e-3)
    assert logits[2] == pytest.approx(logits[0], abs=1e-3)


@pytest.mark.parametrize("attention", [False, True])
def test_learning_reaches_more_goals(attention: bool, tmp_path: Path) -> None:
    """Gripper with two balls."""
    objects = "ra rb - room x y - ball left right - gripper"
    init = ["(at x ra)", "(at y ra)", "(at-robby ra)", "(free left)", "(free right)"]
    text = problem_text("gripper", objects, init, ["(at x rb)", "(at y rb)"])
    task = hstar.load_task(*write_task(tmp_path, GRIPPER, text))
    options = replace(QUICK, updates=20, attention=attention)
    history = train_on([task], options).history
    shares = [row["solved"] for row in history]
    assert np.mean(shares[:3]) < 0.6
    assert np.mean(shares[-3:]) > np.mean(shares[:3]) + 0.25


def test_equal_seeds_give_equal_bytes_and_runs_go_on(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "blocks", count=3)
    options = replace(QUICK, updates=4, episodes=8)

    def content(trained: TrainedPolicy) -> bytes:
        tensors = trained.file.tensors
        return b"".join(tensors[name].tobytes() for name in sorted(tensors))

    whole = train_policy(folder, options)
    assert to_bytes(train_policy(folder, options).file) == to_bytes(whole.file)
    assert content(train_policy(folder, replace(options, seed=1))) != content(whole)
    path = tmp_path / "run.checkpoint"
    train_policy(folder, replace(options, updates=1), path)
    train_policy(folder, replace(options, updates=3), path)
    resumed = train_policy(folder, options, path)
    assert to_bytes(resumed.file) == to_bytes(whole.file)
    assert len(resumed.history) == 4
    with pytest.raises(CheckpointError, match="other labels, options or code"):
        train_policy(folder, replace(options, discount=0.8), path)


def test_the_example_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "learning.md").read_text()
    section = page.partition("## A policy as a heuristic\n")[2]
    code = section.partition("```python\n")[2].partition("```\n")[0]
    assert "seconds=300, updates=None" in code
    write_folder(tmp_path / "problems" / "train", "blocks", count=1)
    monkeypatch.chdir(tmp_path)
    exec(code.replace("seconds=300, updates=None", "updates=1, episodes=4"), {})
    assert hstar.load_model("policy.safetensors").label == "policy"


def test_problems_that_teach_nothing(tmp_path: Path) -> None:
    solved = problem_text("blocks", "a", ["(ontable a)"], ["(ontable a)"])
    task = hstar.load_task(*write_task(tmp_path, BLOCKS, solved))
    with pytest.raises(ValueError, match="solved already or has no applicable operator"):
        train_on([task], QUICK)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"discount": 1.0}, "discount lies between 0 and 1"),
        ({"trace": 2.0}, "trace lies between 0 and 1"),
        ({"clip": 0.0}, "'clip' must be positive"),
        ({"episodes": 0}, "'episodes' must be a whole number"),
        ({"updates": None}, "training has no end"),
    ],
)
def test_options_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(QUICK, **changes)


def test_every_small_domain_can_be_learned_on(tmp_path: Path) -> None:
    for name in DOMAINS:
        domain, problem = DOMAINS[name](random.Random(3))
        folder = tmp_path / name
        folder.mkdir()
        (folder / "domain.pddl").write_text(domain)
        (folder / "p.pddl").write_text(problem)
        made = train_policy(folder, replace(QUICK, updates=1, episodes=4))
        task = hstar.load_task(folder / "domain.pddl", folder / "p.pddl")
        for kind in ("H", "V"):
            found = search(task, heuristic_of(made, kind), "gbfs", max_evaluations=300)
            assert found.status in ("solved", "gave up"), (name, kind)
