"""The environment of gymnasium, against its checker and a walk by Task.successors."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from label_folders import write_folder
from program import python
from small_domains import ALL

from hstar import Task, load_task, make_heuristic
from hstar.training.reinforcement.gymnasium_environment import NAME, PlanEnvironment
from hstar.training.reinforcement.rtdp import POTENTIALS, REWARDS

GAMMAS = [0.9, 0.999999]
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=sorted(ALL))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Four small problems of a domain."""
    return write_folder(tmp_path / "problems", request.param)


def tasks_of(env: PlanEnvironment) -> list[Task]:
    return [load_task(path.parent / "domain.pddl", path) for path in env.problems]


def combinations() -> Iterator[dict[str, Any]]:
    for reward in REWARDS:
        for potential in POTENTIALS:
            for gamma in GAMMAS:
                yield {"reward": reward, "potential": potential, "gamma": gamma}


class Oracle:
    """An episode by the definitions: states of Task.successors, sums of powers of gamma."""

    def __init__(self, task: Task, reward: str, potential: str, gamma: float) -> None:
        self.task, self.reward, self.potential, self.gamma = task, reward, potential, gamma
        self.ff = make_heuristic(task, "ff", "one")
        self.state = task.initial_state

    def options(self) -> dict[str, Any]:
        """Names of the applicable operators, and the states they lead to."""
        found: dict[str, Any] = {}
        for op, after in zip(*self.task.successors(self.state), strict=True):
            name = self.task.operator_name(int(op))
            assert name not in found or (found[name] == after).all()
            found[name] = after
        return found

    def phi(self) -> float:
        if self.task.is_goal(self.state) or self.potential == "none":
            return 0.0
        h = float(self.ff.evaluate(self.state)[0])
        endless = 1 / (1 - self.gamma)
        if self.potential == "naive":
            return -min(h, endless)
        if math.isinf(h):
            return -endless
        return -math.fsum(self.gamma**step for step in range(int(h)))

    def step(self, name: str) -> tuple[float, float]:
        """The reward without and with shaping."""
        before = self.phi()
        self.state = self.options().get(name, self.state)
        is_goal = self.task.is_goal(self.state)
        plain = {"step": -1, "free-last": -1 + is_goal, "goal": 0 + is_goal}[self.reward]
        return plain, plain + self.gamma * self.phi() - before


