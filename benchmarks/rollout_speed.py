"""How fast learning by doing is: steps of RTDP, and searches with the model that it learns.

    python benchmarks/rollout_speed.py SUITE [--domains blocks,ferry] [--preset paper]

SUITE holds a folder per domain: domain.pddl, train/*.pddl and test/*.pddl. One step values the
successors of a state and updates the network on a batch, whose targets need the values of all its
successors. The first steps, which fill the buckets, are not counted. Searches are greedy best-first
with that model, on the largest test problem (the last by name). All figures are
per second of CPU time of one thread, so other work on the machine hardly changes them.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from hstar.experiments.report import markdown_table
from hstar.pddl import parse
from hstar.planning.search import run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.training.reinforcement.rtdp import Rtdp, RtdpSettings, find_preset

SHALLOW = {"satellite": 4, "logistics": 4}  # the depth the paper used there
DOMAINS = ["blocks", "ferry", "gripper", "logistics", "miconic", "parking", "satellite", "visitall"]
WANTED_STEPS = {"blocks": 500}
LEAST_STEPS = 50
WANTED_EVALUATIONS = {"blocks": 500, "parking": 500, "satellite": 200, "logistics": 150}


def load(folder: Path, limit: int | None) -> list[Task]:
    problems = sorted((folder / "train").glob("*.pddl"))
    # Some of every size.
    problems = problems[:: max(1, len(problems) // limit)][:limit] if limit else problems
    return [ground(parse(folder / "domain.pddl", problem)) for problem in problems]


def steps_done(learner: Rtdp) -> int:
    return int(learner.core.memory()["counters"][0])


def steps_per_second(learner: Rtdp, warm_up: int, steps: int) -> float:
    """Of a fixed number, so that faster code does the same work: later states are larger."""
    learner.run(warm_up)
    first, start = steps_done(learner), time.process_time()
    learner.run(first + steps)
    return (steps_done(learner) - first) / (time.process_time() - start)


def evaluations_per_second(folder: Path, learner: Rtdp, seconds: float) -> tuple[float, int]:
    """Evaluations per second, and the number of objects of the problem."""
    task = ground(parse(folder / "domain.pddl", max((folder / "test").glob("*.pddl"))))
    model = learner.model_file(learner.core.memory()["theta"], {})
    evaluations = 64
    while True:
        heuristic = LearnedHeuristic(model, "rollouts.safetensors")
        start = time.process_time()
        result = run(
            task, SearchSpecification(heuristic, "gbfs", max_evaluations=evaluations), Budget()
        )
        used = time.process_time() - start
        if used >= seconds or result.evaluated < evaluations // 2:
            return result.evaluated / used, len(task.problem.objects)
        evaluations *= 2


def settings_of(preset: str, domain: str) -> RtdpSettings:
    settings = replace(find_preset(preset), updates=10**9)
    return replace(settings, depth=SHALLOW.get(domain, settings.depth))


def row(folder: Path, domain: str, arguments: argparse.Namespace) -> list[str]:
    tasks = load(folder, arguments.problems)
    learner = Rtdp(tasks, settings_of(arguments.preset, domain), seed=0)
    steps = steps_per_second(learner, arguments.warm_up, arguments.steps)
    evaluations, objects = evaluations_per_second(folder, learner, arguments.seconds)
    return [
        domain,
        f"{WANTED_STEPS.get(domain, LEAST_STEPS)}",
        f"{steps:.0f}",
        f"{objects}",
        f"{WANTED_EVALUATIONS.get(domain, '')}",
        f"{evaluations:.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", type=Path, help="a folder with one folder per domain")
    parser.add_argument("--domains", default=",".join(DOMAINS), help="separated by commas")
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a search, at least")
    parser.add_argument("--warm-up", type=int, default=200, help="steps before the measurement")
    parser.add_argument("--steps", type=int, default=300, help="steps that are measured")
    parser.add_argument("--problems", type=int, help="training problems at most (default: all)")
    arguments = parser.parse_args()
    headers = [
        "domain",
        "wanted",
        "steps/s",
        "largest problem's objects",
        "wanted",
        "evaluations/s",
    ]
    rows = []
    for domain in arguments.domains.split(","):
        rows.append(row(arguments.suite / domain, domain, arguments))
        print("|", " | ".join(rows[-1]), "|", flush=True)
    print(markdown_table(headers, rows))


if __name__ == "__main__":
    main()
