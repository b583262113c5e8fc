"""Learning for a domain from a folder of problems, and an honest verdict.

    1. split     the smaller problems are learned from; of the larger ones half choose, half judge
    2. label     optimal plans of the smaller ones, as far as the time goes
    3. train     linear models on Weisfeiler-Leman features, which take seconds each
    4. choose    every model searches on a ladder of growing problems (hstar.learning.ladder), the
                 best ones in several ways of searching
    5. verdict   the best and the default planner search on problems that have chosen nothing

The result names the search it is meant for: in turns with the default planner if it has beaten it,
the default planner alone if it has not. All searches are jobs of a pool of processes. Finished ones
are kept in a journal. With `steps` the limits count work, not seconds, and equal seeds give equal
files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hstar import _core
from hstar.learned.file import ModelFile, from_bytes, to_bytes
from hstar.learning.attempts import DEFAULT, OPTIMAL, Effort, Way, attempts, is_spent
from hstar.learning.choices import Choices, choices_along
from hstar.learning.domain_outcome import DomainOutcome
from hstar.learning.instance import Way as SearchWay
from hstar.learning.instance import way_text, with_search
from hstar.learning.ladder import Ladder, Rung
from hstar.learning.ranking import rank_model
from hstar.learning.schedule import Schedule, choose_schedule, in_turns
from hstar.learning.trials import Score, Trial
from hstar.runtime.pool import Pool
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.spaces.task import Task

HELD_OUT = 0.4  # of the problems, the largest: half to choose by, half for the verdict
LABEL_SHARES = {OPTIMAL: 0.3, DEFAULT: 0.45}  # of the time, from the beginning
RACE_SHARE = 0.85
LABEL_WORK = 20  # times as much as for a trial, where work counts
FEWEST_PLANS = 5  # optimal ones; with fewer, plans of the default planner are learned from as well
BEST_MODELS = 3  # that are tried in every way

FEATURES: tuple[Mapping[str, Any], ...] = (
    {"rounds": 2, "orders": True},
    {"rounds": 1, "orders": True},
    {"rounds": 2, "orders": True, "statics": True},
    {"rounds": 1, "orders": True, "statics": True},
    {"rounds": 2},
    {"rounds": 3, "orders": True},
    {"rounds": 0, "orders": True},
)
WAYS: tuple[SearchWay, ...] = (  # the first chooses models for the others
    {"algorithm": "gbfs"},
    {"algorithm": "first"},
    {"algorithm": "gbfs", "preferred_by": "ff", "batch": 32},
    {"algorithm": "lazy", "preferred_by": "ff", "batch": 32},
)

Label = tuple[list[str], list[list[float]] | None]  # a plan, and values of the states beside it
Say = Callable[[str], None]
Kept = Callable[[str], bytes | None]
Keep = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class DomainOptions:
    """`seconds` for everything, or with `steps` as much work for each search and no time limit."""

    seconds: float = 600.0
    steps: int | None = None
    seed: int = 0

    def label_effort(self, memory: int) -> Effort:
        work = None if self.steps is None else LABEL_WORK * self.steps
        return Effort(min(max(self.seconds / 60, 0.2), 20.0), work, memory)

    def trial_effort(self, memory: int) -> Effort:
        return Effort(min(max(self.seconds / 150, 0.1), 10.0), self.steps, memory)


@dataclass(frozen=True, slots=True)
class Split:
    """Problems by size, in ascending order. There may be so few that some have several uses."""

    training: list[Task]
    choice: list[Task]
    verdict: list[Task]


def split_by_size(tasks: Sequence[Task]) -> Split:
    by_size = sorted(tasks, key=lambda task: (len(task.problem.objects), task.num_facts))
    count = len(by_size)
    if count < 3:  # what is learned from must choose as well, and judge if it is alone
        return Split(by_size[:1], by_size[:1], by_size[-1:])
    held = max(2, round(HELD_OUT * count))
    larger = by_size[-held:]
    return Split(by_size[:-held], larger[-2::-2][::-1], larger[::-1][::2][::-1])


def feature_text(features: Mapping[str, Any]) -> str:
    """Such as "2 rounds, orders"."""
    chosen = [name for name, value in features.items() if value is True]
    return ", ".join([f"{features['rounds']} rounds", *chosen])


class DomainLearner:
    """Learns from the problems of a folder. `memory_bytes` is for each process; `read` and `write`
    are those of a journal; `spent` are seconds that an earlier run has used."""

    def __init__(
        self,
        tasks: Sequence[Task],
        options: DomainOptions,
        budget: Budget,
        memory_bytes: int,
        say: Say,
        processes: int = 1,
        spent: float = 0.0,
        read: Kept = lambda _: None,
        write: Keep = lambda _name, _content: None,
    ) -> None:
        self.options, self.budget, self.say = options, budget, say
        self.processes, self.read, self.write = processes, read, write
        self.start = _core.monotonic_seconds() - spent
        self.split = split_by_size(tasks)
        seed = options.seed
        self.choice = Ladder("choice", [task.problem for task in self.split.choice], seed)
        self.verdict = Ladder("verdict", [task.problem for task in self.split.verdict], seed + 1)
        self.label_effort = options.label_effort(memory_bytes)
        self.trial_effort = options.trial_effort(memory_bytes)
        self.searches = 0  # so far, by this run
        self.plans: dict[int, Label] = {}
        self.models: dict[str, ModelFile] = {}
        self.scores: dict[str, dict[int, Score]] = {}  # of models, by the number of the way

    def run(self) -> DomainOutcome:
        """Raises OutOfResources for memory, and for Ctrl-C before there was a model."""
        default, score, interrupted = Score(()), None, False
        with Pool(self.processes, is_spent) as pool, Progress("searches") as self.progress:
            self.pool = pool
            try:
                self._label()
                self._try_all()
                chosen = self._choose()
                if chosen is not None:
                    score, default = self._judge(chosen)
            except KeyboardInterrupt:
                interrupted = True
            except OutOfResources as error:
                interrupted = error.status == "interrupted"
                if not interrupted and error.status != "out of time":
                    raise
        chosen = self._choose()
        if chosen is None and interrupted:
            raise stopped("interrupt")
        found = DomainOutcome(
            None if chosen is None else self.models[chosen.name],
            None if chosen is None else chosen.label,
            score,
            default,
            self.trial_effort.unit,
            len(self.plans),
            self._gone(),
        )
        if chosen is None or found.file is None:
            return found
        keeps_default = score is not None and not found.pays
        file = with_search(found.file, {"algorithm": DEFAULT} if keeps_default else chosen.search())
        training = {**file.metadata["training"], "verdict": found.sentence(), "chosen": found.name}
        return replace(found, file=ModelFile({**file.metadata, "training": training}, file.tensors))

    def _choose(self) -> Schedule | None:
        return choose_schedule(self.scores, WAYS, self.trial_effort.limit)

    def _show(self, text: str) -> None:
        """A live line after each search."""
        self.searches += 1
        self.progress.update(self.searches, text)

    def _gone(self) -> float:
        return _core.monotonic_seconds() - self.start

    def _may_start(self, share: float) -> Callable[[], bool]:
        """Whether there is time for one more search, within the first `share` of all time."""
        if self.options.steps is not None:
            return lambda: True
        needed = self.trial_effort.seconds
        return lambda: self._gone() + needed < share * self.options.seconds

    # Labels

    def _label(self) -> None:
        """Plans of training problems by number, optimal ones if there are enough."""
        for way in (OPTIMAL, DEFAULT):
            self._label_by(way)
            if len(self.plans) >= min(FEWEST_PLANS, len(self.split.training)):
                break
        self.say(f"{len(self.plans)} of {len(self.split.training)} training problems have a plan")

    def _label_by(self, way: str) -> None:
        missing = []
        for number, task in enumerate(self.split.training):
            kept = self.read(f"plan-{way}-{number}")
            if kept is None and number not in self.plans:
                missing.append((number, ("training", number), task.problem, way))
            elif kept is not None and (label := json.loads(kept)) is not None:
                self.plans[number] = label
        found = attempts(
            self.pool,
            self.processes,
            missing,
            self.label_effort,
            self._may_start(LABEL_SHARES[way]),
        )
        for number, answer in found:
            label = (answer.plan, answer.values) if answer.plan else None
            self.write(f"plan-{way}-{number}", json.dumps(label).encode())
            if label is not None:
                self.plans[number] = label
            self._show(f"{way} plans: {len(self.plans)} of {len(self.split.training)} found")

    def _choices(self) -> list[Choices]:
        return [
            choices_along(self.split.training[number], plan, values)
            for number, (plan, values) in sorted(self.plans.items())
        ]

    # Models and ways

    def _try_all(self) -> None:
        """All models in one way of searching, then the best ones in the others."""
        if not self.plans:
            return
        choices = self._choices()
        may_start = self._may_start(RACE_SHARE)
        for features in FEATURES:
            name = feature_text(features)
            if self.models and not may_start() and self.read(f"model {name}") is None:
                break
            try:
                file = self._model(name, features, choices)
            except ValueError as error:
                self.say(f"{name}: {error}")
                continue
            weights = [one.tensors["weight"] for one in self.models.values()]
            if any(np.array_equal(file.tensors["weight"], one) for one in weights):
                continue  # as with and without orders where there are none
            self.models[name] = file
            self._try(name, 0)
        scores = {name: self.scores[name][0] for name in self.models if name in self.scores}
        best = sorted(scores, key=lambda name: (-scores[name].solved, scores[name].seconds))
        for name in best[:BEST_MODELS]:
            for number in range(1, len(WAYS)):
                self._try(name, number)

    def _model(
        self, name: str, features: Mapping[str, Any], choices: Sequence[Choices]
    ) -> ModelFile:
        kept = self.read(f"model {name}")
        if kept is not None:
            return from_bytes(kept, name)
        file = rank_model(choices, features, self.budget)
        self.write(f"model {name}", to_bytes(file))
        return file

    def _try(self, name: str, number: int) -> None:
        """Climb the ladder with a model in one way of searching. What the time cuts short counts
        only if there is nothing else."""
        what, way = self._way(name, WAYS[number])
        scores, is_whole = self._climb(self.choice, {what: way}, RACE_SHARE)
        if (is_whole or not self.scores) and scores[what].trials:
            self.say(f"{what}: {scores[what].text(self.trial_effort.unit)}")
            self.scores.setdefault(name, {})[number] = scores[what]

    def _way(self, name: str, way: SearchWay) -> tuple[str, Way]:
        """What a model with a way of searching is called, and how a job gets it."""
        return f"{name}, {way_text(way)}", to_bytes(with_search(self.models[name], way))

    def _judge(self, chosen: Schedule) -> tuple[Score | None, Score]:
        """Scores of the chosen searches in turns with the default planner, and of the latter alone,
        on problems that have chosen nothing."""
        learned = dict(self._way(chosen.name, way) for way in chosen.ways)
        scores, _ = self._climb(self.verdict, {DEFAULT: DEFAULT, **learned}, 1.0)
        default = scores[DEFAULT]
        if not default.trials:
            return None, default
        own = [scores[name] for name in learned]
        return in_turns(own, len(default.trials), self.trial_effort.limit, default), default

    def _climb(
        self, ladder: Ladder, ways: Mapping[str, Way], share: float
    ) -> tuple[dict[str, Score], bool]:
        """Trials of ways by their name, all on the same rungs, and whether they got to the end. Who
        solves nothing on a rung fails on all above it."""
        trials: dict[str, list[Trial]] = {name: [] for name in ways}
        alive = list(ways)
        number, is_whole = 0, True
        while alive and (rung := ladder.rung(number)) is not None:
            found = self._on_rung(rung, {name: ways[name] for name in alive}, share)
            if found is None:
                is_whole = False
                break
            failed = [Trial(False, self.trial_effort.limit)] * len(rung.problems)
            for name in ways:
                trials[name] += found.get(name, failed)
            alive = [name for name in alive if any(one.solved for one in found[name])]
            number += 1
        return {name: Score(tuple(made)) for name, made in trials.items()}, is_whole

    def _on_rung(
        self, rung: Rung, ways: Mapping[str, Way], share: float
    ) -> dict[str, list[Trial]] | None:
        """None if the time was over before all trials were made."""
        made: dict[tuple[str, int], Trial] = {}
        jobs = []
        for name, way in ways.items():
            for i, one in enumerate(zip(rung.names, rung.problems, strict=True)):
                kept = self.read(f"{rung.name} {i} {name}")
                if kept is not None:
                    made[name, i] = Trial(**json.loads(kept))
                else:
                    jobs.append(((name, i), *one, way))
        may_start = self._may_start(share)
        all_trials = len(made) + len(jobs)
        for (name, i), answer in attempts(
            self.pool, self.processes, jobs, self.trial_effort, may_start
        ):
            trial = made[name, i] = Trial(answer.solved, answer.spent)
            self.write(f"{rung.name} {i} {name}", json.dumps(asdict(trial)).encode())
            solved = sum(one.solved for one in made.values())
            self._show(f"rung {rung.name}, {name}: {solved} of {all_trials} solved")
        if len(made) < all_trials:
            return None
        count = range(len(rung.problems))
        return {name: [made[name, i] for i in count] for name in ways}
