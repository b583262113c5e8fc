"""Labels and models of the rows of a recipe, and the jobs of worker processes that make them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from hstar.learning.options import LearnOptions, Watch
from hstar.learning.recipe import Recipe
from hstar.learning.split import Split
from hstar.learning.trials import TOO_MUCH, WORK, Effort, MayStart, Workers, raise_signals
from hstar.pddl import Problem
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.model_file import (
    ModelFile,
    ModelFileError,
    from_bytes,
    texts_in,
    to_bytes,
)
from hstar.slots.teachers.attempt import Attempt
from hstar.slots.teachers.registry import TEACHERS
from hstar.training.dataset import Dataset, dataset_in_memory
from hstar.training.fit import Lesson, Limits, ModelRow, fit_for
from hstar.training.fit.choices import Minima

FALLBACK_SHARE = 0.15  # of the time, for a second teacher
LABEL_SHARE, MOST_LABELLING = 1 / 30, 40.0  # of the time, and seconds: for one of many problems
LABEL_WORK = 20  # times as much as for a trial, where work counts
LEAST_LABELLING, LEAST_FITTING = 0.4, 1.0  # seconds
LEAST_SECONDS = 8.0  # of all time, for one model that begins with random weights
MOST_THREADS = 4

Labels = dict[int, Attempt]  # by the number of the training problem
SAMPLING_SHARE = 0.6  # of the time; what takes longer is tried again with fewer states
FEWER = 4
LEAST_STATES = 1000
STATES_OF_WORK = 20  # labelled by teachers that sample, for each unit of work of a search

_dataset: tuple[str, Dataset] | None = None  # the last one: all models of a recipe learn from it


@dataclass
class ModelMaker:
    """`labels` are those of each question to a teacher, `rows` and `models` by the model's name."""

    recipe: Recipe
    options: LearnOptions
    split: Split
    workers: Workers
    watch: Watch
    budget: Budget
    labels: dict[str, Labels] = field(default_factory=dict)
    rows: dict[str, ModelRow] = field(default_factory=dict)
    models: dict[str, ModelFile] = field(default_factory=dict)

    def make_all(self) -> None:
        """Models of all rows; then again with other seeds, as long as there is time."""
        rows = self.recipe.rows
        if self.options.is_timed and all(fit_for(row).seeded for row in rows):
            rows = rows[: max(1, int(self.options.seconds / LEAST_SECONDS))]
        for generation in count():
            before = self.watch.gone()
            begin = before / self.options.seconds if generation else 0.0
            self._label(rows, generation, begin)
            self._fit(rows, generation)
            took = self.watch.gone() - before
            rows = tuple(row for row in rows if fit_for(row).seeded and not fit_for(row).acts)
            is_over = self.watch.gone() + took > self.recipe.fitting * self.options.seconds
            if not rows or not self.options.is_timed or is_over:
                return

    @property
    def labelled(self) -> int:
        """Problems that have labels to learn from."""
        return max((len(labels) for labels in self.labels.values()), default=0)

    def labels_of(self, row: ModelRow) -> Labels:
        """Of the first question that the row asks."""
        return self.labels.get(_question(row, 0), {})

    def corrected(self, name: str, model: str, minima: Mapping[str, Minima]) -> bool:
        """Whether a model of the row of another one could be made, from its labels and minima."""
        row = self.rows[model]
        labels = self.labels_of(row)
        found = self._kept_model(name, row)
        if found is None:
            jobs = [(name, *self._lesson(row, labels, 0), row, dict(minima))]
            effort = self._effort(1, self.recipe.racing, LEAST_FITTING)
            found = dict(self._fitted(jobs, effort, lambda: True)).get(name)
        if found is not None:
            self.models[name], self.rows[name] = found, row
        return found is not None

    # Labels

    def _label(self, rows: Sequence[ModelRow], generation: int, begin: float) -> None:
        """`begin` is the share of the time that is gone. A second teacher is asked where the first
        leaves too few."""
        asked = {_question(row, generation): row for row in rows if not fit_for(row).acts}
        asked = {key: row for key, row in asked.items() if key not in self.labels}
        for key in asked:
            self.labels[key] = {}
        end = min(begin + self.recipe.labelling, self.recipe.fitting)
        self._ask(
            {key: (row.teacher, row.teacher_options) for key, row in asked.items()}, generation, end
        )
        few = min(self.recipe.fewest, len(self.split.training))
        fallback = self.recipe.fallback
        if fallback is not None:
            none: dict[str, Any] = {}
            again = {key: (fallback, none) for key in asked if len(self.labels[key]) < few}
            self._ask(again, generation, end + FALLBACK_SHARE)
        for key, row in asked.items():
            found, wanted = len(self.labels[key]), len(self.split.training)
            self.workers.say(f"{row.teacher}: {found} of {wanted} training problems labelled")

    def _ask(
        self, teachers: Mapping[str, tuple[str, Mapping[str, Any]]], generation: int, end: float
    ) -> None:
        training = self.split.training
        jobs = []
        for key, (teacher, options) in teachers.items():
            for number, task in enumerate(training):
                kept = self.watch.read(_label_name(key, teacher, number))
                if kept:
                    self.labels[key][number] = Attempt.from_bytes(kept)
                elif kept is None and number not in self.labels[key]:
                    seed, states = self.options.seed + generation, self.recipe.states
                    asked = (task.problem, teacher, dict(options), seed, states)
                    jobs.append(((key, teacher, number), *asked))
        effort = self._effort(len(jobs), end, LEAST_LABELLING, LABEL_WORK)
        may_start = self.watch.may_start(end, effort.seconds / 2)
        reasons = Counter[tuple[str, str]]()
        for (key, teacher, number), answer in self.workers.answers(
            label_job, jobs, effort, may_start
        ):
            is_solved = answer.rows is not None and len(answer.rows) > 0
            content = answer.to_bytes() if is_solved else b""
            self.watch.keep(_label_name(key, teacher, number), content)
            if is_solved:
                self.labels[key][number] = answer
            else:
                reasons[teacher, answer.status] += 1
            self.watch.show(f"{teacher}: {len(self.labels[key])} of {len(training)} labelled")
        for (teacher, why), failed in reasons.items():
            self.workers.say(f"{teacher}: no labels of {failed} of {len(training)} problems: {why}")

    def _effort(self, jobs: int, end: float, least: float, times: int = 1) -> Effort:
        """Of one of so many jobs: all end together if they take all their time, or a share of the
        time that suits many problems, if this is more."""
        waves = math.ceil(jobs / self.options.processes) or 1
        even = (end * self.options.seconds - self.watch.gone()) / waves
        usual = min(LABEL_SHARE * self.options.seconds, MOST_LABELLING)
        effort = self.options.effort(1.0, math.inf, times)
        return replace(effort, seconds=max(even, usual, least))

    # Models

    def _fit(self, rows: Sequence[ModelRow], generation: int) -> None:
        """Models by name, in the order of the rows; those equal to an earlier one are left out."""
        found: dict[str, ModelFile] = {}
        jobs: list[tuple[Any, ...]] = []
        again = f", seed {self.options.seed + generation}" if generation else ""
        names = [self.recipe.name_of(row) + again for row in rows]
        for name, row in zip(names, rows, strict=True):
            self.rows[name] = row
            kept = self._kept_model(name, row)
            if kept is not None:
                found[name] = kept
            elif fit_for(row).acts:
                self._fit_by_acting(name, row, found)
            elif labels := self.labels.get(_question(row, generation)):
                jobs.append((name, *self._lesson(row, labels, generation), row, {}))
        effort = self._effort(len(jobs), self.recipe.fitting, LEAST_FITTING)
        may_start = self.watch.may_start(self.recipe.fitting + FALLBACK_SHARE, effort.seconds / 2)
        try:
            for name, file in self._fitted(jobs, effort, lambda: not found or may_start()):
                found[name] = file
        finally:  # a limit or an interrupt may end this
            for name in filter(found.__contains__, names):
                if not any(_same(found[name], one) for one in self.models.values()):
                    self.models[name] = found[name]

    def _kept_model(self, name: str, row: ModelRow) -> ModelFile | None:
        """Of the journal. It may name code that the recipe names, and no other."""
        kept = self.watch.read(f"model {name}")
        if kept is None:
            return None
        try:
            return from_bytes(kept, name, trust=tuple(texts_in(asdict(row))))
        except ModelFileError as error:
            self.workers.say(f"what was kept is not used, and trained again: {error}")
            return None

    def _lesson(self, row: ModelRow, labels: Labels, generation: int) -> tuple[Any, ...]:
        """What fit_job takes first: a name of the labels, the labels, and the seed."""
        training = self.split.training
        parts = [(str(n), training[n].problem, labels[n]) for n in sorted(labels)]
        return f"{_question(row, generation)} {len(parts)}", parts, self.options.seed + generation

    def _fitted(
        self, jobs: Sequence[tuple[Any, ...]], effort: Effort, may_start: MayStart
    ) -> Iterator[tuple[str, ModelFile]]:
        for name, answer in self.workers.answers(fit_job, jobs, effort, may_start):
            if isinstance(answer, str):
                self.workers.say(f"{name}: {answer}")
                continue
            self.watch.keep(f"model {name}", answer)
            self.watch.show(f"{name} is trained")
            yield name, from_bytes(answer, name, trust=True)

    def _fit_by_acting(self, name: str, row: ModelRow, found: dict[str, ModelFile]) -> None:
        """In this process: it takes most of the time, and keeps a checkpoint of its own."""
        left = self.recipe.fitting * self.options.seconds - self.watch.gone()
        limits = Limits(
            self.budget.within(left) if self.options.is_timed else self.budget,
            self.options.seed,
            self.options.steps,
            min(MOST_THREADS, self.options.processes),
            self.watch.journal.file("learner.safetensors"),
            json.dumps([asdict(one) for one in self.recipe.rows], sort_keys=True),
            self.workers.say,
            self.watch.progress.update,
            lambda file: self.models.update({name: file}),
            lambda attempt: self.watch.keep(f"states of {name}", attempt.to_bytes()),
        )
        lesson = Lesson(tasks=self.split.training, others=self.split.others)
        file = fit_for(row).run(lesson, row, limits)
        if file is not None:
            found[name] = file
            self.watch.keep(f"model {name}", to_bytes(file))


