"""How the heuristics of the columns are learned, all from the same training problems.

    H^...          real-time dynamic programming with the paper's settings, or in the study "as-run"
                   with those of the authors' code, and a potential
    compatibility  as H^FF, for some time at most: does it work on a domain at all?
    own            'hstar learn FOLDER --teacher rollouts': the same with hstar's settings
    hgn            STRIPS-HGN on optimal plans: squared error to h*
    variants       one setting of a preset changed: which of them matter?
    gnn            a graph network as policy and value, by proximal policy optimisation
    rollouts       as own, for a time instead of a number of steps
    label + train  'hstar label' and 'hstar train', for the same time

No learner sees a test problem. The paper's learner keeps its last weights, the others those that
are best on held-out training problems (the policy: in training).
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hstar.experiments.study import (
    Column,
    Learner,
    LearnerTask,
    Learnt,
    read_columns,
    read_toml,
)
from hstar.learning import usable_tasks
from hstar.planning import Task
from hstar.runtime import OutOfResources
from hstar.slots.objectives import Objective, make_objective
from hstar.slots.teachers import LabelOptions, label
from hstar.training import TrainOptions, default_options, load_dataset, prepare
from hstar.training.fit import ActingLearner, Lesson, Limits, rtdp_settings
from hstar.training.reinforcement import PPOOptions, Rtdp, find_preset, train_policy

if TYPE_CHECKING:
    from hstar.training import Dataset

HELD = read_toml(__file__, "published.toml")
PRINTED: dict[str, Any] = HELD["domains"]
PAPER, AS_RUN, ABLATION = "paper", "as-run", "ablation"  # names of studies
EQUAL_TIME = "equal-time"
OWN_PRESET = "own"
APPENDIX = "compatibility"  # its study, learner and column
CHOOSING = 0.2  # of the problems, to choose weights of reinforcement learning on
HELD_OUT = 0.1  # of the labelled problems, to choose weights on


def tasks_of(lesson: LearnerTask) -> list[Task]:
    problems = [entry.problem() for entry in lesson.subject.train]
    return usable_tasks(problems, lesson.budget, lambda _: None)


def dynamic_programming(
    lesson: LearnerTask, is_timed: bool = False, preset: str = "", **options: Any
) -> Learnt:
    """Real-time dynamic programming with a preset, that of the study or else the paper's, changed
    by options; the last weights. The paper's network has another depth for some domains."""
    study, printed = lesson.study, PRINTED.get(lesson.subject.domain)
    depth = {"depth": printed["train"]["layers"]} if printed else {}
    chosen = find_preset(preset or (AS_RUN if study.name == AS_RUN else PAPER))
    settings = replace(chosen, updates=study.steps["paper"], **depth, **options)
    tasks = tasks_of(lesson)
    learner = Rtdp(tasks, settings, lesson.seed, budget=lesson.budget)
    learner.budget = lesson.budget.within(study.learn) if is_timed else lesson.budget
    try:
        learner.run(settings.updates)
    except OutOfResources as error:
        if not is_timed or error.status != "out of time":
            raise
    training = {"settings": settings.to_dict(), "seed": lesson.seed, "problems": len(tasks)}
    facts = {"problems": len(lesson.subject.train), **facts_of(learner)}
    return Learnt(learner.model_file(learner.weights(), training), facts)


def blind(lesson: LearnerTask) -> Learnt:
    """Without a potential; the authors' code has the blind heuristic, 1 at states that are no
    goals."""
    if lesson.study.name == AS_RUN:
        return dynamic_programming(lesson, heuristic="blind")
    return dynamic_programming(lesson, potential="none")


def facts_of(learner: Rtdp) -> dict[str, Any]:
    counted = learner.counters()
    facts: dict[str, Any] = {n: int(counted[n]) for n in ("steps", "updates", "episodes", "goals")}
    return {**facts, "goal_steps": learner.memory()[0]["goal_steps"].tolist()}


def from_rollouts(lesson: LearnerTask, is_timed: bool = False, **options: Any) -> Learnt:
    """What hstar learns by reinforcement, with its own settings changed by options: for some steps,
    or for as long as the study says. Larger training problems choose weights."""
    if is_timed:
        limits = Limits(lesson.budget.within(lesson.study.learn), lesson.seed)
    else:
        file = lesson.scratch / "learner.safetensors"
        limits = Limits(lesson.budget, lesson.seed, lesson.study.steps["own"], checkpoint=file)
    tasks = sorted(tasks_of(lesson), key=lambda task: (len(task.problem.objects), task.num_facts))
    held = max(1, round(CHOOSING * len(tasks))) if len(tasks) > 2 else 0
    parts = Lesson(tasks=tasks[: len(tasks) - held], others=tasks[len(tasks) - held :] or tasks)
    learner = ActingLearner(parts, rtdp_settings(options, limits.steps), limits)
    found = learner.run()
    if found is None:
        raise ValueError("the time was over before anything was learned")
    return Learnt(found, facts_of(learner.rtdp))


