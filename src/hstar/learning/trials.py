"""Short searches that show what a heuristic is worth: solved states and seconds, not a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.goals import satisfies_goal
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.result import EXIT_CODES, NOTICEABLE
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task
from hstar.runtime.resources import Budget, OutOfResources

WALK_STEPS = 200
SIGNALS = ("interrupted", "terminated")


@dataclass(frozen=True, slots=True)
class Trial:
    """One search: whether it found a plan, how long it took, and what the plan costs."""

    solved: bool
    seconds: float
    cost: float | None = None  # unknown, or there is no plan


@dataclass(frozen=True, slots=True)
class Score:
    """Trials of one way to search, from the same states as those of its rivals. Where `tried` is
    less than all, the rest was given up because it could no longer win; it counts as failed."""

    trials: tuple[Trial, ...]
    tried: int | None = None

    @property
    def solved(self) -> int:
        return sum(trial.solved for trial in self.trials)

    @property
    def seconds(self) -> float:
        """Per trial; one that failed counts with the time it was given."""
        return sum(trial.seconds for trial in self.trials) / max(1, len(self.trials))

    def beats(self, other: Score) -> bool:
        """More solved states, or as many in less time, but at least one."""
        if self.solved != other.solved:
            return self.solved > other.solved
        return self.solved > 0 and self.seconds < other.seconds

    def clearly_beats(self, other: Score) -> bool:
        """As `beats`, by more than the noise of a clock."""
        is_faster = NOTICEABLE * self.seconds < other.seconds
        return self.beats(other) and (self.solved > other.solved or is_faster)

    def cost_ratio(self, other: Score) -> float | None:
        """What plans cost, as a multiple of the other's: the geometric mean over trials in which
        both have one. None without any."""
        pairs = zip(self.trials, other.trials, strict=False)
        logs = [math.log(one.cost / two.cost) for one, two in pairs if one.cost and two.cost]
        return math.exp(sum(logs) / len(logs)) if logs else None

    def text(self, unit: str = "s") -> str:
        """`unit` is what `seconds` count."""
        if not self.trials:
            return "there is no state to try"
        if self.tried is not None and self.tried < len(self.trials):
            return f"stopped after {self.tried} of {len(self.trials)}, too far behind"
        each = f"{self.seconds:.2g}" if unit == "s" else f"{self.seconds:,.0f}"
        return f"{self.solved}/{len(self.trials)} in {each} {unit} each"


def trial_states(
    task: Task, count: int, seed: int, budget: Budget, but: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Distinct states int32[n, V] at the ends of random walks, n at most `count`.

    The initial state, goals and the states `but` are not among them.
    """
    with budget.native():
        found = _core.random_walks(task.core, 4 * count, WALK_STEPS, seed, *budget.limits)
    kept: dict[bytes, NDArray[np.int32]] = {}
    left_out = {task.initial_state.tobytes()}
    if but is not None:
        left_out |= {state.tobytes() for state in but}
    for state in found:
        if state.tobytes() not in left_out and not satisfies_goal(task, state):
            kept.setdefault(state.tobytes(), state)
    chosen = list(kept.values())[:count]
    return np.array(chosen, np.int32).reshape(len(chosen), task.num_variables)


def run_trials(
    task: Task,
    states: NDArray[np.int32],
    options: SearchSpecification,
    seconds: float,
    budget: Budget,
    least: Score | None = None,
) -> Score:
    """Search from each state for at most `seconds`.

    It stops as soon as the score can no longer beat `least`, or when the budget is spent. Raises
    OutOfResources for signals.
    """
    settings = options.for_core(task)
    needed = [*options.heuristics, *options.advisers]
    bound = [bind_heuristic(h, task, options.value("cost"), budget) for h in needed]
    trials: list[Trial] = []
    for number, state in enumerate(states):
        if least is not None and _is_lost(trials, len(states) - number, least):
            break
        start = _core.monotonic_seconds()
        deadline = start + seconds
        with budget.native():
            if budget.deadline and budget.deadline < deadline:
                deadline = budget.deadline
            found = _core.search(
                task.core, state[None], bound, settings, deadline, budget.memory_bytes
            )
        budget_left = not budget.deadline or _core.monotonic_seconds() < budget.deadline
        if found["status"] in SIGNALS:
            raise OutOfResources(found["status"], EXIT_CODES[found["status"]])
        solved = found["status"] == "solved"
        took = _core.monotonic_seconds() - start
        if not solved and not budget_left:
            break
        cost = float(found["plan_cost"]) if solved else None
        trials.append(Trial(solved, took if solved else max(took, seconds), cost))
    missing = len(states) - len(trials)
    return Score((*trials, *[Trial(False, seconds)] * missing), len(trials))


def _is_lost(trials: Sequence[Trial], remaining: int, least: Score) -> bool:
    solved = sum(trial.solved for trial in trials) + remaining
    if solved != least.solved:
        return solved < least.solved
    return sum(trial.seconds for trial in trials) > least.seconds * len(least.trials)


def sentence(learned: Score | None, default: Score, unit: str = "s") -> str:
    """Which of the two to use, and why. `learned` is None if no network was trained."""
    keep = "keep the default, because"
    if learned is None:
        return f"default planner {default.text(unit)}: {keep} no network was trained in time"
    if not default.trials:
        return f"{keep} they end only in goals or in the initial state, so nothing was tried"
    both = f"learned {learned.text(unit)}, default planner {default.text(unit)}"
    ratio = learned.cost_ratio(default)
    if ratio is not None:
        both += f", plans cost {ratio:.2f} times the default's"
    if learned.clearly_beats(default):
        return f"{both}: use it"
    return f"{both}: {keep} {_why_not(learned, default)}"


def _why_not(learned: Score, default: Score) -> str:
    """Why one that does not beat the default planner does not."""
    if learned.solved != default.solved:
        return "learning solves fewer"
    if not learned.solved:
        return "neither solves any"
    ratio = learned.seconds / max(default.seconds, 1e-9)
    if ratio < NOTICEABLE:
        return "learning solves as many, and is not noticeably faster"
    return f"learning solves as many, but takes {ratio:.2g} times as long"
