"""`hstar demo`: learn a heuristic on small problems, solve larger ones with it, show a page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from hstar.commands.arguments import Commands, positive
from hstar.commands.paper import run_paper

STORY = """\
Small blocksworld problems are generated, solved optimally and learned from. Then larger ones are
solved by greedy best-first search with the learned heuristic, by the same search with h^FF, each
with the same number of evaluations, and by the default planner, the one that 'hstar plan' runs."""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo", help="learn a heuristic and compare it, in minutes", description=STORY
    )
    parser.add_argument("-o", "--output", default="build/demo", metavar="DIR")
    parser.add_argument("--jobs", type=positive, metavar="N", help="default: one per core")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    print(STORY, flush=True)
    jobs = options.jobs or os.cpu_count() or 1
    directory = Path(options.output)
    run_paper("smoke", directory, jobs, "cpu", 0, "hstar demo")
    print(against_default(directory, jobs))
    print(f"The page with every problem: {directory / 'against-default.html'}")
    return 0


def against_default(directory: Path, jobs: int) -> str:
    """The learned heuristic, h^FF and the default planner on the demo's test problems."""
    import polars as pl

    from hstar.bench import BenchOptions, Runs, read_runs, run_default
    from hstar.papers.truncated_gaussian.recipe import experiment_at, test_problems
    from hstar.papers.truncated_gaussian.variants import OURS
    from hstar.report import build_page, compare, text_table, verdict_table, verdict_text

    experiment = experiment_at("smoke", directory, jobs=jobs)
    scale = experiment.scale
    runs = []
    for domain in scale.domains:
        output = experiment.runs(domain, "default")
        if not output.is_file():
            problems, memory = test_problems(experiment, domain), scale.memory_limit
            run_default(BenchOptions(problems, memory_limit=memory, jobs=jobs, output=output))
        learned = experiment.model(domain, OURS, scale.seeds[0]).stem
        for name, file in (("learned", learned), ("eager h^FF", "ff"), ("default", "default")):
            found = read_runs(experiment.runs(domain, file))
            rows = found.rows.with_columns(pl.lit(name).alias("algorithm"))
            runs.append(Runs(rows, found.provenance))
    title, names = "Against the default planner", [f"file {i}" for i in range(len(runs))]
    build_page(runs, names, title).write(directory / "against-default.html")
    whole = compare(runs, names)
    return "\n\n".join([text_table(*verdict_table(whole)), *verdict_text(whole)])