def _question(row: ModelRow, generation: int) -> str:
    """What a teacher is asked. Only teachers that draw are asked again."""
    again = generation and "seed" in TEACHERS.find(row.teacher).options
    options = json.dumps(dict(row.teacher_options), sort_keys=True)
    return f"{row.teacher} {options}" + (f" {generation}" if again else "")


def _label_name(key: str, teacher: str, number: int) -> str:
    return f"labels {key} by {teacher} {number}"


def _same(one: ModelFile, other: ModelFile) -> bool:
    """As with and without orders of goals where there are none."""
    return one.tensors.keys() == other.tensors.keys() and all(
        np.array_equal(one.tensors[name], other.tensors[name]) for name in one.tensors
    )


def label_job(
    problem: Problem,
    name: str,
    options: Mapping[str, Any],
    seed: int,
    states: int | None,
    effort: Effort,
) -> Attempt:
    """Labels of one problem; a status that says why if there are none. Raises OutOfResources for
    signals."""
    teacher = TEACHERS.find(name)
    chosen = teacher.settings(options)
    if "seed" in chosen:
        chosen["seed"] = seed
    if states is not None and "states" in chosen and "states" not in options:
        chosen["states"] = states
    if effort.work is not None:
        work = max(1, effort.work // WORK["ff" if name == "planner" else "lmcut"])
        chosen |= {n: work for n in ("max_evaluations", "max_expansions") if n in chosen}
        if "states" in chosen:
            chosen["states"] = min(chosen["states"], STATES_OF_WORK * effort.work)
    budget = effort.budget()
    while True:
        may_shrink = chosen.get("states", 0) > LEAST_STATES and budget.deadline
        share = budget.within(SAMPLING_SHARE * budget.seconds_left) if may_shrink else budget
        try:
            attempt: Attempt = teacher.label(problem, share, **chosen)
        except (*TOO_MUCH, ValueError) as error:  # ValueError: there is nothing to label
            raise_signals(error)
            attempt = Attempt(str(error))
        if not may_shrink or attempt.status != "out of time" or budget.seconds_left <= 0:
            return attempt
        chosen["states"] = max(LEAST_STATES, chosen["states"] // FEWER)


def fit_job(
    lesson: str,
    parts: Sequence[tuple[str, Problem, Attempt]],
    seed: int,
    row: ModelRow,
    minima: Mapping[str, Minima],
    effort: Effort,
) -> bytes | str:
    """The content of a model file, or why there is none. `lesson` names the labels. Raises
    OutOfResources for signals."""
    global _dataset
    try:
        if _dataset is None or _dataset[0] != lesson:
            _dataset = None
            _dataset = lesson, dataset_in_memory(parts)
        limits = Limits(effort.budget(), seed, effort.work)
        file = fit_for(row).run(Lesson(_dataset[1], minima), row, limits)
    except OutOfResources as error:
        raise_signals(error)
        late = error.status == "out of time"
        return "training takes too long" if late else f"training runs {error.status}"
    except (ValueError, FloatingPointError, MemoryError) as error:
        return str(error) or "out of memory"
    return "training takes too long" if file is None else to_bytes(file)
