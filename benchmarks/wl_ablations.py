"""What each part of learning for a domain is worth, by coverage.

    python benchmarks/wl_ablations.py SUITE -o FOLDER [--labels 60] [--limit 10] [--level medium]
                                      [--every 6] [--domains NAME ...] [--trained]

For each domain of SUITE (as in learning_track.py): optimal plans of its smaller training problems,
`labels` seconds on each core, three for each; then models that differ from the basic one in one
respect, each on every `every`-th test problem of a level, `limit` seconds each, two at a time. With
--trained also models that `hstar train` makes of the same problems: linear ones, networks with one
hidden layer, and a Neural Logic Machine on atoms that corrects h^FF. What is done is kept in
FOLDER, and not done again. The last columns are sums over the domains: problems solved, and how
many of them in a minute of search, time spent in vain included.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hstar.learning.attempts import CHEAPEST, DEFAULT, OPTIMAL, Effort, attempts, is_spent
from hstar.learning.candidates import WITH_MODEL, WITHOUT_MODEL
from hstar.learning.choices import Choices, choices_along
from hstar.learning.counterexamples import Minima, choices_at, local_minima
from hstar.learning.instance import way_text, with_search
from hstar.learning.linear_model import OBJECTIVES, linear_model
from hstar.learning.sibling_values import successor_values
from learning_track import hstar, problems_in, training_of
from provenance import describe_run

from hstar import _core
from hstar.experiments.report import markdown_table
from hstar.pddl import parse
from hstar.planning.task import Task, ground
from hstar.runtime.pool import Pool
from hstar.runtime.resources import Budget
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile, read_model, to_bytes

BASIC = {"rounds": 2, "orders": True}
MEMORY = 4 * 2**30
PROCESSES = 2
MOST_STATES, SAMPLED = 20_000, 300  # of complete expansions: per problem
# Flags of `hstar train`. On WL features, the truncated Gaussian is decoded without its lower bound,
# which is slow.
ON_WL = ("-f", "wl", "--option", "orders=true", "--base", "none", "--steps", "3000")
OBJECTIVES_ON_WL = {
    "l-gbfs": (),
    "gaussian": ("--lower", "none"),
    "truncated-gaussian": ("--decode", "mean"),
}
TRAINED = {
    **{
        f"{model}, {objective}": ("-m", model, "-l", objective, *ON_WL, *flags)
        for model in ("linear", "mlp")
        for objective, flags in OBJECTIVES_ON_WL.items()
    },
    "nlm, truncated-gaussian": ("-m", "nlm", "--base", "ff", "--steps", "1000"),
}


@dataclass(frozen=True)
class Variant:
    """What differs from the basic model, which has exact distances beside plans and is used in
    eager greedy search."""

    group: str
    name: str
    features: Mapping[str, Any] = field(default_factory=lambda: BASIC)
    objective: str = OBJECTIVES[0]
    labels: str = "siblings"
    way: Mapping[str, Any] = field(default_factory=lambda: WITH_MODEL[0])


VARIANTS = (
    Variant("basic", "2 rounds, orders, gbfs"),
    *(Variant("rounds", str(n), {**BASIC, "rounds": n}) for n in (0, 1, 3, 4)),
    Variant("features", "multiset", {**BASIC, "hash": "multiset"}),
    Variant("features", "statics", {**BASIC, "statics": True}),
    Variant("features", "no orders", {"rounds": 2}),
    *(Variant("objective", name, objective=name) for name in OBJECTIVES[1:]),
    *(Variant("labels", name, labels=name) for name in ("plans", "expansion", "counterexamples")),
    *(Variant("search", way_text(way), way=way) for way in WITH_MODEL[1:]),
    *(Variant("search, statics", way_text(way), {**BASIC, "statics": True}, way=way)
      for way in WITH_MODEL[1:]),
    Variant("turns", "gbfs + default",
            way={**WITH_MODEL[0], "alternating": [{"algorithm": "default"}]}),
)  # fmt: skip


class Ablation:
    """Of one domain; `out` is its folder."""

    def __init__(self, domain: Path, out: Path, options: argparse.Namespace) -> None:
        self.domain, self.out, self.options = domain, out, options
        out.mkdir(parents=True, exist_ok=True)

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        path = self.out / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(make()))
        return json.loads(path.read_text())

    def plans(self) -> dict[str, Any]:
        """Plan and values beside it by the file of the problem."""
        folder = training_of(self.domain)
        assert folder is not None
        files = problems_in(folder)
        problems = {str(path): parse(self.domain / "domain.pddl", path) for path in files}
        smaller = sorted(problems, key=lambda name: len(problems[name].objects))
        smaller = smaller[: round(0.6 * len(smaller))]
        jobs = ((name, name, problems[name], OPTIMAL) for name in smaller)
        effort, start = Effort(3.0, None, MEMORY), _core.monotonic_seconds()
        in_time = lambda: _core.monotonic_seconds() - start < self.options.labels  # noqa: E731
        with Pool(PROCESSES, is_spent) as pool:
            found = dict(attempts(pool, PROCESSES, jobs, effort, in_time))
        return {name: (one.plan, one.values) for name, one in sorted(found.items()) if one.plan}

    def choices(self, labels: str) -> list[Choices]:
        plans = self.kept("plans", self.plans)
        tasks = {name: ground(parse(self.domain / "domain.pddl", name)) for name in plans}
        along = [
            choices_along(tasks[name], plan, None if labels == "plans" else values)
            for name, (plan, values) in plans.items()
        ]
        if labels == "expansion":
            along += [one for task in tasks.values() if (one := complete_expansion(task))]
        if labels == "counterexamples":
            model = LearnedHeuristic(linear_model(along, BASIC, Budget()), "first")
            for name, (plan, _) in plans.items():
                states = local_minima(tasks[name], model, 3 * len(plan), Budget())
                budget = Budget.starting_now(1.0, MEMORY)
                values = successor_values(tasks[name], states, CHEAPEST, None, budget)
                if one := choices_at(tasks[name], Minima(states.tolist(), values)):
                    along.append(one)
        return along

    def trained(self) -> dict[str, Path]:
        """Model files of `hstar train` by name, for eager greedy search; they need torch."""
        files, labels = self.out / "labelled", self.out / "labels.parquet"
        if not labels.exists():
            files.mkdir(exist_ok=True)
            shutil.copy(self.domain / "domain.pddl", files)
            for name in self.kept("plans", self.plans):
                shutil.copy(name, files)
            hstar("label", str(files), "-o", str(labels), "--time-limit", "6s")
        found = {}
        for name, flags in TRAINED.items():
            path = self.out / f"{name.replace(', ', '-')}.safetensors"
            if not path.exists():
                hstar("train", str(labels), *flags, "-o", str(path))
            found[f"trained: {name}"] = path
        return found

    def model(self, variant: Variant, choices: Mapping[str, list[Choices]]) -> ModelFile:
        given = choices[variant.labels], variant.features, Budget(), variant.objective
        return with_search(linear_model(*given), variant.way)

    def solved(self) -> dict[str, tuple[int, float]]:
        """Test problems solved and seconds spent on all, by variant; the default planner and h^FF
        that follows plans too."""
        level = self.options.level
        tests = sorted((self.domain / "testing" / level).glob("*.pddl"))[:: self.options.every]
        problems = {path.name: parse(self.domain / "domain.pddl", path) for path in tests}
        made = {labels: self.choices(labels) for labels in {one.labels for one in VARIANTS}}
        ways: dict[str, Any] = {DEFAULT: DEFAULT, "following": WITHOUT_MODEL[0]}
        for one in VARIANTS:
            ways[f"{one.group}: {one.name}"] = to_bytes(self.model(one, made))
        if self.options.trained:
            for name, path in self.trained().items():
                ways[name] = to_bytes(with_search(read_model(path), WITH_MODEL[0]))
        jobs = (
            ((name, test), test, problem, way)
            for test, problem in problems.items()
            for name, way in ways.items()
        )
        found = dict.fromkeys(ways, (0, 0.0))
        effort = Effort(self.options.limit, None, MEMORY)
        with Pool(PROCESSES, is_spent) as pool:
            for (name, _), answer in attempts(pool, PROCESSES, jobs, effort):
                count, seconds = found[name]
                found[name] = (count + answer.solved, seconds + answer.spent)
        return found


def complete_expansion(task: Task) -> Choices | None:
    """Choices at some of all states of a small task, by their true distances."""
    found = _core.explore(task.core, MOST_STATES, 0.0, MEMORY)
    if found is None:
        return None
    states, h, _ = found
    known = {state.tobytes(): float(value) for state, value in zip(states, h, strict=True)}
    inner = np.flatnonzero(np.isfinite(h) & (h > 0))
    rng = np.random.default_rng(0)
    drawn = states[rng.choice(inner, min(SAMPLED, len(inner)), replace=False)]
    values = [[known[s.tobytes()] for s in task.successors(state)[1]] for state in drawn]
    return choices_at(task, Minima(drawn.tolist(), values))


def row_of(variant: str, domains: list[dict[str, tuple[int, float]]]) -> list[str]:
    counts, seconds = zip(*(one[variant] for one in domains), strict=True)
    rate = 60 * sum(counts) / max(sum(seconds), 1e-9)
    return [variant, *map(str, counts), str(sum(counts)), f"{rate:.3g}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--labels", type=float, default=60.0)
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--level", default="medium")
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--domains", nargs="*")
    parser.add_argument("--trained", action="store_true")
    options = parser.parse_args()
    names = options.domains or sorted(path.name for path in options.suite.iterdir())
    columns = {}
    for name in names:
        ablation = Ablation(options.suite / name, options.output / name, options)
        columns[name] = ablation.kept(f"solved-{options.level}", ablation.solved)
        rows = [row_of(variant, list(columns.values())) for variant in columns[name]]
        print("\n".join(f"{key}: {value}" for key, value in describe_run().items()))
        print(markdown_table(["", *columns, "sum", "per minute"], rows), flush=True)


if __name__ == "__main__":
    main()
