"""Learning for a domain from a folder of problems, and an honest verdict.

    1. split     the smaller problems are learned from; of the larger ones half choose, half judge
    2. label     optimal plans of the smaller ones, as far as the time goes
    3. train     linear models on Weisfeiler-Leman features, which take seconds each
    4. choose    models and ways of searching race on a ladder of growing problems
                 (hstar.learning.race, hstar.learning.ladder)
    5. correct   where the winner goes wrong on training problems, it is told better; the corrected
                 model races as well (hstar.learning.counterexamples)
    6. verdict   the best and the default planner search on problems that have chosen nothing

The result names the search it is meant for: in turns with the default planner if it has beaten it,
the default planner alone if it has not. All searches are jobs of a pool of processes. Finished ones
are kept in a journal. With `steps` the limits count work, not seconds, and equal seeds give equal
files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from hstar import _core
from hstar.learning.attempts import DEFAULT, OPTIMAL, Effort, Way, attempts, in_pool, is_spent
from hstar.learning.candidates import RECIPES, UNTRAINED, Candidate, Recipe, candidates_with
from hstar.learning.choices import Choices, choices_along
from hstar.learning.counterexamples import Minima, all_choices, find_counterexamples
from hstar.learning.domain_outcome import DomainOutcome
from hstar.learning.instance import with_search
from hstar.learning.ladder import Ladder, Rung
from hstar.learning.linear_model import linear_model
from hstar.learning.race import race
from hstar.learning.rungs import Keep, Kept, RungTrials
from hstar.learning.schedule import Schedule, choose_schedule, in_turns
from hstar.learning.trials import Score, Trial
from hstar.pddl.union import single_predicates
from hstar.planning.task import Task
from hstar.runtime.pool import Pool
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.features.wl import WL
from hstar.slots.model_file import ModelFile, from_bytes, to_bytes

HELD_OUT = 0.4  # of the problems, the largest: half to choose by, half for the verdict
LABEL_SHARES = {OPTIMAL: 0.3, DEFAULT: 0.45}  # of the time, from the beginning
RACE_SHARE = 0.85
TRAINING_SHARE, LEAST_TRAINING = 0.03, 1.0  # of the time, and seconds: for one model
LABEL_WORK = 20  # times as much as for a trial, where work counts
FEWEST_PLANS = 5  # optimal ones; with fewer, plans of the default planner are learned from as well
CORRECTIONS = 2  # at most
SCREENING = 8  # on the first rung of the race, a search gets this part of what others get

Label = tuple[list[str], list[list[float]] | None]  # a plan, and values of the states beside it
Say = Callable[[str], None]


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
        single = single_predicates([task.problem for task in tasks])
        choice, verdict = (
            [task.problem for task in part] for part in (self.split.choice, self.split.verdict)
        )
        self.choice = Ladder("choice", choice, seed, single)
        self.verdict = Ladder("verdict", verdict, seed + 1, single)
        self.label_effort = options.label_effort(memory_bytes)
        self.trial_effort = options.trial_effort(memory_bytes)
        self.searches = 0  # so far, by this run
        self.plans: dict[int, Label] = {}
        self.models: dict[str, ModelFile] = {}
        self.choices: list[Choices] = []  # along plans, and where a model was corrected
        self.scores: dict[Candidate, Score] = {}

    def run(self) -> DomainOutcome:
        """Raises OutOfResources for memory, and for Ctrl-C before there was a model."""
        default, score, interrupted = Score(()), None, False
        with Pool(self.processes, is_spent) as pool, Progress("searches") as self.progress:
            self.pool = pool
            limit = self.trial_effort.limit
            self.trials = RungTrials(pool, self.processes, limit, self.read, self.write, self._show)
            try:
                self._label()
                self._race()
                self._correct()
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
            None if chosen is None else self._file_of(chosen),
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
        return choose_schedule(self.scores, self.trial_effort.limit)

    def _file_of(self, chosen: Schedule) -> ModelFile:
        """The model that the searches use. Those that need none are named in the file of one."""
        return self.models[chosen.model] if chosen.model else next(iter(self.models.values()))

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

    def _choices_along_plans(self) -> list[Choices]:
        return [
            choices_along(self.split.training[number], plan, values)
            for number, (plan, values) in sorted(self.plans.items())
        ]

    # Models and ways

    def _race(self) -> None:
        """All models, in all ways of searching, and the ways that need no model."""
        if not self.plans:
            return
        self.choices = self._choices_along_plans()
        may_start = self._may_start(RACE_SHARE)
        for recipe in RECIPES:
            name = recipe.label
            if self.models and not may_start() and self.read(f"model {name}") is None:
                break
            file = self._model(name, recipe)
            if file is None:
                continue
            weights = [one.tensors["weight"] for one in self.models.values()]
            if any(np.array_equal(file.tensors["weight"], one) for one in weights):
                continue  # as with and without orders where there are none
            self.models[name] = file
        candidates = [one for model in self.models.items() for one in candidates_with(*model)]
        self.scores = race(
            [*candidates, *UNTRAINED], self.choice, self._on_choice_rung, self.trial_effort.limit
        )

    def _correct(self) -> None:
        """Learn from what the chosen model gets wrong, as long as it gets better."""
        for number in range(1, CORRECTIONS + 1):
            chosen = self._choose()
            if chosen is None or chosen.model is None:
                return
            more = all_choices(self.split.training, self._counterexamples(chosen.model))
            described = self.models[chosen.model].metadata
            features = {name: described["features"]["config"][name] for name in WL.options}
            recipe = Recipe(features, described["objective"]["name"])
            name = f"{recipe.label}, corrected {number}"
            if not more or not (self._may_start(RACE_SHARE)() or self.read(f"model {name}")):
                return
            self.choices += more
            file = self._model(name, recipe)
            if file is None:
                return
            self.models[name] = file
            ways = [one.number for one in chosen.candidates if one.model is not None]
            self.scores |= race(
                [Candidate(name, way) for way in ways],
                self.choice,
                self._on_choice_rung,
                self.trial_effort.limit,
            )
            better = self._choose()
            if better is None or better.model != name:
                return

    def _counterexamples(self, model: str) -> dict[int, Minima]:
        """Local minima of a model, by the number of the training problem."""
        content, found, jobs = to_bytes(self.models[model]), {}, []
        for number, (plan, _) in sorted(self.plans.items()):
            kept = self.read(f"minima {model} {number}")
            if kept is not None:
                found[number] = Minima(**json.loads(kept))
                continue
            problem = self.split.training[number].problem
            jobs.append((number, ("training", number), problem, content, len(plan)))
        for number, answer in in_pool(
            self.pool,
            self.processes,
            find_counterexamples,
            jobs,
            self.trial_effort,
            self._may_start(RACE_SHARE),
        ):
            if isinstance(answer, Minima):
                found[number] = answer
                self.write(f"minima {model} {number}", json.dumps(asdict(answer)).encode())
                self._show(f"{sum(len(one.states) for one in found.values())} counterexamples")
        return found

    def _model(self, name: str, recipe: Recipe) -> ModelFile | None:
        """None if the features do not fit the objective, or training takes too long."""
        kept = self.read(f"model {name}")
        if kept is not None:
            return from_bytes(kept, name)
        budget = self.budget
        if self.options.steps is None:
            budget = budget.within(max(LEAST_TRAINING, TRAINING_SHARE * self.options.seconds))
        try:
            file = linear_model(self.choices, recipe.features, budget, recipe.objective)
        except (ValueError, OutOfResources) as error:
            is_late = isinstance(error, OutOfResources) and error.status == "out of time"
            if isinstance(error, OutOfResources) and not is_late:
                raise
            self.say(f"{name}: {'training takes too long' if is_late else error}")
            return None
        self.write(f"model {name}", to_bytes(file))
        return file

    def _on_choice_rung(
        self, rung: Rung, alive: Sequence[Candidate]
    ) -> dict[Candidate, list[Trial]]:
        is_first = rung is self.choice.rung(0)
        effort = self.trial_effort.divided(SCREENING) if is_first else self.trial_effort
        ways = {one.label: self._way(one) for one in alive}
        may_start = self._may_start(RACE_SHARE)
        found = self.trials.on_rung(rung, ways, effort, may_start)
        if is_first and not any(one.solved for made in found.values() for one in made):
            again = replace(rung, name=f"{rung.name} again")
            found = self.trials.on_rung(again, ways, self.trial_effort, may_start)
        by_candidate = {one: found[one.label] for one in alive if one.label in found}
        self._say_best(rung, by_candidate)
        return by_candidate

    def _say_best(self, rung: Rung, found: Mapping[Candidate, list[Trial]]) -> None:
        scores = {one: Score(tuple(made)) for one, made in found.items()}
        best = min(scores, key=lambda o: (-scores[o].solved, scores[o].seconds), default=None)
        if best is not None:
            objects = max(len(problem.objects) for problem in rung.problems)
            self.say(
                f"up to {objects} objects, {len(found)} candidates: best is {best.label}, "
                f"{scores[best].text(self.trial_effort.unit)}"
            )

    def _way(self, one: Candidate) -> Way:
        """How a job gets a candidate."""
        if one.model is None:
            return one.way
        return to_bytes(with_search(self.models[one.model], one.way))

    def _judge(self, chosen: Schedule) -> tuple[Score | None, Score]:
        """Scores of the chosen searches in turns with the default planner, and of the latter alone,
        on problems that have chosen nothing. Who solves nothing on a rung fails on all above it."""
        learned = {one.label: self._way(one) for one in chosen.candidates}
        ways: dict[str, Way] = {DEFAULT: DEFAULT, **learned}
        made: dict[str, list[Trial]] = {name: [] for name in ways}
        alive, number = list(ways), 0
        while alive and (rung := self.verdict.rung(number)) is not None:
            found = self.trials.on_rung(
                rung, {name: ways[name] for name in alive}, self.trial_effort, self._may_start(1.0)
            )
            if len(found) < len(alive):
                break
            tried = max(map(len, found.values()))
            for name in ways:
                failed = [Trial(False, self.trial_effort.limit)] * tried
                made[name] += found.get(name, failed)
            alive = [name for name in alive if any(one.solved for one in found[name])]
            number += 1
            if tried < len(rung.problems):
                break
        default = Score(tuple(made[DEFAULT]))
        if not default.trials:
            return None, default
        own = [Score(tuple(made[name])) for name in learned]
        return in_turns(own, len(default.trials), self.trial_effort.limit, default), default
