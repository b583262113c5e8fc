"""How the heuristics of the columns are learned, all from the same training problems.

    H^...          real-time dynamic programming with the paper's settings and a potential
    own            'hstar learn FOLDER --teacher rollouts': the same with hstar's settings
    hgn            STRIPS-HGN on optimal plans: squared error to h*
    gnn            a graph network as policy and value, by proximal policy optimisation
    rollouts       as own, for a time instead of a number of steps
    label + train  'hstar label' and 'hstar train', for the same time

No learner sees a test problem. The paper's learner keeps its last weights, the others those that
are best on held-out training problems (the policy: in training).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hstar.learning.rollouts import RolloutLearner, usable_tasks
from hstar.papers.experiment import say_nothing
from hstar.papers.reward_shaping.problems import PRINTED, DomainProblems
from hstar.papers.reward_shaping.scales import Study
from hstar.pddl import find_domain, parse
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.model_file import ModelFile
from hstar.training.reinforcement.presets import RtdpSettings, changed, find_preset
from hstar.training.reinforcement.rtdp import Rtdp

if TYPE_CHECKING:
    from hstar.training.dataset import Dataset
    from hstar.training.options import TrainOptions

HELD_OUT = 0.1  # of the labelled problems, to choose weights on


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a learner gets. `scratch` is a folder for files that it needs on the way."""

    problems: DomainProblems
    study: Study
    seed: int
    budget: Budget
    scratch: Path
    device: str

    def tasks(self) -> list[Task]:
        files = [entry.path for entry in self.problems.train]
        problems = [parse(find_domain(path), path) for path in files]
        return usable_tasks(problems, self.budget, say_nothing)


@dataclass(frozen=True, slots=True)
class Learned:
    """`facts` are for the tables: steps, and for rollouts the steps at which goals were reached."""

    file: ModelFile
    facts: dict[str, Any]


class Learner(Protocol):
    def learn(self, lesson: Lesson) -> Learned:
        """Raises ValueError for problems that it cannot learn on, and OutOfResources."""


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Real-time dynamic programming with the paper's settings, changed by `options`; the last
    weights. The paper's network has another depth for some domains."""

    options: Mapping[str, Any] = field(default_factory=dict)

    def learn(self, lesson: Lesson) -> Learned:
        printed = PRINTED.get(lesson.problems.domain)
        depth = {"depth": printed["layers"]} if printed else {}
        steps = lesson.study.steps["paper"]
        settings = changed(find_preset("paper"), updates=steps, **depth, **self.options)
        return learn_by_steps(lesson.tasks(), settings, lesson.seed, lesson.budget)


def learn_by_steps(tasks: list[Task], settings: RtdpSettings, seed: int, budget: Budget) -> Learned:
    learner = Rtdp(tasks, settings, seed, budget=budget)
    learner.run(settings.updates)
    training = {"settings": settings.to_dict(), "seed": seed, "problems": len(tasks)}
    return Learned(learner.model_file(learner.weights(), training), facts_of(learner))


