"""`hstar plan`: solve a problem."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from hstar import _core
from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error, input_files
from hstar.pddl import parse
from hstar.pddl.errors import escape
from hstar.planning.heuristics import HEURISTICS
from hstar.planning.result import SearchResult, stopped_before_search
from hstar.planning.search import run as search
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.atomic import check_writable, write_atomically
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.loader import load_search

HELP = "solve a problem"
DESCRIPTION = f"""\
Solve a planning problem. Without flags the default planner searches: {DEFAULT_PLANNER.describe()}.
"""


def add_arguments(parser: Parser) -> None:
    parser.add_files()
    parser.add_search()
    parser.add("--learn TIME", "learn a heuristic for this problem for at most TIME, such as 60s")
    parser.add("--plan-file FILE", "file to write the plan to", default="sas_plan")
    parser.add_json()
    parser.add_limits()


def run(options: Options) -> int:
    start = _core.monotonic_seconds()
    domain_path, problem_path = input_files(options.files)
    say = print if not options.json else lambda *_, **__: None  # stdout is for the JSON object
    budget = options.start_budget()
    if budget.memory_bytes and options.heuristic not in (None, *HEURISTICS):
        import_module("numpy")  # which ends the process if it does not fit into a limit in force
    try:
        with budget.enforced(), as_usage_error():
            asked = options.specification()
            chosen = load_search(asked)
            first = chosen.searches()[0]
        if options.learn is not None:
            check_learn(options, chosen)
            # Its libraries end the process if they do not fit into a memory limit in force.
            import_module("hstar.learning.planning")
        check_writable(options.plan_file)
        log_limits("planner", budget, say)
        with budget.enforced():
            problem = parse(domain_path, problem_path)
            say(f"Domain: {problem.domain.name}. Problem: {problem.name}.")
            if asked.files and first.is_default_planner:
                say("The model did not beat the default planner when it was learned.")
            say(f"Search: {chosen.describe()}.")
            task = ground(problem, budget=budget, keep_irrelevant=options.keep_irrelevant)
            log_task(task, _core.monotonic_seconds() - start, say)
            log_limits("search", budget, say)
            if options.learn is None:
                result = search(task, chosen, budget)
            else:
                from hstar.learning.planning import plan_with_learning

                result = plan_with_learning(task, options.learn, budget, say)
    except OutOfResources as error:
        if options.json:
            print(stopped_before_search(error, _core.monotonic_seconds() - start).to_json())
        say(f"search exit code: {error.exit_code}")
        raise
    result = replace(result, total_time=_core.monotonic_seconds() - start)
    if result.solved:
        try:
            write_atomically(options.plan_file, result.plan_text)
        except OSError:
            print(result.to_json() if options.json else result.plan_text, file=options.loud)
            raise
    file = escape(options.plan_file)
    if result.unchecked is not None:
        place = f"it is in {file}, check it with 'hstar validate'"
        early = f"{result.unchecked} before the plan was validated"
        print(f"hstar: warning: {early}; {place}", file=sys.stderr)
    if options.json:
        print(result.to_json())
        return result.exit_code
    found_by = DEFAULT_PLANNER if result.found_by == "default" else first
    log_result(result, "the last search" if options.learn is not None else found_by.names)
    finder = {"default": "The default planner", "learned": "The learned search"}
    if result.found_by is not None:
        print(f"{finder[result.found_by]} found the plan; it is in {file}.")
    elif result.solved:
        print(f"The plan is in {file}.")
    return result.exit_code


def check_learn(options: Options, chosen: SearchSpecification) -> None:
    if chosen.searches() != [DEFAULT_PLANNER]:
        advice = "leave out -H, -s and others"
        raise UsageError(f"--learn takes turns with the default planner; {advice}")
    limit, asked = options.overall_time_limit, f"--learn {options.learn:g}s"
    if limit is not None and options.learn >= limit:
        raise UsageError(f"{asked} leaves no time to plan within {limit:g}s; give it less")


# The lines below are those of Fast Downward where it has one, so that tools that parse its logs,
# such as the parsers of Downward Lab, read these as well.


def log_limits(part: str, budget: Budget, say: Callable[..., None]) -> None:
    seconds = f"{budget.deadline - _core.monotonic_seconds():.2f}s" if budget.deadline else "None"
    memory = f"{budget.memory_bytes // 2**20} MB" if budget.memory_bytes else "None"
    say(f"{part} time limit: {seconds}")
    say(f"{part} memory limit: {memory}")


def log_task(task: Task, seconds: float, say: Callable[..., None]) -> None:
    say(f"Translator variables: {task.num_variables}")
    say(f"Translator facts: {task.num_facts}")
    say(f"Translator operators: {task.num_operators}")
    say(f"Translator peak memory: {_core.peak_resident_bytes() // 1024} KB")
    say(f"Done! [{time.process_time():.6f}s CPU, {seconds:.6f}s wall-clock]")
    say("translate exit code: 0")


def log_result(result: SearchResult, heuristic: str) -> None:
    if result.initial_h is not None:
        print(f"Initial heuristic value for {escape(heuristic)}: {value_text(result.initial_h)}")
    if result.solved:
        print("Solution found!")
        print("\n".join(result.plan or ()))
        print(f"Plan length: {result.plan_length} step(s).")
        print(f"Plan cost: {result.plan_cost}")
    else:
        print(f"No plan: {result.status}.")
    print(
        f"Expanded {result.expanded} state(s).",
        f"Reopened {result.reopened} state(s).",
        f"Evaluated {result.evaluated} state(s).",
        f"Evaluations: {result.evaluations}",
        f"Heuristic values requested: {result.requested}",
        f"Generated {result.generated} state(s).",
        f"Dead ends: {result.deadends} state(s).",
        f"Number of registered states: {result.states}",
        f"Bytes per state: {result.state_bytes}",
        f"Search time: {result.search_time:.6f}s",
        f"Total time: {result.total_time:.6f}s",
        f"Peak memory: {result.peak_memory_kb} KB",
        f"search exit code: {result.exit_code}",
        f"Planner time: {result.total_time:.6f}s",
        sep="\n",
    )


def value_text(h: float) -> str:
    """Whole numbers without a point or an exponent, as Fast Downward writes them."""
    if math.isinf(h):
        return "infinity"
    return str(int(h)) if h == int(h) else f"{h:g}"
