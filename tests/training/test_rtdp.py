"""RTDP with a Neural Logic Machine: against a second implementation, and against exact values."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact_values import GAMMAS, ROOMS, optimum
from learning_window import network_values
from rtdp_reference import Place, Reference
from small_domains import ALL
from test_reward_shaping import classic_space, reached_before_goals

from hstar import _core
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, load_task
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.features.atoms import ATOMS
from hstar.training.checkpoint import Checkpoint
from hstar.training.reinforcement.rtdp import (
    POTENTIALS,
    PRESETS,
    REWARDS,
    Rtdp,
    RtdpSettings,
    find_preset,
)

CLOSE = 1e-4
SMALL: dict[str, Any] = {"breadth": 2, "depth": 2, "width": 4, "batch": 10, "least_states": 10}
# Rooms s to g. x has no way out; y and z only lead to each other; d and e end in x, two steps on.
ONE_WAY = ("sa ab bg sx ay yz zy bd de ex as ba", "sa ac cg cd de ex sd ca dc", "sa ag sx ax as xs")


def tasks_of(folder: Path, name: str, seeds: tuple[int, ...]) -> list[Task]:
    """Problems of small_domains, or with rooms and dead ends."""
    tasks = []
    for seed in seeds:
        domain, problem = rooms(seed) if name == "rooms" else ALL[name](random.Random(seed))
        (folder / "domain.pddl").write_text(domain)
        (folder / f"p{seed}.pddl").write_text(problem)
        paths = folder / "domain.pddl", folder / f"p{seed}.pddl"
        tasks.append(load_task(*paths, keep_irrelevant=name == "rooms"))  # with its dead ends
    return tasks


def rooms(number: int) -> tuple[str, str]:
    doors = ONE_WAY[number].split()
    names = " ".join(sorted(set("".join(doors))))
    init = " ".join(f"(door {a} {b}) (= (length {a} {b}) 7)" for a, b in doors)
    return ROOMS, (
        f"(define (problem p{number}) (:domain rooms) (:objects {names}) (:init (at s) {init} "
        "(= (total-cost) 0)) (:goal (at g)) (:metric minimize (total-cost)))"
    )


def places_of(learner: Rtdp, tasks: list[Task], kind: str = "states") -> list[Place]:
    """States in a learner's memory."""
    memory, _ = learner.memory()
    values, found, first = memory[f"{kind}_values"].tolist(), [], 0
    for problem in memory[f"{kind}_problems"].tolist():
        end = first + tasks[problem].num_variables
        found.append((problem, tuple(values[first:end])))
        first = end
    assert first == len(values)
    return found


def check_against_reference(
    tasks: list[Task], settings: RtdpSettings, seed: int, pieces: tuple[int, ...]
) -> Reference:
    core = Rtdp(tasks, settings, seed)
    reference = Reference(tasks, settings, seed, core.network, core.weights())
    for until in pieces:
        core.run(until)
        reference.run(until)
        found = core.counters()
        for name in ("steps", "updates", "episodes", "goals"):
            assert found[name] == getattr(reference, name), name
        assert found["returns"] == pytest.approx(reference.returns, rel=1e-9)
        assert found["loss"] == pytest.approx(reference.loss, rel=1e-3, abs=1e-5)
        held = [place for bucket in reference.buckets for place in bucket.places]
        assert places_of(core, tasks) == held
        memory, random_state = core.memory()
        assert memory["lengths"].tolist() == [len(b.places) for b in reference.buckets]
        assert memory["fresh"].tolist() == [b.fresh for b in reference.buckets]
        assert int(random_state) == reference.random.state
        assert len(memory["goal_steps"]) == reference.goals
        assert np.abs(memory["theta"] - reference.theta).max() < CLOSE
        assert np.abs(core.weights() - reference.average).max() < CLOSE
        if settings.target_period:
            assert np.abs(memory["target"] - reference.target).max() < CLOSE
        if settings.bounded:
            bounds = dict(zip(places_of(core, tasks, "bounded"), memory["upper"], strict=True))
            goals = {(p, s) for p, s in reference.upper if reference.worlds[p].is_goal(s)}
            finite = {place: u for place, u in reference.upper.items() if u < 1e9}
            assert bounds == {place: u for place, u in finite.items() if place not in goals}
    return reference


