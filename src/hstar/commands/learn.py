"""`hstar learn`: a heuristic for a domain or for one problem, and whether it is worth using."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error, seed
from hstar.pddl.errors import escape

if TYPE_CHECKING:
    from hstar.learning.pipeline import Outcome

NOTHING_LEARNED = 12

HELP = "learn a heuristic for a domain or for one problem"
DESCRIPTION = """\
Learn a heuristic, choose a search for it, and compare both with the default planner.

From a folder of problems: a heuristic for all problems of their domain. It learns from the smaller
problems, chooses on larger ones, and judges on others. From one problem: a heuristic for all
problems with its domain, objects and goal. With --teacher rollouts it learns by reinforcement
learning: it searches on the problems again and again, and learns from what happens. With --teacher
policy it learns which actions to take, by policy gradients.

Use the result with 'hstar plan PROBLEM -H FILE', which obeys the verdict. Ctrl-C ends the run with
the best so far. To go on with a run that was stopped, run the same command again.
"""


def add_arguments(parser: Parser) -> None:
    about = "what to learn from; DOMAIN may be left out when domain.pddl lies with the problems"
    parser.add_argument("files", nargs="+", metavar="[DOMAIN] PROBLEM|FOLDER", help=about)
    parser.add("-o --output FILE", "the model, a .safetensors file", required=True)
    about = "total time, verdict included (default: 10m for a folder, 2m for a problem)"
    parser.add("--time TIME", about)
    parser.add("--steps N", "count work instead of time, which gives the same file each time")
    about = "what to choose from: domain, problem, rollouts or policy (default: as the input)"
    parser.add("--recipe NAME", about)
    about = "where labels come from, in place of the recipe's, see 'hstar label --teachers'"
    parser.add("--teacher NAME", about)
    parser.add("--features NAME", "what a model sees of a state, see 'hstar train --help'")
    parser.add("--model NAME", "the kind of model, see 'hstar train --help'")
    parser.add("--objective NAME", "what training minimises, see 'hstar train --help'")
    about = "an option of the teacher, the features or the model; may be repeated"
    parser.add("--option NAME=VALUE", about, action="append", default=[])
    parser.add("--states N", "for a teacher that samples: how many (default for a problem: 100000)")
    parser.add("--jobs N", "processes at a time (default: one per core)")
    parser.add("--seed N", "random seed", seed, default=0)
    parser.add_json()
    parser.add_limits()


def run(options: Options) -> int:
    budget = options.start_budget()
    from hstar.learning.from_files import learn_from_files, learn_options
    from hstar.learning.recipe import SlotChoice, find_recipe
    from hstar.slots.model_file import check_output

    def say(line: str) -> None:
        if not options.json:
            print(escape(line))

    def warn(line: str) -> None:
        print(f"hstar: {escape(line)}", file=sys.stderr)

    if len(options.files) > 2:
        raise UsageError("expected FOLDER or [DOMAIN] PROBLEM, at most two files")
    if options.steps is not None and options.time is not None:
        raise UsageError("give --time or --steps, not both")
    *domain, path = options.files
    with as_usage_error():
        check_output(options.output)
        slots = options.values_of("teacher features model objective")
        choice = SlotChoice(**slots, options=options.named_values())
        recipe = find_recipe(options.recipe, Path(path).is_dir(), choice, options.states)
        given = options.time, options.steps, options.seed, options.jobs
        work = learn_options(recipe, budget, *given)
    files = path, *domain, None
    try:
        found = learn_from_files(files[:2], options.output, recipe, work, budget, say, warn)
    except ValueError as error:
        raise UsageError(f"nothing can be learned from {path}: {error}") from error
    options.tell(found.to_dict(), lines_of(found, escape(options.output)))
    return 0 if found.file is not None else NOTHING_LEARNED


def lines_of(found: Outcome, output: str) -> Iterator[str]:
    from hstar.slots.model_file import code_outside

    yield f"Verdict: {found.verdict.sentence}."
    if found.file is None:
        return
    trust = " --trust" if code_outside(found.file.metadata) else ""
    command = f"'hstar plan PROBLEM -H {output}{trust}'"
    advice = f"use it with {command}."
    if found.verdict.use == "default":
        advice = f"{command} runs the default planner, and with -s gbfs the model."
    yield f"The model is in {output}; {advice}"
