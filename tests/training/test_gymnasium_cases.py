"""Special problems, wrong settings and wrong calls of the environment of gymnasium."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hard_tasks import write_task
from label_folders import write_folder

from hstar import PddlError, load_task
from hstar.slots.teachers.folder import ProblemFolderError
from hstar.training.reinforcement.gymnasium_environment import NAME, PlanEnvironment
from hstar.training.reinforcement.rtdp import POTENTIALS, REWARDS

# To light a lamp burns the fuse; there is one spare fuse. Two ways to get at it make two operators.
LAMPS = """(define (domain lamps) (:requirements :adl)
(:constants c)
(:predicates (lit ?x) (fuse) (spare) (drawer) (shelf) (clean))
(:action press :parameters (?x) :precondition (fuse) :effect (and (lit ?x) (not (fuse))))
(:action replace :parameters ()
  :precondition (and (spare) (not (fuse)) (or (drawer) (shelf)))
  :effect (and (fuse) (not (spare))))
(:action close :parameters () :precondition (drawer) :effect (and (shelf) (not (drawer))))
(:action wash :parameters () :effect (clean))
(:action reach-goal :parameters () :precondition (fuse) :effect (lit c)))
"""
FULL = "(fuse) (spare) (drawer) (shelf)"


def lamps(goal: str, init: str = FULL) -> str:
    head = "(define (problem lamps) (:domain lamps) (:objects a b d)"
    return f"{head}\n(:init {init})\n(:goal {goal}))\n"


def lamp_environment(folder: Path, goal: str, init: str = FULL, **options: Any) -> Any:
    return PlanEnvironment(write_task(folder, LAMPS, lamps(goal, init))[1], **options)


def act(env: Any, name: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    return env.step(env.actions.index(name))


def test_goals_that_differ_are_part_of_the_observation(tmp_path: Path) -> None:
    write_task(tmp_path, LAMPS, lamps("(and (clean) (lit b))"))
    (tmp_path / "second.pddl").write_text(lamps("(and (lit a) (clean))"))
    env = PlanEnvironment(tmp_path)
    assert env.goals == ["lit(b)", "lit(a)"]
    first, second = (env.reset(options={"problem": number})[0] for number in (0, 1))
    assert list(first[-2:]) == [1, 0] and list(second[-2:]) == [0, 1]
    assert (first[:-2] == second[:-2]).all()
    alone = PlanEnvironment(tmp_path / "problem.pddl")
    assert alone.goals == [] and alone.observation_space.shape == (len(alone.atoms),)


def test_an_atom_that_one_problem_tracks_and_another_keeps(tmp_path: Path) -> None:
    """Nothing ever deletes shelf(), so a problem in which it holds at the start drops it."""
    goal = "(and (lit a) (lit b))"
    write_task(tmp_path, LAMPS, lamps(goal, "(fuse) (spare) (drawer)"))
    (tmp_path / "second.pddl").write_text(lamps(goal, "(fuse) (spare) (shelf)"))
    env = PlanEnvironment(tmp_path)
    shelf = env.atoms.index("shelf()")
    assert [env.reset(options={"problem": number})[0][shelf] for number in (0, 1)] == [0, 1]


def test_a_goal_that_mutexes_exclude_is_a_dead_end(tmp_path: Path) -> None:
    env = lamp_environment(tmp_path, "(and (drawer) (shelf))", "(drawer)", potential="none")
    _, info = env.reset()
    assert info["is_dead_end"] and info["action_mask"].any()


def test_render_and_several_environments_at_once(tmp_path: Path) -> None:
    env = lamp_environment(tmp_path, "(and (lit a) (lit b))", render_mode="ansi")
    env.reset()
    act(env, "(press a)")
    assert {"spare()", "lit(a)"} <= set(env.render().splitlines())
    assert "fuse()" not in env.render()
    silent = PlanEnvironment(tmp_path / "problem.pddl")
    silent.reset()
    assert silent.render() is None
    both = gymnasium.make_vec(NAME, num_envs=2, problem=tmp_path / "problem.pddl")
    both.reset(seed=1)
    _, rewards, *_, infos = both.step(np.array([0, 0]))
    assert rewards[0] == rewards[1] and infos["action_mask"].shape == (2, len(env.actions))


def test_one_action_per_ground_action(tmp_path: Path) -> None:
    """The core has several operators for a disjunctive precondition, and one per case of a
    disjunctive goal, called as the action here; only the latter are no actions."""
    env = lamp_environment(tmp_path, "(or (and (lit a) (lit b)) (lit c))")
    task = load_task(tmp_path / "domain.pddl", tmp_path / "problem.pddl")
    names = [task.operator_name(op) for op in range(task.num_operators)]
    assert names.count("(replace)") == 2 and names.count("(reach-goal)") == 3
    assert sorted(env.actions) == sorted(set(names))
    env.reset()
    _, reward, terminated, _, info = act(env, "(reach-goal)")
    assert terminated and info["is_goal"] and reward == pytest.approx(0)  # -1 + h^FF of 1
    env.reset()
    act(env, "(press a)")
    act(env, "(replace)")
    _, _, terminated, _, info = act(env, "(press b)")
    assert terminated and info["is_goal"]


def waste_both_fuses(env: Any) -> tuple[float, bool, dict[str, Any]]:
    env.reset()
    act(env, "(press a)")
    act(env, "(replace)")
    _, reward, terminated, truncated, info = act(env, "(press a)")
    assert not truncated and not info["is_goal"]
    return reward, terminated, info


@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_dead_end_without_applicable_action(tmp_path: Path, potential: str) -> None:
    init = "(fuse) (spare) (shelf)"
    env = lamp_environment(tmp_path, "(and (lit a) (lit b))", init, gamma=0.9, potential=potential)
    reward, terminated, info = waste_both_fuses(env)
    assert terminated and info["is_dead_end"] and not info["action_mask"].any()
    assert reward == pytest.approx(-1 if potential == "none" else -1 + 0.9 * -10 + 1)
    with pytest.raises(ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_dead_end_that_only_the_heuristic_sees(tmp_path: Path, potential: str) -> None:
    env = lamp_environment(tmp_path, "(and (lit a) (lit b) (clean))", potential=potential)
    _, terminated, info = waste_both_fuses(env)
    assert terminated == info["is_dead_end"] == (potential != "none")
    assert info["action_mask"].any()


def test_an_unsolvable_problem_ends_in_dead_ends(tmp_path: Path) -> None:
    env = lamp_environment(tmp_path, "(and (lit a) (lit b) (lit d))")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        terminated = False
        while not terminated:
            _, _, terminated, truncated, info = env.step(env.action_space.sample())
            assert not truncated
        assert info["is_dead_end"]


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_an_episode_that_starts_at_its_end(tmp_path: Path, reward: str, potential: str) -> None:
    """Whatever the action, the first step ends it and changes nothing."""
    write_task(tmp_path, LAMPS, lamps("(fuse)"))
    (tmp_path / "second.pddl").write_text(lamps("(lit a)", init=""))
    env: Any = PlanEnvironment(tmp_path, reward=reward, potential=potential, gamma=0.9)
    lost = -1 + (0.0 if potential == "none" else (1 - 0.9) * 10)
    for number, is_goal, earned in ((0, True, 0.0), (1, False, lost + (reward == "goal"))):
        for action in range(len(env.actions)):
            before, info = env.reset(options={"problem": number})
            assert (info["is_goal"], info["is_dead_end"]) == (is_goal, not is_goal)
            after, found, terminated, truncated, info = env.step(action)
            assert (before == after).all() and found == pytest.approx(earned)
            assert (info["is_goal"], info["is_dead_end"]) == (is_goal, not is_goal)
            assert terminated and not truncated


def test_an_own_heuristic(tmp_path: Path) -> None:
    goal = "(and (lit a) (lit b))"
    env = lamp_environment(tmp_path, goal, gamma=0.5, heuristic=lambda states: [2.0] * len(states))
    env.reset()
    assert act(env, "(press a)")[1] == pytest.approx(-1 - 0.5 * 1.5 + 1.5)
    env = lamp_environment(tmp_path, goal, heuristic=lambda states: [math.nan] * len(states))
    with pytest.raises(ValueError, match="the heuristic 'your function' returned NaN"):
        env.reset()


def test_a_call_at_the_wrong_time(tmp_path: Path) -> None:
    env = lamp_environment(tmp_path, "(lit a)", render_mode="ansi")
    for call in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(ResetNeeded, match="call reset"):
            call()
    env.reset()
    for action in (-1, len(env.actions), 0.5, None):
        with pytest.raises(ValueError, match=f"they are 0 to {len(env.actions) - 1}"):
            env.step(action)
    with pytest.raises(ValueError, match="there is no problem 1; the last is 0"):
        env.reset(options={"problem": 1})
    with pytest.raises(ValueError, match="no option 'start'"):
        env.reset(options={"start": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 1.0}, "gamma must be above 0 and below 1, not 1.0"),
        ({"gamma": 0}, "gamma must be above 0"),
        ({"reward": "cost"}, "unknown reward 'cost'; choose one of step, free-last, goal"),
        ({"potential": "ff"}, "unknown potential 'ff'; choose one of none, naive, discounted"),
        ({"heuristic": "fff"}, "unknown heuristic 'fff'"),
        ({"heuristic": 3}, "3 is no heuristic"),
        ({"max_steps": 0}, "max_steps must be a whole number above 0, not 0"),
        ({"max_steps": 2.5}, "max_steps must be a whole number above 0, not 2.5"),
        ({"render_mode": "human"}, "no render mode is called 'human'; there is: ansi"),
    ],
)
def test_wrong_settings(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        lamp_environment(tmp_path, "(lit a)", **options)


def test_wrong_problems(tmp_path: Path) -> None:
    for goal in ("(and)", "(and (lit a) (not (lit a)))"):
        with pytest.raises(ValueError, match=r"problem\.pddl: no action can help to reach"):
            lamp_environment(tmp_path, goal)
    with pytest.raises(ValueError, match="the list of problems is empty"):
        PlanEnvironment([])
    with pytest.raises(PddlError, match="there is no such file"):
        PlanEnvironment(tmp_path / "missing.pddl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProblemFolderError, match="no problem files"):
        PlanEnvironment(tmp_path / "empty")
    ferry = write_folder(tmp_path / "ferry", "ferry")
    with pytest.raises(ProblemFolderError, match="use one domain at a time"):
        PlanEnvironment([ferry / "p00.pddl", tmp_path / "problem.pddl"])
    (ferry / "domain.pddl").rename(ferry / "domain_p00.pddl")
    (ferry / "domain-p01.pddl").write_text(LAMPS)
    with pytest.raises(ProblemFolderError, match="use one domain at a time"):
        PlanEnvironment(ferry)