def facts_of(learner: Rtdp) -> dict[str, Any]:
    counted = learner.counters()
    facts: dict[str, Any] = {n: int(counted[n]) for n in ("steps", "updates", "episodes", "goals")}
    return {**facts, "goal_steps": learner.memory()[0]["goal_steps"].tolist()}


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What hstar learns from a folder: for some steps, or with `is_timed` for as long as the study
    says."""

    is_timed: bool = False

    def learn(self, lesson: Lesson) -> Learned:
        start, study = time.monotonic(), lesson.study
        settings, seconds, checkpoint = find_preset("own"), study.learn, None
        if not self.is_timed:
            settings, seconds = changed(settings, updates=study.steps["own"]), math.inf
            checkpoint = lesson.scratch / "learner.safetensors"
        tasks = lesson.tasks()
        left = seconds - (time.monotonic() - start)
        about = tasks, settings, lesson.seed, lesson.budget, say_nothing, left
        learner = RolloutLearner(*about, checkpoint=checkpoint)
        found = learner.run()
        if found.interrupted:
            raise KeyboardInterrupt
        if found.file is None:
            raise ValueError("the time was over before anything was learned")
        return Learned(found.file, facts_of(learner.rtdp))


@dataclass(frozen=True, slots=True)
class Labelled:
    """Optimal plans, then supervised learning: for some steps, or with `is_timed` for as long as
    the study says, labelling included."""

    model: str
    objective: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_timed: bool = False

    def learn(self, lesson: Lesson) -> Learned:
        from hstar.slots.teachers import LabelOptions, label
        from hstar.training.dataset import load_dataset

        start = time.monotonic()
        study, labels = lesson.study, lesson.scratch / "labels.parquet"
        limit = study.label_limit
        if self.is_timed:  # labelling takes half the time at most
            limit = study.learn / 2 / len(lesson.problems.train)
        memory = lesson.budget.memory_bytes or None
        asked = LabelOptions(time_limit=limit, memory_limit=memory, jobs=1, retries=0)
        summary = label(lesson.problems.train_folder, labels, asked)
        if summary.solved < 2:
            raise ValueError(f"optimal plans were found for {summary.solved} training problems")
        labelling = time.monotonic() - start
        data = load_dataset(labels).split(HELD_OUT, seed=0)
        end = start + study.learn if self.is_timed else None
        file, facts = self._train(data, lesson, end)
        return Learned(file, {"labelled": summary.solved, "label_seconds": labelling, **facts})

    def _train(
        self, data: tuple[Dataset, Dataset], lesson: Lesson, end: float | None
    ) -> tuple[ModelFile, dict[str, Any]]:
        import torch

        from hstar.slots.objectives import make_objective
        from hstar.training.options import TrainOptions, default_options
        from hstar.training.train import prepare

        torch.set_num_threads(1)
        objective = make_objective(self.objective, **self.options)
        given = {**default_options(self.model, objective), "seed": lesson.seed, "patience": 0}
        options = TrainOptions(self.model, objective=objective, device=lesson.device, **given)
        if end is None:
            steps = lesson.study.steps[self.model]
        else:
            steps = _affordable_steps(data, options, end)
        every = max(1, min(options.evaluate_every, steps // 10))
        prepared = prepare(*data, replace(options, steps=steps, evaluate_every=every))
        # Where time ends it, it must not end later for having been stopped.
        checkpoint = lesson.scratch / "training.safetensors" if end is None else None
        prepared.loop.run(checkpoint, deadline=end)
        if not prepared.loop.curve:
            raise ValueError("the time was over before the first steps of training were done")
        return prepared.model_file(), {"steps": prepared.loop.step}


def _affordable_steps(data: tuple[Dataset, Dataset], options: TrainOptions, end: float) -> int:
    """How many steps fit until then, by the time of a few: the learning rate falls to its end."""
    from hstar.training.train import prepare

    few = 10
    trial = prepare(*data, replace(options, steps=few, evaluate_every=few)).loop
    trial.run()
    return max(few, int(0.9 * (end - time.monotonic()) / trial.seconds * few))


@dataclass(frozen=True, slots=True)
class Policy:
    """A graph network by proximal policy optimisation, reward 1 at the goal."""

    def learn(self, lesson: Lesson) -> Learned:
        import torch

        from hstar.training.reinforcement.ppo import PPOOptions, train_policy

        torch.set_num_threads(1)
        options = PPOOptions(seed=lesson.seed, updates=lesson.study.steps["gnn"])
        checkpoint = lesson.scratch / "policy.partial"
        trained = train_policy(lesson.problems.train_folder, options, checkpoint)
        steps = int(sum(row["steps"] for row in trained.history))
        return Learned(trained.file, {"steps": steps})


POTENTIALS: dict[str, Mapping[str, Any]] = {
    "H^blind": {"potential": "none"},
    "H^add": {"heuristic": "hadd"},
    "H^FF": {"heuristic": "ff"},
}
LEARNERS: dict[str, Learner] = {
    **{name: Dynamic(options) for name, options in POTENTIALS.items()},
    "own": Rollouts(),
    "hgn": Labelled("hgn", "squared", {"base": "none"}),
    "gnn": Policy(),
    "rollouts": Rollouts(is_timed=True),
    "label + train": Labelled("nlm", "truncated-gaussian", is_timed=True),
}
