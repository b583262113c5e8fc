"""Learning by doing: reinforcement learning on the problems of a folder.

Episodes on training problems train a network (training/reinforcement). Now and then it searches on
held-out problems with a limit of evaluations, and the weights that need the fewest are kept. Unions
of problems stand for larger ones: some of two problems are learned from, and held-out ones of two
and four help to choose weights. At the end the network and the default planner solve problems that
chose nothing. All but this verdict depends on
steps, not on seconds: a run that was stopped and resumed ends like one that was not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.learning.trials import Score, Trial, sentence
from hstar.learning.unions import draw_unions
from hstar.pddl import Problem
from hstar.planning.goals import is_dead_end, satisfies_goal
from hstar.planning.search import run as run_search
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile
from hstar.training.checkpoint import Checkpoint, CheckpointError, read_checkpoint, write_checkpoint
from hstar.training.reinforcement.presets import RtdpSettings
from hstar.training.reinforcement.rtdp import Rtdp

PIECE = 100  # steps between two reports
FIRST_CHOICE, CHOOSE_EVERY = 250, 2000  # steps; after the first, intervals double up to the second
HELD_OUT = 0.2  # of the problems, to choose weights by, and as many for the verdict
MOST_HELD_OUT = 16
UNIONS_HELD_OUT = {2: 8, 4: 8}  # parts -> unions of held-out problems to choose weights by
MOST_EVALUATIONS = 2000  # of a search that judges weights, for each part of its problem
VERDICT_SHARE = 0.1  # of the time

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Split:
    """What problems are for. `choice` and `verdict` are `training` ones where there are too few."""

    training: list[Task]
    choice: list[Task]
    verdict: list[Task]


@dataclass(frozen=True, slots=True)
class Line:
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


@dataclass(frozen=True, slots=True)
class Outcome:
    """`file` is None if nothing was learned in time, `score` if nothing was compared."""

    file: ModelFile | None
    score: Score | None
    default: Score
    curve: list[Line]
    seconds: float
    interrupted: bool = False

    @property
    def pays(self) -> bool:
        return self.score is not None and self.score.clearly_beats(self.default)

    def sentence(self) -> str:
        if self.file is not None and self.score is None:
            return "the best weights so far are kept; they were not compared with the default"
        return sentence(self.score, self.default)

    def to_dict(self) -> dict[str, Any]:
        """For JSON output."""
        return {
            "pays": self.pays,
            "problems": len(self.default.trials),
            "learned_solved": self.score.solved if self.score is not None else 0,
            "learned_seconds": self.score.seconds if self.score is not None else None,
            "default_solved": self.default.solved,
            "default_seconds": self.default.seconds,
            "cost_ratio": self.score.cost_ratio(self.default) if self.score is not None else None,
            "steps": self.curve[-1].step if self.curve else 0,
            "seconds": self.seconds,
            "verdict": self.sentence(),
        }


def usable_tasks(
    problems: Sequence[Problem], budget: Budget, say: Say, each: float = math.inf
) -> list[Task]:
    """The problems that there is something to learn from, grounded. Those that take more than
    `each` seconds are left out. Raises ValueError if there is none, OutOfResources, PddlError."""
    solved, impossible, large, tasks = 0, 0, 0, []
    for problem in problems:
        try:
            task = ground(problem, budget=budget.within(each))
        except OutOfResources as error:
            if error.status != "out of time" or budget.seconds_left <= 0:
                raise
            large += 1
            continue
        if satisfies_goal(task, task.initial_state):
            solved += 1
        elif is_dead_end(task):
            impossible += 1
        else:
            tasks.append(task)
    reasons = [
        f"{count} {what}"
        for count, what in (
            (solved, "already solved"),
            (impossible, "without a plan"),
            (large, "too large to ground in time"),
        )
        if count
    ]
    if not tasks:
        raise ValueError(f"there is no problem to learn from: {', '.join(reasons)}")
    if reasons:
        say(f"left out: {', '.join(reasons)}")
    return tasks


def split_tasks(tasks: list[Task], seed: int) -> Split:
    """The largest problems are held out: a heuristic should help beyond what it was trained on."""
    count = min(round(HELD_OUT * len(tasks)), MOST_HELD_OUT)
    if count == 0:
        return Split(tasks, tasks, tasks)
    by_size = sorted(tasks, key=lambda task: (len(task.problem.objects), task.num_facts))
    held = count if 2 * count >= len(tasks) else 2 * count
    largest = by_size[-held:]
    order = [largest[i] for i in np.random.default_rng([seed]).permutation(held)]
    return Split(by_size[:-held], order[:count], order[-count:])


class RolloutLearner:
    """Learns within `seconds`, or for as many steps as the settings say. With a `checkpoint` file
    it goes on from there, and counts the seconds that were spent before."""

    def __init__(
        self,
        tasks: list[Task],
        settings: RtdpSettings,
        seed: int,
        budget: Budget,
        say: Say,
        seconds: float = math.inf,
        threads: int = 1,
        checkpoint: Path | None = None,
        fingerprint: str = "",
    ) -> None:
        self.start = _core.monotonic_seconds()
        self.settings, self.seed, self.say = settings, seed, say
        self.budget, self.seconds = budget, seconds
        self.checkpoint, self.fingerprint = checkpoint, fingerprint
        self.split = split_tasks(tasks, seed)
        self.own = budget.within((1 - VERDICT_SHARE) * seconds)
        self.unions = draw_unions(self.split.training, 2, settings.unions, seed, self.own)
        self.rtdp = Rtdp(self.split.training, settings, seed, threads, self.own, self.unions)
        self.choice = [(task, MOST_EVALUATIONS) for task in self.split.choice]
        for parts, count in UNIONS_HELD_OUT.items() if settings.unions else ():
            larger = draw_unions(self.split.choice, parts, count, seed, self.own)
            self.choice += [(task, parts * MOST_EVALUATIONS) for task in larger]
        self.curve: list[Line] = []
        self.best: NDArray[np.float32] | None = None
        self.spent = 0.0  # before this run
        held = None if checkpoint is None else read_checkpoint(checkpoint, fingerprint)
        if held is not None:
            self._restore(held)

    def run(self, report: Callable[[int, str], None] = lambda _step, _text: None) -> Outcome:
        """`report` is called with the number of steps and a short text, every second or so.

        Raises OutOfResources for memory, and for signals before anything was learned.
        """
        interrupted = False
        try:
            self._learn(report)
        except KeyboardInterrupt:  # between two calls of the core
            interrupted = True
        except OutOfResources as error:
            interrupted = error.status == "interrupted"
            is_lost = error.status != "out of memory" or self.best is None
            if error.status not in ("out of time", "interrupted") and is_lost:
                raise
        if interrupted and self.best is None:
            raise stopped("interrupt")
        default, score = Score(()), None
        try:
            file = self._file()
            if not interrupted:
                default, score = self._verdict(file)
        except (KeyboardInterrupt, OutOfResources) as error:
            is_other = isinstance(error, OutOfResources) and error.status != "interrupted"
            if is_other or self.best is None:
                raise
            interrupted = True
            file = self._file()
        gone = self.spent + _core.monotonic_seconds() - self.start
        return Outcome(file, score, default, self.curve, gone, interrupted)

    def _learn(self, report: Callable[[int, str], None]) -> None:
        if self.best is None:  # the weights at the start may be the best ones
            self._note()
        while (step := self.steps) < self.settings.updates:
            before = _core.monotonic_seconds()
            self.rtdp.run(step - step % PIECE + PIECE)
            done = self.steps
            speed = (done - step) / max(1e-9, _core.monotonic_seconds() - before)
            line = self._since(self.curve[-1].solved, self.curve[-1].evaluations)
            report(done, f"{speed:.0f} steps/s; {line.text(len(self.choice))}")
            last = self.curve[-1].step
            due = max(FIRST_CHOICE, min(2 * last, last + CHOOSE_EVERY))
            if done >= min(due, self.settings.updates):
                self._note()

    @property
    def steps(self) -> int:
        """Done so far, also by the runs before."""
        return int(self.rtdp.counters()["steps"])

    def _since(self, solved: int, evaluations: float) -> Line:
        """What happened since the last line."""
        now, last = self.rtdp.counters(), self._last
        episodes, updates = (now[name] - last[name] for name in ("episodes", "updates"))
        return Line(
            int(now["steps"]),
            int(episodes),
            int(now["goals"] - last["goals"]),
            (now["returns"] - last["returns"]) / max(1, episodes),
            (now["loss"] - last["loss"]) / max(1, updates),
            solved,
            evaluations,
        )

    _last: dict[str, float] = dict.fromkeys(
        ("steps", "updates", "episodes", "goals", "loss", "returns"), 0.0
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
        if self.checkpoint is not None:
            arrays, random = self.rtdp.memory()
            spent = self.spent + _core.monotonic_seconds() - self.start
            notes = {"random": random, "spent": spent, "last": self._last}
            notes["curve"] = [asdict(one) for one in self.curve]
            groups = {"memory": arrays, "best": {"theta": self.best}}
            write_checkpoint(self.checkpoint, Checkpoint(self.fingerprint, notes, groups))
        self.say(line.text(len(self.choice)))

    def _restore(self, held: Checkpoint) -> None:
        try:
            self.rtdp.restore(held.groups["memory"], held.notes["random"])
            self.best = held.groups["best"]["theta"]
            self.curve = [Line(**one) for one in held.notes["curve"]]
            self._last = held.notes["last"]
            self.spent = float(held.notes["spent"])
        except (ValueError, KeyError, TypeError) as error:
            why = f"the checkpoint is damaged ({error}); delete it to start anew"
            raise CheckpointError(why, str(self.checkpoint)) from None
        self.own = self.budget.within((1 - VERDICT_SHARE) * self.seconds - self.spent)
        self.rtdp.budget = self.own
        self.say(f"going on from step {self.steps}")

    def _held_out(self, theta: NDArray[np.float32]) -> tuple[int, float]:
        """How many held-out problems are solved, and the geometric mean of evaluations."""
        heuristic = LearnedHeuristic(self.rtdp.model_file(theta, {}), "model.safetensors")
        solved, total = 0, 0.0
        for task, limit in self.choice:
            options = SearchSpecification(heuristic, "gbfs", cost="one", max_evaluations=limit)
            result = run_search(task, options, self.own)
            if result.status not in ("solved", "gave up", "unsolvable"):
                raise OutOfResources(result.status, result.exit_code)
            solved += result.solved
            total += math.log(result.requested if result.solved else limit)
        return solved, math.exp(total / len(self.choice))

    def _verdict_seconds(self) -> float:
        """For each search of the verdict."""
        left = min(self.budget.seconds_left, self.seconds, 600.0)
        return max(0.01, VERDICT_SHARE * left / (2 * len(self.split.verdict)))

    def _verdict(self, file: ModelFile | None) -> tuple[Score, Score | None]:
        """The default planner's score, and that of the model."""
        each = self._verdict_seconds()
        default = self._judge(DEFAULT_PLANNER, each)
        if file is None:
            return default, None
        heuristic = LearnedHeuristic(file, "model.safetensors")
        return default, self._judge(SearchSpecification(heuristic, "gbfs", cost="one"), each)

    def _judge(self, options: SearchSpecification, seconds: float) -> Score:
        trials = []
        for task in self.split.verdict:
            start = _core.monotonic_seconds()
            result = run_search(task, options, self.budget.within(seconds))
            if result.status in ("interrupted", "terminated"):
                raise OutOfResources(result.status, result.exit_code)
            took = _core.monotonic_seconds() - start
            took = took if result.solved else max(took, seconds)
            trials.append(Trial(result.solved, took, result.plan_cost))
        return Score(tuple(trials))

    def _file(self) -> ModelFile | None:
        if self.best is None:
            return None
        step = min(self.curve, key=lambda line: line.evaluations).step
        training = {
            "method": "rollouts",
            "settings": self.settings.to_dict(),
            "seed": self.seed,
            "problems": len(self.split.training),
            "chosen_step": step,
            "curve": [asdict(line) for line in self.curve],
        }
        return self.rtdp.model_file(self.best, training)
