"""The fit "rtdp": reinforcement learning, which makes its own states.

Episodes on training problems train a network (training/reinforcement). Now and then it searches on
other problems with a limit of evaluations, and the weights that need the fewest are kept. Unions of
problems stand for larger ones: some of two problems are learned from, and others of two and four
help to choose weights. All depends on steps, not on seconds: a run that was stopped and resumed
ends like one that was not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.pddl.union import union
from hstar.planning.heuristics import is_dead_end
from hstar.planning.search import run as run_search
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.features.atoms import ATOMS
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile
from hstar.training.checkpoint import Checkpoint, CheckpointError
from hstar.training.fit import Fit, Lesson, Limits, ModelRow
from hstar.training.fit.named_options import with_options
from hstar.training.reinforcement.rtdp import Rtdp, RtdpSettings, find_preset

PIECE = 100  # steps between two reports
FIRST_CHOICE, CHOOSE_EVERY = 250, 2000  # steps; after the first, intervals double up to the second
UNIONS_OF_CHOICE = {2: 8, 4: 8}  # parts -> unions of problems to choose weights by
MOST_EVALUATIONS = 2000  # of a search that judges weights, for each part of its problem
MOST_OBJECTS = 100  # the work on a state grows with the square


@dataclass(frozen=True, slots=True)
class ActingLine:
    """What happened since the line before, and what the weights are worth on held-out problems:
    how many were solved, and the geometric mean of evaluations."""

    step: int
    episodes: int
    goals: int
    mean_return: float
    loss: float
    solved: int
    evaluations: float

    def text(self, held_out: int) -> str:
        share = self.goals / max(1, self.episodes)
        return (
            f"step {self.step}: {share:.0%} of {self.episodes} episodes reach the goal, "
            f"return {self.mean_return:.2f}, loss {self.loss:.3g}; "
            f"held-out {self.solved}/{held_out}, {self.evaluations:.0f} evaluations"
        )


class ActingLearner:
    """Learns until the budget ends, or for as many steps as the settings say. With a checkpoint
    file it goes on from there."""

    def __init__(self, lesson: Lesson, settings: RtdpSettings, limits: Limits) -> None:
        self.settings, self.limits, self.seed = settings, limits, limits.seed
        self.budget, self.say = limits.budget, limits.say
        self.tasks = list(lesson.tasks)
        unions = draw_unions(self.tasks, 2, settings.unions, self.seed, self.budget)
        self.rtdp = Rtdp(self.tasks, settings, self.seed, limits.threads, self.budget, unions)
        self.choice = [(task, MOST_EVALUATIONS) for task in lesson.others]
        for parts, count in UNIONS_OF_CHOICE.items() if settings.unions else ():
            larger = draw_unions(lesson.others, parts, count, self.seed, self.budget)
            self.choice += [(task, parts * MOST_EVALUATIONS) for task in larger]
        for warning in ATOMS.warnings(self.rtdp.features):
            self.say(warning)
        unions_text = f" and {len(unions)} unions of two" if unions else ""
        self.say(f"reinforcement learning on {len(self.tasks)} problems{unions_text}")
        self.curve: list[ActingLine] = []
        self.best: NDArray[np.float32] | None = None
        self._last = dict.fromkeys(self.rtdp.counters(), 0.0)  # counters at the line before
        held = Checkpoint.read(limits.checkpoint, limits.fingerprint)
        if held is not None:
            self._restore(held)

    def run(self) -> ModelFile | None:
        """The best weights. Raises OutOfResources for signals, and for memory before there were
        any."""
        try:
            self._learn()
        except (KeyboardInterrupt, OutOfResources) as error:
            status = error.status if isinstance(error, OutOfResources) else "interrupted"
            file = self._file()
            if status == "out of time" or (status == "out of memory" and file is not None):
                return file
            if file is not None:
                self.limits.keep(file)
            raise
        return self._file()

    def _learn(self) -> None:
        if self.best is None:  # the weights at the start may be the best ones
            self._note()
        while (step := self.steps) < self.settings.updates:
            before = _core.monotonic_seconds()
            self.rtdp.run(step - step % PIECE + PIECE)
            done = self.steps
            speed = (done - step) / max(1e-9, _core.monotonic_seconds() - before)
            line = self._since(self.curve[-1].solved, self.curve[-1].evaluations)
            self.limits.report(done, f"{speed:.0f} steps/s; {line.text(len(self.choice))}")
            last = self.curve[-1].step
            due = max(FIRST_CHOICE, min(2 * last, last + CHOOSE_EVERY))
            if done >= min(due, self.settings.updates):
                self._note()

    @property
    def steps(self) -> int:
        """Done so far, also by the runs before."""
        return int(self.rtdp.counters()["steps"])

    def _since(self, solved: int, evaluations: float) -> ActingLine:
        """What happened since the last line."""
        now = self.rtdp.counters()
        since = {name: count - self._last[name] for name, count in now.items()}
        return ActingLine(
            int(now["steps"]),
            int(since["episodes"]),
            int(since["goals"]),
            since["returns"] / max(1, since["episodes"]),
            since["loss"] / max(1, since["updates"]),
            solved,
            evaluations,
        )

    def _note(self) -> None:
        """Judge the weights, keep them if they are the best, and write a checkpoint."""
        theta = self.rtdp.weights()
        solved, evaluations = self._held_out(theta)
        line = self._since(solved, evaluations)
        self._last = self.rtdp.counters()
        if self.best is None or evaluations < min(one.evaluations for one in self.curve):
            self.best = theta
        self.curve.append(line)
        if self.limits.checkpoint is not None:
            arrays, random = self.rtdp.memory()
            curve = [asdict(one) for one in self.curve]
            notes = {"random": random, "last": self._last, "curve": curve}
            groups = {"memory": arrays, "best": {"theta": self.best}}
            held = Checkpoint(self.limits.fingerprint, notes, groups)
            held.write(self.limits.checkpoint)
        self.say(line.text(len(self.choice)))

    def _restore(self, held: Checkpoint) -> None:
        try:
            self.rtdp.restore(held.groups["memory"], held.notes["random"])
            self.best = held.groups["best"]["theta"]
            self.curve = [ActingLine(**one) for one in held.notes["curve"]]
            self._last = held.notes["last"]
        except (ValueError, KeyError, TypeError) as error:
            why = f"the checkpoint is damaged ({error}); delete it to start anew"
            raise CheckpointError(why, str(self.limits.checkpoint)) from None
        self.say(f"going on from step {self.steps}")

    def _held_out(self, theta: NDArray[np.float32]) -> tuple[int, float]:
        """How many held-out problems are solved, and the geometric mean of evaluations."""
        heuristic = LearnedHeuristic(self.rtdp.model_file(theta, {}), "model.safetensors")
        solved, total = 0, 0.0
        for task, limit in self.choice:
            options = SearchSpecification(heuristic, "gbfs", cost="one", max_evaluations=limit)
            result = run_search(task, options, self.budget)
            if result.status not in ("solved", "gave up", "unsolvable"):
                raise OutOfResources(result.status, result.exit_code)
            solved += result.solved
            total += math.log(result.requested if result.solved else limit)
        return solved, math.exp(total / len(self.choice))

    def _file(self) -> ModelFile | None:
        if self.best is None:
            return None
        step = min(self.curve, key=lambda line: line.evaluations).step
        training = {
            "method": "rtdp",
            "settings": self.settings.to_dict(),
            "seed": self.seed,
            "problems": len(self.tasks),
            "chosen_step": step,
            "curve": [asdict(line) for line in self.curve],
        }
        return self.rtdp.model_file(self.best, training)


def fit_rtdp(lesson: Lesson, row: ModelRow, limits: Limits) -> ModelFile | None:
    """None if no weights were judged in time. Raises ValueError if a task does not fit."""
    settings = rtdp_settings(row.teacher_options, limits.steps)
    return ActingLearner(lesson, settings, limits).run()


def rtdp_settings(given: Mapping[str, Any], steps: int | None = None) -> RtdpSettings:
    """A preset with the options that were named, as texts or values. Raises ValueError."""
    named = dict(given)
    preset = find_preset(named.pop("preset", "own"))
    settings = with_options(preset, named, "rollouts", ("preset",), ("updates",))
    return settings if steps is None else replace(settings, updates=steps)


def draw_unions(
    tasks: Sequence[Task], parts: int, count: int, seed: int, budget: Budget
) -> list[Task]:
    """At most so many unions (hstar.pddl.union) of `parts` tasks each. No two have the same parts;
    those that are too large or have no plan are left out. Raises OutOfResources."""
    if len(tasks) < parts:
        return []
    rng = np.random.default_rng([seed, parts])
    draws = (sorted(rng.choice(len(tasks), parts, replace=False)) for _ in range(count))
    found = []
    for drawn in dict.fromkeys(map(tuple, draws)):
        problems = [tasks[i].problem for i in drawn]
        if sum(len(problem.objects) for problem in problems) > MOST_OBJECTS:
            continue
        task = ground(union(problems), budget=budget)
        if not is_dead_end(task):
            found.append(task)
    return found


RTDP = Fit(
    fit_rtdp,
    lambda row: (
        (row.teacher, row.features, row.model, row.objective)
        == ("rollouts", "atoms", "nlm", "bellman")
    ),
    "takes teacher rollouts, model nlm on features atoms, and objective bellman",
    lambda row: rtdp_settings(row.teacher_options),
    acts=True,
)