@pytest.mark.parametrize(
    ("preset", "domain", "steps"),
    [
        ("paper", "blocks", 120),
        ("paper", "briefcase", 100),
        ("as-run", "blocks", 120),
        ("as-run", "logistics", 100),
        # Without states of equal value that rounding would order.
        ("own", "blocks", 120),
        ("own", "logistics", 120),
    ],
)
def test_presets_as_a_second_implementation(
    tmp_path: Path, preset: str, domain: str, steps: int
) -> None:
    tasks = tasks_of(tmp_path, domain, (1, 2, 3))
    small = {**SMALL, "learning_rate": 0.01, "updates": steps}
    if preset == "own":
        small["lower"] = "hmax"
    if PRESETS[preset].target_period:
        small["target_period"] = 15
    settings = replace(find_preset(preset), **small)
    reference = check_against_reference(tasks, settings, 3, (1, 40, steps))
    assert reference.goals > 1
    assert reference.updates > steps - 20
    assert len(reference.buckets) > 1 or domain != "blocks"


VARIANTS: dict[str, dict[str, Any]] = {
    "argmax, max": {"max_backup": True},
    "argmax, expectation": {"temperature": 0.3},
    "sampled, max": {"samples_actions": True, "max_backup": True},
    "sampled, expectation": {"samples_actions": True, "temperature": 2.5},
    "tau 0": {"samples_actions": True, "temperature": 0.0},
    "one bucket": {"samples_actions": True, "buckets": "one", "fresh_first": True},
    "a full bucket": {"samples_actions": True, "capacity": 12, "batch": 4, "fresh_first": True},
    "dead ends are learned": {"samples_actions": True, "learns_dead_ends": True, "gamma": 0.9},
    "unseen dead ends": {"samples_actions": True, "heuristic": "goalcount", "buckets": "one"},
    "short episodes": {"samples_actions": True, "episode_steps": 2, "gamma": 0.9},
    "search": {"searches": True, "samples_actions": True, "heuristic": "goalcount"},
    "bounded search": {"searches": True, "bounded": True, "lower": "lmcut", "target_period": 7},
    "bounded walks": {"samples_actions": True, "bounded": True, "max_backup": True},
    "a bucket for names": {"samples_actions": True, "buckets": "names", "heuristic": "hadd"},
    "averaged": {"samples_actions": True, "average": 0.9, "weight_decay": 0.5},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_as_a_second_implementation(tmp_path: Path, variant: str) -> None:
    """On problems with dead ends, of which one is a step beyond what the heuristic sees."""
    tasks = tasks_of(tmp_path, "rooms", (0, 1, 2))
    options = {**SMALL, "gamma": 0.99, "learning_rate": 0.01, "updates": 60, **VARIANTS[variant]}
    settings = replace(RtdpSettings(), **options)
    reference = check_against_reference(tasks, settings, 5, (20, 60))
    assert reference.goals > 0


@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("reward", REWARDS)
def test_rewards_and_potentials_as_a_second_implementation(
    tmp_path: Path, reward: str, potential: str
) -> None:
    tasks = tasks_of(tmp_path, "rooms", (0, 1, 2))
    settings = replace(
        RtdpSettings(samples_actions=True, updates=50, learning_rate=0.01, **SMALL),
        **{"gamma": 0.999, "reward": reward, "potential": potential},
    )
    check_against_reference(tasks, settings, 2, (25, 50))


CONVERGES = {"none": (2000, 0.3), "naive": (1000, 0.05), "discounted": (1000, 0.05)}


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_the_network_learns_the_exact_values(potential: str, gamma: float) -> None:
    """V* - phi, on average up to the error stated here. Operators are drawn at a high temperature,
    so all states before the goals are seen; the largest value without a potential is 6."""
    space = classic_space("gripper")
    steps, error = CONVERGES[potential]
    settings = RtdpSettings(
        *(gamma, "step", potential),
        **{**SMALL, "depth": 4, "width": 8, "batch": 32},
        samples_actions=True,
        temperature=5.0,
        max_backup=True,
        sums=True,
        target_period=20,
        updates=steps,
    )
    learner = Rtdp([space.task], settings, 1)
    learner.core.run(steps * 6 // 10, settings.updates, 0.005)
    learner.core.run(steps, settings.updates, 0.001)
    phi = np.where(space.steps == 0, 0.0, settings.phi(space.h("ff")))
    exact = optimum(settings, space.steps) - phi
    found = network_values(learner, space.task, space.states)
    seen = reached_before_goals(space)
    assert len(seen) > 20
    assert np.abs(found - exact)[seen].mean() < error


def arrays_of(learner: Rtdp) -> dict[str, bytes]:
    arrays, random_state = learner.memory()
    return {"random": random_state.encode(), **{k: v.tobytes() for k, v in arrays.items()}}


RESUMED = {
    **{name: {} for name in PRESETS},
    "unseen dead ends": {"heuristic": "goalcount", "samples_actions": True, "temperature": 9.0},
    "bounded walks": {"samples_actions": True, "bounded": True, "temperature": 9.0},
}


@pytest.mark.parametrize("domain", ["blocks", "rooms"])
@pytest.mark.parametrize("name", RESUMED)
def test_a_restored_learner_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, name: str, domain: str
) -> None:
    """Byte for byte, also through a checkpoint file; and each time it is restored."""
    tasks = tasks_of(tmp_path, domain, (0, 1, 2))
    options = {**SMALL, "updates": 400, "capacity": 60, **RESUMED[name]}
    settings = replace(PRESETS.get(name, RtdpSettings()), **options)
    ends = range(50, 401, 50)
    whole = Rtdp(tasks, settings, 9)
    whole.run(1)
    file = tmp_path / "checkpoint.safetensors"
    write_memory(file, whole)
    for until in ends:
        held = Checkpoint.read(file, "x")
        assert held is not None
        resumed = Rtdp(tasks, settings, 9)
        resumed.restore(held.groups["memory"], held.notes["random"])
        assert arrays_of(resumed) == arrays_of(whole)
        for learner in (whole, resumed):
            learner.run(until)
        assert arrays_of(resumed) == arrays_of(whole)
        assert resumed.counters() == whole.counters()
        write_memory(file, resumed)
    assert whole.counters()["steps"] == 400
    assert whole.counters()["goals"] > 0 or name not in PRESETS
    if name == "unseen dead ends" and domain == "rooms":
        assert places_of(whole, tasks, "dead_ends")


def write_memory(file: Path, learner: Rtdp) -> None:
    arrays, random_state = learner.memory()
    Checkpoint("x", {"random": random_state}, {"memory": arrays}).write(file)


def test_a_learner_forgets_what_it_did_before_it_is_restored(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, "blocks", (0, 1))
    settings = replace(PRESETS["own"], **SMALL, updates=200)
    first, other = Rtdp(tasks, settings, 1), Rtdp(tasks, settings, 2)
    first.run(60)
    other.run(120)
    other.restore(*first.memory())
    for until in (120, 200):
        assert arrays_of(other) == arrays_of(first)
        first.run(until)
        other.run(until)
    assert arrays_of(other) == arrays_of(first)


@pytest.mark.parametrize("preset", PRESETS)
def test_threads_do_not_change_a_byte(tmp_path: Path, preset: str) -> None:
    tasks = tasks_of(tmp_path, "blocks", (0, 1, 2))
    settings = replace(PRESETS[preset], **{**SMALL, "batch": 25, "updates": 150})
    found = []
    for threads in (1, 2):
        learner = Rtdp(tasks, settings, 4, threads)
        learner.run(150)
        found.append(arrays_of(learner))
    assert found[0] == found[1]
    other = Rtdp(tasks, settings, 5)
    other.run(150)
    assert arrays_of(other)["theta"] != found[0]["theta"]


def test_no_step_goes_beyond_the_last(tmp_path: Path) -> None:
    for preset in PRESETS:
        learner = Rtdp(
            tasks_of(tmp_path, "blocks", (0, 1)), replace(PRESETS[preset], **SMALL, updates=33), 0
        )
        learner.run(10)
        assert 10 <= learner.counters()["steps"] <= 33
        learner.run(1000)
        assert learner.counters()["steps"] == 33


@pytest.mark.parametrize("doors", ["sa as", "ga", "sa ab ac"])
@pytest.mark.parametrize("preset", PRESETS)
def test_learning_without_a_way_to_go_is_refused(tmp_path: Path, preset: str, doors: str) -> None:
    """The episodes would have no steps, and so never be enough."""
    names = " ".join(sorted({*doors.replace(" ", ""), "s", "g"}))
    init = " ".join(f"(door {a} {b}) (= (length {a} {b}) 1)" for a, b in doors.split())
    (tmp_path / "domain.pddl").write_text(ROOMS)
    (tmp_path / "p.pddl").write_text(
        f"(define (problem p) (:domain rooms) (:objects {names}) (:init (at s) {init} "
        "(= (total-cost) 0)) (:goal (at g)))"
    )
    task = load_task(tmp_path / "domain.pddl", tmp_path / "p.pddl", keep_irrelevant=True)
    learner = Rtdp([task], replace(PRESETS[preset], **SMALL), 0)
    with pytest.raises(ValueError, match="starts in a goal or in a dead end"):
        learner.run(10)


def test_limits_hold(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, "blocks", (0, 1))
    budget = Budget().within(1.0)
    learner = Rtdp(tasks, replace(PRESETS["paper"], updates=10**9), 0, 1, budget)
    with pytest.raises(OutOfResources, match="time"):
        learner.run(10**9)
    assert learner.counters()["steps"] > 0


def test_memories_of_others_are_refused(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, "blocks", (0, 1, 2))
    settings = replace(PRESETS["as-run"], **SMALL)
    learner = Rtdp(tasks, settings, 0)
    learner.run(50)
    arrays, random_state = learner.memory()
    before = arrays_of(learner)
    for name, wrong in (
        ("theta", arrays["theta"][:-1]),
        ("target", arrays["target"][:0]),
        ("lengths", arrays["lengths"] + 1000),
        ("lengths", arrays["lengths"] - 1000),
        ("lengths", arrays["lengths"][::-1].copy()),
        ("fresh", arrays["fresh"] + 1000),
        ("fresh", arrays["fresh"] - 1000),
        ("fresh", arrays["fresh"][:1]),
        ("states_problems", arrays["states_problems"] + 7),
        ("states_problems", arrays["states_problems"] - 7),
        ("states_values", arrays["states_values"][:-1]),
        ("states_values", arrays["states_values"] + 1000),
        ("upper", np.ones(len(arrays["upper"]) + 1, np.float32)),
        ("counters", arrays["counters"][:2]),
        ("sums", arrays["sums"][:1]),
    ):
        with pytest.raises(ValueError):
            learner.restore({**arrays, name: wrong}, random_state)
    assert arrays_of(learner) == before


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    for options, message in (
        *(({"gamma": wrong}, "gamma") for wrong in (1.0, 1.5, 0.0)),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"batch": 0}, "batch"),
        ({"batch": 50, "capacity": 49}, "cannot hold a batch"),
        ({"bounded": True, "reward": "goal"}, "bounded"),
        ({"learning_rate": 0.0}, "learning rate"),
        ({"learning_rate": float("nan")}, "learning rate"),
        ({"heuristic": "nonsense"}, "nonsense"),
        ({"lower": "nonsense"}, "nonsense"),
        ({"buckets": "two"}, "two"),
        ({"target_period": -1}, "target_period"),
        ({"least_states": -1}, "least_states"),
        *(({"average": wrong}, "average") for wrong in (1.0, -0.1, float("nan"))),
    ):
        with pytest.raises(ValueError, match=message):
            replace(RtdpSettings(), **options)
    with pytest.raises(ValueError, match="did you mean 'as-run'"):
        find_preset("as-rum")
    task, other = tasks_of(tmp_path, "blocks", (0, 1))
    of_other = make_heuristic(other, "ff").core
    settings = replace(PRESETS["paper"], **SMALL)
    learner = Rtdp([task], settings, 0)
    encoding, theta = ATOMS.native(learner.features, task), learner.weights()
    right = {
        "problems": [(task.core, encoding, None, None)],
        **{"buckets": [0], "shape": learner.network.shape()},
        **{"theta": theta, "settings": asdict(settings), "seed": 0, "threads": 1},
    }
    for change, message in (
        ({"buckets": [0, 1]}, "one bucket per problem"),
        ({"buckets": [-1]}, "numbered from 0"),
        ({"theta": theta[:-1]}, "theta must have"),
        ({"problems": [(task.core, encoding, of_other, None)]}, "for another task"),
        ({"problems": []}, "no problem"),
        *(
            ({"problems": [(task.core, {**encoding, name: wrong}, None, None)]}, "entr")
            for name, wrong in (
                ("fact_entries", encoding["fact_entries"][:-1]),
                ("fact_entries", encoding["fact_entries"] + 1000),
                ("num_objects", 1),
            )
        ),
    ):
        with pytest.raises(ValueError, match=message):
            _core.RtdpLearner(**{**right, **change})
    late = {"deadline": _core.monotonic_seconds() - 1}
    with pytest.raises(OutOfResources, match="out of time"), Budget().native():
        _core.RtdpLearner(**right, **late)
