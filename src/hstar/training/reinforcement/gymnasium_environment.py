"""Planning problems as an environment of gymnasium, "hstar/Plan-v0".

    import gymnasium
    import hstar.training.reinforcement.gymnasium_environment  # registers the environment

    env = gymnasium.make("hstar/Plan-v0", problem="problems/train", gamma=0.99)

An action is a ground action of PDDL; actions[i] is its name. As in planning, actions that cannot
help to reach the goal or that do the same as another are left out. An observation is a vector of 0
and 1: one entry per atom that an action can change (`atoms`), 1 where it is true, then one entry
per goal that some of the problems have and others have not (`goals`). Problems share the entries of
atoms and actions with the same name. In a problem that does not track such an atom, its entry is
always its initial value; an action that a problem does not have is never applicable there.
Artificial operators, with which the core handles disjunctive goals, are no actions: a state in
which one is applicable is a goal.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.pddl.locate import find_problems
from hstar.planning.heuristics import AnyHeuristic, bind_heuristic, make_heuristic
from hstar.planning.task import Task, load_task
from hstar.runtime.resources import Budget
from hstar.slots.features.digits import first_rows
from hstar.slots.features.facts import fact_rows
from hstar.slots.teachers.folder import ProblemFolderError, common_domain
from hstar.training.reinforcement.rtdp import REWARDS, Shaping

try:
    import gymnasium
    from gymnasium.error import ResetNeeded
    from gymnasium.spaces import Discrete, MultiBinary
except ImportError as error:
    advice = "run in a checkout of hstar: pip install '.[gym]'"
    raise ImportError(f"gymnasium is not installed; {advice}") from error

NAME = "hstar/Plan-v0"
NO_EPISODE = "no episode is under way; call reset() first"

AnyPath = str | os.PathLike[str]
Observation = NDArray[np.int8]
State = NDArray[np.int32]


@dataclass(frozen=True)
class _Problem:
    task: Task
    heuristic: Any  # bound to the task, or None
    action_of: NDArray[np.int64]  # per operator; -1: artificial
    entry_of: NDArray[np.int32]  # per fact; -1: no atom
    first_fact: NDArray[np.int64]  # per variable
    constant: Observation  # the entries that are the same in all states


@dataclass(frozen=True)
class _Situation:
    """A state, and what the environment has computed for it."""

    state: State
    successors: dict[int, State]  # per applicable action
    is_goal: bool
    is_dead_end: bool
    phi: float

    @property
    def is_end(self) -> bool:
        return self.is_goal or self.is_dead_end


class PlanEnvironment(gymnasium.Env[Observation, np.int64]):
    """Walk through the states of a problem until its goal or a dead end.

    `problem` is a file, several files, or a folder of problems. With several, each reset draws one;
    reset(options={"problem": 2}) chooses. All have one domain; it is looked for where `hstar plan`
    looks, unless `domain` names its file.

    A step earns `reward` (see REWARDS) plus gamma phi(s') - phi(s), where phi is the `potential`
    (see POTENTIALS) of the heuristic, which counts steps, not costs. An action that is not
    applicable changes nothing, and earns what any other step does that misses the goal. A state is
    a dead end if no action is applicable or if its heuristic value is infinite; the latter is
    not seen with the potential "none", which needs no heuristic. An episode that starts at a goal
    or at a dead end ends with its first step, which changes nothing; at a goal it earns 0.

    After `max_steps` steps an episode is truncated.

    info holds action_mask (int8, 1 = applicable), is_applicable (of the last action), is_goal,
    is_dead_end, unshaped_reward, and the number of the problem.

    Raises ValueError, PddlError and ProblemFolderError.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        problem: AnyPath | Iterable[AnyPath],
        domain: AnyPath | None = None,
        *,
        reward: str = "step",
        potential: str = "discounted",
        heuristic: AnyHeuristic = "ff",
        gamma: float = 0.999999,
        max_steps: int = 1000,
        render_mode: str | None = None,
    ) -> None:
        self.shaping = Shaping(gamma, reward, potential)
        if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
            raise ValueError(f"max_steps must be a whole number above 0, not {max_steps!r}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"no render mode is called {render_mode!r}; there is: ansi")
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.problems = _find_files(problem)
        domain = domain or common_domain(self.problems)
        tasks = [load_task(domain, path) for path in self.problems]
        self.actions = _merge(_action_names(task).values() for task in tasks)
        self.atoms = _merge(filter(None, task.core.positive_atoms()) for task in tasks)
        if not self.actions:
            raise ValueError(
                f"{self.problems[0]}: no action can help to reach the goal, because it holds "
                "already or is impossible, so there is nothing to choose"
            )
        goals = [set(_goal_names(task)) for task in tasks]
        shared = set.intersection(*goals)
        self.goals = [name for name in _merge(map(_goal_names, tasks)) if name not in shared]
        self._problems = [self._prepare(task, heuristic) for task in tasks]
        self.action_space = Discrete(len(self.actions))
        self.observation_space = MultiBinary(len(self.atoms) + len(self.goals))
        self._number = self._steps = 0
        self._reached: _Situation | None = None
        self._is_over = True

    @property
    def _here(self) -> _Situation:
        if self._reached is None:
            raise ResetNeeded(NO_EPISODE)
        return self._reached

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        options = options or {}
        if unknown := sorted(set(options) - {"problem"}):
            raise ValueError(f"reset has no option {unknown[0]!r}; its only option is 'problem'")
        count = len(self._problems)
        if "problem" in options:
            self._number = operator.index(options["problem"])
            if not 0 <= self._number < count:
                raise ValueError(f"there is no problem {self._number}; the last is {count - 1}")
        else:
            self._number = int(self.np_random.integers(count))
        self._reached = self._visit(self._problems[self._number].task.initial_state)
        self._steps = 0
        self._is_over = False
        return self._observe(), self._info(is_applicable=True, unshaped_reward=0.0)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        before = self._here
        if self._is_over:
            raise ResetNeeded(NO_EPISODE)
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is no action; they are 0 to {len(self.actions) - 1}")
        here, after = before, before.successors.get(int(action))
        unshaped = shaped = 0.0
        if after is not None and not before.is_end:
            here = self._reached = self._visit(after)
        if not before.is_goal:
            unshaped = REWARDS[self.shaping.reward][here.is_goal]
            shaped = unshaped + self.shaping.gamma * here.phi - before.phi
        self._steps += 1
        self._is_over = here.is_end
        is_truncated = not self._is_over and self._steps >= self.max_steps
        info = self._info(is_applicable=after is not None, unshaped_reward=unshaped)
        return self._observe(), shaped, self._is_over, is_truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are applicable, under the name that MaskablePPO of sb3-contrib expects."""
        mask = np.zeros(len(self.actions), dtype=np.bool_)
        mask[list(self._here.successors)] = True
        return mask

    def render(self) -> str | None:
        """In the mode "ansi" the true atoms, one per line."""
        if self.render_mode is None:
            return None
        return "\n".join(self._problems[self._number].task.atoms(self._here.state))

    def _prepare(self, task: Task, heuristic: AnyHeuristic) -> _Problem:
        bound = None
        if self.shaping.potential != "none":
            with Budget().native():
                bound = bind_heuristic(heuristic, task, "one")
        number = {name: action for action, name in enumerate(self.actions)}
        action_of = np.full(task.num_operators, -1, dtype=np.int64)
        for op, name in _action_names(task).items():
            action_of[op] = number[name]
        entry_of, always_true = map(np.asarray, fact_rows({"atoms": self.atoms}, task))
        constant = np.zeros(len(self.atoms) + len(self.goals), dtype=np.int8)
        constant[always_true] = 1
        held = set(_goal_names(task))
        constant[len(self.atoms) :] = [goal in held for goal in self.goals]
        return _Problem(task, bound, action_of, entry_of, first_rows(task.domain_sizes), constant)

    def _visit(self, state: State) -> _Situation:
        problem = self._problems[self._number]
        operators, states = problem.task.successors(state)
        actions = problem.action_of[operators]
        is_goal = problem.task.is_goal(state) or bool((actions < 0).any())
        successors = {
            int(action): after for action, after in zip(actions, states, strict=True) if action >= 0
        }
        h = 0.0
        if not is_goal and (not successors or problem.task.goal_is_false):
            h = math.inf
        elif not is_goal and problem.heuristic is not None:
            h = float(make_heuristic(problem.task, problem.heuristic).evaluate(state)[0])
            if h < 0:
                raise ValueError(f"the heuristic gave {h} for a state; it must be 0 or more")
        return _Situation(state, successors, is_goal, math.isinf(h), float(self.shaping.phi(h)))

    def _observe(self) -> Observation:
        problem = self._problems[self._number]
        observation = problem.constant.copy()
        entries = problem.entry_of[problem.first_fact + self._here.state]
        observation[entries[entries >= 0]] = 1
        return observation

    def _info(self, is_applicable: bool, unshaped_reward: float) -> dict[str, Any]:
        return {
            "action_mask": self.action_masks().astype(np.int8),
            "is_applicable": is_applicable,
            "is_goal": self._here.is_goal,
            "is_dead_end": self._here.is_dead_end,
            "unshaped_reward": unshaped_reward,
            "problem": self._number,
        }


def _find_files(problem: AnyPath | Iterable[AnyPath]) -> list[Path]:
    if not isinstance(problem, str | os.PathLike):
        files = [Path(path) for path in problem]
        if not files:
            raise ValueError("the list of problems is empty; name at least one file")
        return files
    if not Path(problem).is_dir():
        return [Path(problem)]
    if files := find_problems(Path(problem)):
        return files
    raise ProblemFolderError("there are no problem files (*.pddl) in this folder", str(problem))


def _action_names(task: Task) -> dict[int, str]:
    """Per operator that is not artificial the name of its action. A disjunctive precondition makes
    several operators of one action; where several are applicable, all lead to the same state."""
    operators = range(task.num_operators)
    return {op: task.operator_name(op) for op in operators if not task.core.is_artificial(op)}


def _goal_names(task: Task) -> list[str]:
    return [] if task.goal_is_false else [task.fact_name(*fact) for fact in task.goal]


def _merge(groups: Iterable[Iterable[str]]) -> list[str]:
    """All names without repetition, in the order in which they first occur."""
    return list(dict.fromkeys(name for group in groups for name in group))


gymnasium.register(NAME, entry_point=f"{__name__}:{PlanEnvironment.__name__}")