def label_and_train(
    lesson: LearnerTask, model: str, objective: Objective, is_timed: bool = False
) -> Learnt:
    """Optimal plans, then supervised learning: for some steps, or for as long as the study says,
    labelling included."""
    start, study = time.monotonic(), lesson.study
    import torch

    torch.set_num_threads(1)
    labels, limit = lesson.scratch / "labels.parquet", study.label_limit
    if is_timed:  # labelling takes half the time at most
        limit = study.learn / 2 / len(lesson.subject.train)
    memory = lesson.budget.memory_bytes or None
    asked = LabelOptions(time_limit=limit, memory_limit=memory, jobs=1, retries=0)
    solved = label(lesson.subject.train_folder, labels, asked).solved
    if solved < 2:
        raise ValueError(f"optimal plans were found for {solved} training problems")
    labelling = time.monotonic() - start
    data = load_dataset(labels).split(HELD_OUT, seed=0)
    end = start + study.learn if is_timed else None
    given = {**default_options(model, objective), "seed": lesson.seed, "patience": 0}
    options = TrainOptions(model, objective=objective, device=lesson.device, **given)
    steps = study.steps[model] if end is None else _affordable_steps(data, options, end)
    every = max(1, min(options.evaluate_every, steps // 10))
    loop = prepare(*data, replace(options, steps=steps, evaluate_every=every))
    # Where time ends it, it must not end later for having been stopped.
    checkpoint = lesson.scratch / "training.safetensors" if end is None else None
    loop.run(checkpoint, deadline=end)
    if not loop.curve:
        raise ValueError("the time was over before the first steps of training were done")
    facts = {"labelled": solved, "label_seconds": labelling, "steps": loop.step}
    return Learnt(loop.model_file(), facts)


def _affordable_steps(data: tuple[Dataset, Dataset], options: TrainOptions, end: float) -> int:
    """How many steps fit until then, by the time of a few: the learning rate falls to its end."""
    few = 10
    trial = prepare(*data, replace(options, steps=few, evaluate_every=few))
    trial.run()
    return max(few, int(0.9 * (end - time.monotonic()) / trial.seconds * few))


def policy_gradient(lesson: LearnerTask) -> Learnt:
    """A graph network by proximal policy optimisation, reward 1 at the goal."""
    import torch

    torch.set_num_threads(1)
    options = PPOOptions(seed=lesson.seed, updates=lesson.study.steps["gnn"])
    checkpoint = lesson.scratch / "policy.partial"
    trained = train_policy(lesson.subject.train_folder, options, checkpoint)
    return Learnt(trained.file, {"steps": int(sum(row["steps"] for row in trained.history))})


def varied(lesson: LearnerTask, preset: str, **options: Any) -> Learnt:
    """With h^FF and a preset of which some settings are changed."""
    if preset == OWN_PRESET:
        return from_rollouts(lesson, **options)
    return dynamic_programming(lesson, preset=preset, heuristic="ff", **options)


ABLATION_OF: dict[str, dict[str, Any]] = read_toml(__file__, "scales.toml")["variants"]
LEARNERS: dict[str, Learner] = {
    **{name: partial(varied, **held) for name, held in ABLATION_OF.items()},
    "H^blind": blind,
    "H^add": partial(dynamic_programming, heuristic="hadd"),
    "H^FF": partial(dynamic_programming, heuristic="ff"),
    APPENDIX: partial(dynamic_programming, heuristic="ff", is_timed=True),
    "own": from_rollouts,
    "hgn": partial(label_and_train, model="hgn", objective=make_objective("squared", base="none")),
    "gnn": policy_gradient,
    "rollouts": partial(from_rollouts, is_timed=True),
    "label + train": partial(
        label_and_train, model="nlm", objective=make_objective("truncated-gaussian"), is_timed=True
    ),
}

COLUMNS = read_columns(__file__) | {
    name: Column(name, base="h^FF", has_seeds=True) for name in ABLATION_OF
}
BASES = ("h^blind", "h^add", "h^FF")
SHAPED = ("H^blind", "H^add", "H^FF")
PEERS = ("GBFS-HGN", "GBFS-H", "GBFS-V", "GBFLS-H", "GBFLS-V")
OWN, BESIDE_BASE = "own H", "own H + h^FF"
