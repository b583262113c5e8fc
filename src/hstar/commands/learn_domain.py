"""`hstar learn FOLDER`: a heuristic for a domain, the search to use it with, and a verdict."""

from __future__ import annotations

import argparse
import json
import math
import os

from hstar import _core
from hstar.commands.arguments import UsageError, budget_of
from hstar.commands.learning_run import output_file, read_problems, run_learner

SECONDS = 600.0  # if nothing is said
MEMORY = 4 * 2**30  # of all processes, unless a limit is given
WORKER_MEMORY = 2**30  # the same on any number of cores: what it allows decides the result
LARGEST_SHARE = 0.02  # of the time, to ground a problem
SPENT = "spent"


def run_domain(options: argparse.Namespace) -> int:
    start = _core.monotonic_seconds()
    budget = budget_of(options)
    from hstar.learning.domain import DomainLearner, DomainOptions
    from hstar.learning.domain_outcome import DomainOutcome
    from hstar.learning.rollouts import usable_tasks
    from hstar.runtime.code import code_digest
    from hstar.runtime.journal import Journal, digest_of
    from hstar.runtime.resources import Budget
    from hstar.slots.teachers.folder import content_digest

    for name in ("objective", "states", "width"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} is for one problem; a folder needs none")
    if options.option:
        raise UsageError("--option belongs to a teacher; name it with --teacher")
    if options.steps is not None and options.time is not None:
        raise UsageError("give --time or --steps, not both")
    output_file(options)
    problems = read_problems(options.files)
    chosen = DomainOptions(options.time or SECONDS, options.steps, options.seed)
    total = budget.memory_bytes or MEMORY
    memory = min(WORKER_MEMORY, total // 2)
    processes = max(1, min(len(os.sched_getaffinity(0)), total // memory - 1))
    described = {
        "seconds": chosen.seconds,
        "steps": chosen.steps,
        "seed": chosen.seed,
        "memory": memory,
        "problems": digest_of(json.dumps([digest for digest, _ in problems])),
        "code": code_digest(),
    }

    def say(line: str) -> None:
        if not options.json:
            print(line, flush=True)

    def learn(journal: Journal) -> DomainOutcome:
        spent = float(json.loads(journal.read(SPENT) or b"0"))

        def keep(name: str, content: bytes) -> None:
            journal.write(name, content)
            gone = spent + _core.monotonic_seconds() - start
            journal.write(SPENT, json.dumps(gone).encode())

        if spent:
            say(f"going on after {spent:.0f} s")
        left, each = math.inf, math.inf
        if chosen.steps is None:
            gone = spent + _core.monotonic_seconds() - start
            left, each = max(chosen.seconds - gone, 1e-9), LARGEST_SHARE * chosen.seconds
        own = Budget(budget.within(left).deadline, total - processes * memory)
        distinct = {content_digest(problem): problem for _, problem in problems}
        if len(distinct) < len(problems):
            say(f"left out: {len(problems) - len(distinct)} that say the same as others")
        tasks = usable_tasks(list(distinct.values()), own, say, max(each, 1.0))
        spent_now = spent + _core.monotonic_seconds() - start
        learner = DomainLearner(
            tasks, chosen, own, memory, say, processes, spent_now, journal.read, keep
        )
        split = learner.split
        say(
            f"{len(split.training)} problems to learn from, {len(split.choice)} larger ones to "
            f"choose by, {len(split.verdict)} for the verdict"
        )
        return learner.run()

    judged_on = "Held-out" if len(problems) > 1 else "On the training problem itself"
    return run_learner(options, budget, described, learn, judged_on)
