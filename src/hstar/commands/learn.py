"""`hstar learn`: a heuristic for a domain or for one problem, and whether it is worth using."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.commands.arguments import (
    Commands,
    UsageError,
    add_command,
    as_usage_error,
    budget_of,
    duration,
    input_files,
    named_values,
    positive,
    seed,
)
from hstar.pddl import Problem, parse
from hstar.pddl.errors import InputFileError, escape
from hstar.runtime.atomic import check_writable

if TYPE_CHECKING:
    from hstar.learning.outcome import Outcome
    from hstar.learning.recipe import Recipe

NOTHING_LEARNED = 12
MEMORY = 4 * 2**30  # of all processes, unless a limit is given
WORKER_MEMORY = 2**30  # the same on any number of cores: what it allows decides the result

DESCRIPTION = """\
Learn a heuristic, choose a search for it, and compare both with the default planner.

From a folder of problems: a heuristic for all problems of their domain. It learns from the smaller
problems, chooses on larger ones, and judges on others. From one problem: a heuristic for all
problems with its domain, objects and goal. With --teacher rollouts it learns by reinforcement
learning: it searches on the problems again and again, and learns from what happens.

Use the result with 'hstar plan PROBLEM -H FILE', which obeys the verdict. Ctrl-C ends the run with
the best so far. To go on with a run that was stopped, run the same command again.
"""


def add_parser(commands: Commands) -> None:
    about = "learn a heuristic for a domain or for one problem"
    parser = add_command(commands, "learn", about, run, DESCRIPTION)
    about = "DOMAIN may be left out when domain.pddl lies beside PROBLEM"
    parser.add_argument("files", nargs="+", metavar="[DOMAIN] PROBLEM|FOLDER", help=about)
    parser.add("-o --output FILE", "the model, a .safetensors file", required=True)
    about = "total time, verdict included (default: 10m for a folder, 2m for a problem)"
    parser.add("--time TIME", about, duration)
    about = "count work instead of time, which gives the same file each time"
    parser.add("--steps N", about, positive)
    about = "what to choose from: domain, problem or rollouts (default: what fits the input)"
    parser.add("--recipe NAME", about)
    about = "where labels come from, in place of the recipe's, see 'hstar label --teachers'"
    parser.add("--teacher NAME", about)
    parser.add("--features NAME", "what a model sees of a state, see 'hstar train --help'")
    parser.add("--model NAME", "the kind of model, see 'hstar train --help'")
    parser.add("--objective NAME", "what training minimises, see 'hstar train --help'")
    about = "an option of the teacher, the features or the model; may be repeated"
    parser.add("--option NAME=VALUE", about, action="append", default=[])
    about = "labelled by a teacher that samples (default for a problem: 100000)"
    parser.add("--states N", about, positive)
    parser.add("--jobs N", "processes at a time (default: one per core)", positive)
    parser.add("--seed N", "random seed", seed, default=0)
    parser.add_json()
    parser.add_limits()


def run(options: argparse.Namespace) -> int:
    budget = budget_of(options)
    from hstar.learning.options import LearnOptions
    from hstar.learning.pipeline import learn
    from hstar.runtime.code import code_digest
    from hstar.runtime.journal import Journal, digest_of
    from hstar.runtime.resources import Budget
    from hstar.slots.model_file import write_model

    if options.steps is not None and options.time is not None:
        raise UsageError("give --time or --steps, not both")
    if not options.output.endswith(".safetensors"):
        raise UsageError(f"the output must end in .safetensors, not '{options.output}'")
    output = Path(options.output)
    check_writable(output)
    with as_usage_error():
        recipe = chosen_recipe(options)
    problems = read_problems(options.files)
    total = budget.memory_bytes or MEMORY
    memory = min(WORKER_MEMORY, total // 2)
    cores = options.jobs or len(os.sched_getaffinity(0))
    chosen = LearnOptions(
        options.time or recipe.seconds,
        options.steps,
        options.seed,
        max(1, min(cores, total // memory - 1)),
        memory,
    )
    own = Budget(budget.deadline, total - chosen.processes * memory)
    settings = {
        "recipe": json.loads(json.dumps(asdict(recipe))),
        **{name: getattr(chosen, name) for name in ("seconds", "steps", "seed", "memory_bytes")},
        "problems": digest_of(json.dumps([digest for digest, _ in problems])),
        "code": code_digest(),
    }

    def say(line: str) -> None:
        if not options.json:
            print(escape(line), flush=True)

    journal = Journal(output, settings, warn)
    with journal.held():
        try:
            with budget.enforced():
                distinct = dict(problems)
                if len(distinct) < len(problems):
                    say(f"left out: {len(problems) - len(distinct)} that say the same as others")
                found = learn(list(distinct.values()), recipe, chosen, own, journal, say)
                if found.file is not None:
                    write_model(output, found.file)
        except ValueError as error:
            if isinstance(error, InputFileError):
                raise
            journal.remove()  # going on would end in the same way
            what = options.files[-1]
            raise UsageError(f"nothing can be learned from {what}: {error}") from error
        except BaseException:
            if journal.count():
                warn(kept_message(journal.path))
            else:
                journal.remove()
            raise
        if found.interrupted:
            warn(kept_message(journal.path))
        else:
            journal.remove()
    tell(options, found)
    return 0 if found.file is not None else NOTHING_LEARNED


def kept_message(path: Path) -> str:
    return f"what is finished is kept in {path}; run the same command again to go on"


def warn(line: str) -> None:
    print(f"hstar: {escape(line)}", file=sys.stderr)


def tell(options: argparse.Namespace, found: Outcome) -> None:
    if options.json:
        print(json.dumps(found.to_dict()))
        return
    print(f"Verdict: {found.verdict.sentence}.")
    if found.file is None:
        return
    output = escape(options.output)
    if found.verdict.use == "default":
        print(
            f"The model is in {output}; 'hstar plan PROBLEM -H {output}' runs the default planner, "
            "and with -s gbfs the model."
        )
    else:
        print(f"The model is in {output}; use it with 'hstar plan PROBLEM -H {output}'.")


def chosen_recipe(options: argparse.Namespace) -> Recipe:
    """The recipe that the input or the options ask for, with the slots that were named. Raises
    ValueError."""
    from hstar.learning.recipe import RECIPES, SlotChoice
    from hstar.pddl.errors import did_you_mean

    name = options.recipe
    if name is None:
        name = "domain" if Path(options.files[-1]).is_dir() else "problem"
        if options.teacher == "rollouts" and options.model is options.objective is None:
            name = "rollouts"
    if name not in RECIPES:
        hint, known = did_you_mean(name, RECIPES), ", ".join(RECIPES)
        raise ValueError(f"unknown recipe '{name}'{hint}; choose one of {known}")
    given: dict[str, Any] = dict(named_values(options.option))
    for own in given.keys() & {"states", "seed"}:
        raise ValueError(f"--option {own} is --{own} here")
    slots = ("teacher", "features", "model", "objective")
    choice = SlotChoice(**{slot: getattr(options, slot) for slot in slots}, options=given)
    recipe = choice.apply(RECIPES[name])
    return recipe if options.states is None else replace(recipe, states=options.states)


def read_problems(files: list[str]) -> list[tuple[str, Problem]]:
    """What each problem says, in a digest, and the problem: of a folder or of one file. Raises
    InputFileError, UsageError."""
    from hstar.pddl.problem import read_problem
    from hstar.pddl.source import source_from_bytes
    from hstar.slots.teachers.folder import content_digest, read_folder

    if not Path(files[-1]).is_dir():
        problem = parse(*input_files(files))
        return [(content_digest(problem), problem)]
    if len(files) > 1:
        raise UsageError("name the folder alone; its domain.pddl lies in it or above it")
    folder = read_folder(files[0])
    problems = []
    for one in folder.problems:
        path = str(folder.path / one.file)
        problem = read_problem(source_from_bytes(path, one.text.encode()), folder.domain)
        problems.append((content_digest(problem), problem))
    return problems
