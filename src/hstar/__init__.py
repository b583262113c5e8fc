"""hstar learns heuristics for forward search and shows what they are worth.

    result = hstar.plan("problem.pddl", heuristic="ff", search="gbfs")
    outcome = hstar.learn("problems/train", "model.safetensors", seconds=600)
    result = hstar.plan("problem.pddl", heuristic="model.safetensors")

Files are PDDL unless said otherwise; a domain that is left out lies beside the problem, or above. A
heuristic is a name from HEURISTICS, a model file, "pdb:FILE,FILE" (pattern databases),
"module:attribute", a model from load_model, a function from states int32[B, V] to B numbers, or a
list of several. A search is a name from SEARCHES. Further `options` of a search are the fields of
SearchSpecification. Times are in seconds, memory in bytes; None is no limit unless said otherwise.

Wrong input files raise InputFileError (PddlError, ModelFileError, ...), options that do not fit
ValueError, limits that leave no result OutOfResources, and Ctrl-C KeyboardInterrupt.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if sys.argv[:1] == ["-m"] and "hstar" in sys.orig_argv and not sys.flags.safe_path:
    sys.path.pop(0)  # `python -m hstar` imports nothing that lies in the current directory

from hstar.runtime.exports import lazy
from hstar.runtime.version import VERSION as __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Any, TypeAlias

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from hstar.domains import WrittenSplit, generate
    from hstar.experiments.report import Comparison
    from hstar.learning import Outcome, Verdict
    from hstar.pddl import InputFileError, PddlError, Problem, UnsupportedPddlError
    from hstar.pddl.validate import Validation
    from hstar.planning import Puzzle, SearchResult, SearchSpecification, Task
    from hstar.planning.algorithms import SEARCHES
    from hstar.planning.heuristics import HEURISTICS, AnyHeuristic, Heuristic, MadeHeuristic
    from hstar.planning.space import Space
    from hstar.planning.task import load_task
    from hstar.runtime import Budget, OutOfResources
    from hstar.slots import LearnedHeuristic
    from hstar.slots.loader import load_model
    from hstar.slots.model_file import ModelFile, ModelFileError
    from hstar.slots.teachers import LabelSummary

    File: TypeAlias = str | PathLike[str]
    AnyHeuristics: TypeAlias = AnyHeuristic | Sequence[AnyHeuristic]
    Value: TypeAlias = bool | int | float | str | None  # of an option

__all__ = ["bench", "generate", "label", "learn", "plan", "report", "search", "solve", "train"]
__all__ += ["HEURISTICS", "SEARCHES", "__version__", "load_model", "load_task", "make_heuristic"]
__all__ += ["Budget", "Comparison", "Heuristic", "InputFileError", "LabelSummary", "validate"]
__all__ += ["LearnedHeuristic", "ModelFile", "ModelFileError", "OutOfResources", "Outcome"]
__all__ += ["PddlError", "Problem", "Puzzle", "SearchResult", "SearchSpecification", "Space"]
__all__ += ["Task", "UnsupportedPddlError", "Validation", "Verdict", "WrittenSplit"]

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__, __all__)

    def __dir__():
        return __all__


def plan(
    domain: File,
    problem: File | None = None,
    heuristic: AnyHeuristics | None = None,
    search: str | None = None,
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    keep_irrelevant: bool = False,
    **options: Value,
) -> SearchResult:
    """Solve a problem; the plan is validated before it is returned. With one file, it is the
    problem. The defaults are those of `hstar plan`; of memory half of what is left is the limit."""
    from hstar.pddl import parse
    from hstar.planning.search import plan_problem, uninterrupted
    from hstar.runtime.resources import raising_interrupts

    budget = _budget(time_limit, memory_limit)
    with raising_interrupts(), budget.enforced():
        chosen = _specified(heuristic, search, options)
        chosen.searches()  # raises what is wrong before the problem is read
        result = plan_problem(
            parse(domain, problem), chosen, budget, keep_irrelevant=keep_irrelevant
        )
        return uninterrupted(result)


def search(
    space: Space,
    heuristic: AnyHeuristics | None = None,
    algorithm: str | None = None,
    *,
    state: NDArray[np.int32] | None = None,
    budget: Budget | None = None,
    **options: Value,
) -> SearchResult:
    """Search for a plan of a task, or of a puzzle from a `state`. What is not said is as in `plan`,
    also that a model is used as its file recommends."""
    from hstar.planning.search import run, uninterrupted
    from hstar.runtime.resources import raising_interrupts

    with raising_interrupts():
        chosen = _specified(heuristic, algorithm, options)
        return uninterrupted(run(space, chosen, budget or _budget(None, None), state))


def solve(
    puzzle: str | Puzzle,
    heuristic: AnyHeuristics = "blind",
    search: str = "idastar",
    *,
    state: str | None = None,
    moves: str | None = None,
    scramble: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    **options: Value,
) -> SearchResult:
    """Solve a puzzle such as "cube3" or "tiles-4x4" from a state, from where some moves lead from
    the goal, or from a scramble of so many random moves. Limits are as in `plan`."""
    from hstar.planning.puzzle import make_puzzle
    from hstar.planning.search import run, uninterrupted
    from hstar.runtime.resources import raising_interrupts

    space = make_puzzle(puzzle) if isinstance(puzzle, str) else puzzle
    start = space.start(state, moves, scramble, seed)
    budget = _budget(time_limit, memory_limit)
    with raising_interrupts(), budget.enforced():
        return uninterrupted(run(space, _specified(heuristic, search, options), budget, start))


def make_heuristic(space: Space, heuristic: AnyHeuristic, cost: str = "normal") -> MadeHeuristic:
    """A heuristic for a space: a name, a file or a function. It evaluates states, and search takes
    it as well. `cost` is what an operator costs inside: "normal", "one" or "plusone"."""
    from hstar.planning.heuristics import MadeHeuristic
    from hstar.slots.loader import find_heuristic

    return MadeHeuristic(space, find_heuristic(heuristic), cost)


def learn(
    problems: File,
    output: File,
    *,
    domain: File | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    recipe: str | None = None,
    teacher: str | None = None,
    features: str | None = None,
    model: str | None = None,
    objective: str | None = None,
    options: Mapping[str, Value] | None = None,
    states: int | None = None,
    jobs: int | None = None,
    seed: int = 0,
    memory_limit: int | None = None,
    say: Callable[[str], None] | None = None,
) -> Outcome:
    """Learn a heuristic from a folder of problems or from one problem, choose a search for it, and
    judge both; `hstar learn --help` says more. `steps` count work in place of time. Without a model
    the outcome's `file` is None and nothing is written. `say` is told what happens. A call that was
    stopped goes on when it is repeated."""
    import warnings
    from pathlib import Path

    from hstar.learning.from_files import learn_from_files, learn_options
    from hstar.learning.recipe import SlotChoice, find_recipe
    from hstar.runtime.resources import Budget, raising_interrupts

    budget = Budget.starting_now(None, memory_limit)
    choice = SlotChoice(teacher, features, model, objective, options or {})
    chosen = find_recipe(recipe, Path(problems).is_dir(), choice, states)
    work = learn_options(chosen, budget, seconds, steps, seed, jobs)
    with raising_interrupts():
        tell, files = say or (lambda _: None), (problems, domain)
        return learn_from_files(files, output, chosen, work, budget, tell, warnings.warn)


def label(
    folder: File,
    output: File,
    teacher: str = "optimal",
    *,
    options: Mapping[str, Value] | None = None,
    time_limit: float | None = 300.0,
    memory_limit: int | None = 8 << 30,
    jobs: int | None = None,
    retries: int = 20,
    cost: str = "one",
    limit_problems: int | None = None,
    seed: int | None = None,
) -> LabelSummary:
    """Label states of the problems of a folder with their cost to the goal; `output` is a Parquet
    file. Limits are for each attempt. A call that was stopped goes on when it is repeated."""
    from hstar.slots.teachers import LabelOptions
    from hstar.slots.teachers import label as label_folder

    chosen = LabelOptions(
        teacher=teacher,
        options=options or {},
        time_limit=time_limit,
        memory_limit=memory_limit,
        jobs=jobs,
        retries=retries,
        cost=cost,
        limit_problems=limit_problems,
        seed=seed,
    )
    return label_folder(folder, output, chosen)


def train(
    labels: File,
    output: File,
    fit: str = "torch",
    *,
    model: str | None = None,
    features: str | None = None,
    objective: str | None = None,
    options: Mapping[str, Value] | None = None,
    validation: File | None = None,
    steps: int | None = None,
    seed: int = 0,
    threads: int = 1,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> ModelFile:
    """Learn a model from labels: in torch, or in the core, "linear" on features wl or "mlp" on the
    facts of one problem. `options` are those of features, model, objective and training. Without
    labels for validation a tenth of the problems chooses weights in torch."""
    from hstar.runtime.resources import Budget, raising_interrupts
    from hstar.training.fit import Limits
    from hstar.training.from_labels import train_from_labels

    limits = Limits(Budget.starting_now(time_limit, memory_limit), seed, steps, threads)
    slots = {"model": model, "features": features, "objective": objective}
    with raising_interrupts(), limits.budget.enforced():
        return train_from_labels(
            labels, output, fit, limits, **slots, options=options, validation=validation
        )


def bench(
    suites: Sequence[File],
    heuristics: Sequence[File] = ("ff",),
    searches: Sequence[str] = (),
    *,
    specifications: Sequence[SearchSpecification] = (),
    time_limit: float | None = 300.0,
    memory_limit: int | None = 4 << 30,
    jobs: int = 1,
    seed: int | None = None,
    output: File | None = None,
    **options: Value,
) -> pl.DataFrame:
    """Run all heuristics with all searches, and further specifications, on all problems of suites:
    one row per run, which `output` gets as well. Limits are for each run. With an `output`, a call
    that was stopped goes on when it is repeated."""
    from hstar.experiments.bench import BenchOptions, run_bench

    chosen = BenchOptions(
        suites=suites,
        heuristics=heuristics,
        searches=searches,
        shared=_specified(None, None, options),
        specifications=specifications,
        time_limit=time_limit,
        memory_limit=memory_limit,
        jobs=jobs,
        seed=seed,
        output=output,
    )
    return run_bench(chosen)


def report(runs: Sequence[File], output: File, title: str = "Benchmark") -> Comparison:
    """Write one HTML page about files of `bench`."""
    from hstar.experiments.report.runs import write_report

    return write_report(runs, output, title)


def validate(problem: File, plan: File | Sequence[str], domain: File | None = None) -> Validation:
    """Replay a plan, a file or a list of steps "(name object ...)", without the code of the search.
    A wrong plan raises nothing: the answer says what is wrong with it."""
    import os

    from hstar.pddl import parse
    from hstar.pddl.planfile import read_plan, read_step
    from hstar.pddl.validate import validate as replay

    steps = read_plan(plan) if isinstance(plan, (str, os.PathLike)) else list(map(read_step, plan))
    return replay(parse(problem) if domain is None else parse(domain, problem), steps)


def _specified(
    heuristic: AnyHeuristics | None, search: str | None, options: Mapping[str, Value]
) -> SearchSpecification:
    from hstar.planning.specification import SearchSpecification
    from hstar.slots.loader import load_search

    given: dict[str, Any] = dict(options)
    return load_search(SearchSpecification(heuristic, search, **given))


def _budget(time_limit: float | None, memory_limit: int | None) -> Budget:
    """Without a limit of memory, half of what is left."""
    from hstar.runtime.resources import Budget

    memory = Budget.by_default().memory_bytes if memory_limit is None else memory_limit
    return Budget.starting_now(time_limit, memory)