@pytest.mark.parametrize("potential", POTENTIALS)
def test_the_checker_of_gymnasium_has_no_complaint(folder: Path, potential: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for problem in (folder / "p00.pddl", folder):
            env = gymnasium.make(NAME, problem=problem, potential=potential, render_mode="ansi")
            check_env(env.unwrapped)


def test_episodes_are_those_of_the_task(folder: Path) -> None:
    """Applicable actions most of the time, any action now and then."""
    rng = np.random.default_rng(1)
    ends = 0
    for settings in combinations():
        env = PlanEnvironment(folder, max_steps=30, **settings)
        tasks = tasks_of(env)
        for number, task in enumerate(tasks):
            seen, info = env.reset(options={"problem": number})
            oracle, over = Oracle(task, **settings), False
            phi_of_start, plain_return, shaped_return, discount = oracle.phi(), 0.0, 0.0, 1.0
            if task.is_goal(oracle.state):
                continue
            initial = {f"{name}({', '.join(objects)})" for name, *objects in task.problem.init}
            untracked = initial & set(env.atoms) - set(task.core.positive_atoms())
            while not over:
                options = oracle.options()
                mask = info["action_mask"]
                assert {env.actions[a] for a in np.flatnonzero(mask)} == set(options)
                assert (env.action_masks() == mask.astype(bool)).all()
                true = {env.atoms[i] for i in np.flatnonzero(seen[: len(env.atoms)])}
                assert true == set(task.atoms(oracle.state)) | untracked
                chosen = mask if rng.random() < 0.8 else np.ones_like(mask)
                action = rng.choice(np.flatnonzero(chosen))
                seen, reward, terminated, truncated, info = env.step(action)
                plain, shaped = oracle.step(env.actions[action])
                assert info["unshaped_reward"] == plain
                assert reward == pytest.approx(shaped, rel=1e-9, abs=1e-9)
                assert info["is_applicable"] == (env.actions[action] in options)
                assert info["is_goal"] == task.is_goal(oracle.state)
                assert terminated == (info["is_goal"] or info["is_dead_end"])
                plain_return += discount * plain
                shaped_return += discount * reward
                discount *= settings["gamma"]
                over = terminated or truncated
            expected = plain_return + discount * oracle.phi() - phi_of_start
            assert shaped_return == pytest.approx(expected, rel=1e-9, abs=1e-7)
            ends += terminated
    assert ends, "no walk reached a goal"


def test_problems_share_the_numbers_of_equal_actions_and_atoms(folder: Path) -> None:
    env = PlanEnvironment(folder)
    tasks = tasks_of(env)
    assert len(set(env.actions)) == len(env.actions) == env.action_space.n  # type: ignore
    names = {task.operator_name(op) for task in tasks for op in range(task.num_operators)}
    assert set(env.actions) == names
    alone = PlanEnvironment(folder / "p00.pddl")
    assert env.actions[: len(alone.actions)] == alone.actions
    assert env.atoms[: len(alone.atoms)] == alone.atoms


def episodes(env: Any, seed: int) -> list[Any]:
    """What a random agent sees."""
    seen: list[Any] = []
    env.action_space.seed(seed)
    for episode in range(6):
        observation, info = env.reset(seed=seed if episode == 0 else None)
        over = False
        while not over:
            seen.append((info["problem"], observation.tobytes()))
            action = env.action_space.sample(info["action_mask"])
            observation, reward, terminated, truncated, info = env.step(action)
            seen.append(reward)
            over = terminated or truncated
    return seen


def test_the_seed_decides_everything(folder: Path) -> None:
    first, second = (gymnasium.make(NAME, problem=folder, max_steps=20) for _ in range(2))
    assert episodes(first, 3) == episodes(second, 3) == episodes(first, 3)
    drawn = {first.reset(seed=seed)[1]["problem"] for seed in range(60)}
    assert drawn == {0, 1, 2, 3}


def test_a_list_of_files_and_a_domain_elsewhere(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "ferry")
    (tmp_path / "above").mkdir()
    domain = (folder / "domain.pddl").rename(tmp_path / "above" / "ferry.pddl")
    files = [folder / "p01.pddl", str(folder / "p03.pddl")]
    env = PlanEnvironment(files, domain)
    assert env.problems == [folder / "p01.pddl", folder / "p03.pddl"]
    assert PlanEnvironment(folder, domain).problems == sorted(folder.glob("p*.pddl"))
    domain.rename(tmp_path / "domain.pddl")  # above the problems: found without being named
    assert len(PlanEnvironment(folder).problems) == 4


def test_limits_of_steps(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "blocks")
    for limits in ({"max_steps": 3}, {"max_episode_steps": 3}):
        env: Any = gymnasium.make(NAME, problem=folder, **limits)
        for _ in range(2):
            _, info = env.reset(options={"problem": 1})
            action = int(np.flatnonzero(info["action_mask"] == 0)[0])
            ends = [env.step(action)[2:4] for _ in range(3)]
            assert ends == [(False, False), (False, False), (False, True)]


def run(program: str) -> str:
    return python(program, cwd=ROOT)


def test_make_imports_the_module_that_its_name_begins_with() -> None:
    module, problem = PlanEnvironment.__module__, "tests/data/strips/problem.pddl"
    made = f"gymnasium.make('{module}:{NAME}', problem='{problem}')"
    assert "PlanEnvironment" in run(f"import gymnasium; print({made})")


def test_without_gymnasium_the_message_says_what_to_install() -> None:
    program = f"""
import sys
sys.modules["gymnasium"] = None
try:
    import {PlanEnvironment.__module__}
except ImportError as error:
    print(error)
"""
    said = "gymnasium is not installed; run in a checkout of hstar: pip install '.[gym]'\n"
    assert run(program) == said


def test_maskable_ppo_trains_a_thousand_steps(tmp_path: Path, one_thread: None) -> None:
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import get_action_masks

    folder = write_folder(tmp_path / "problems", "gripper")
    env: Any = gymnasium.make(NAME, problem=folder, gamma=0.99, max_steps=50)
    learner = MaskablePPO("MlpPolicy", env, gamma=0.99, n_steps=250, batch_size=50, seed=1)
    weights = [w.detach().clone() for w in learner.policy.parameters()]
    learner.learn(1000)
    assert learner.num_timesteps == 1000
    assert any(
        (w != old).any() for w, old in zip(learner.policy.parameters(), weights, strict=True)
    )
    observation, _ = env.reset(seed=1)
    for _ in range(20):
        action, _ = learner.predict(observation, action_masks=get_action_masks(env))
        observation, _, terminated, _, info = env.step(action)
        assert info["is_applicable"]
        if terminated:
            break


def test_the_example_of_the_documentation() -> None:
    page = (ROOT / "docs" / "learning.md").read_text()
    section = page.partition("## A gymnasium environment\n")[2]
    blocks = re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    assert float(run(blocks[0])) < 0
