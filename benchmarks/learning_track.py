"""What `hstar learn` is worth on the domains of a learning track, from training folder to coverage.

    python benchmarks/learning_track.py SUITE -o FOLDER [--time 10m] [--every 1] [--limit 60s]
                                        [--domains NAME ...] [--planners learned default]
                                        [--problem p1.pddl --tests 'p[23].pddl']

SUITE has a folder per domain with domain.pddl, training/ and testing/{easy,medium,hard}/, or train/
and test/ as `hstar generate` writes them. A domain with neither is learned from all its problems
and tested on the same. For each domain it runs `hstar learn`, one command without options but the
time, and then `hstar bench` with the model and with the default planner on every `every`-th test
problem, two runs at a time, 4 GB each. A run that is killed goes on where it was. The rows of the
default planner have a file of their own, DOMAIN-default.parquet: they hold for other models, too.
With --problem each domain is a folder with one task and several initial states, such as blocks/p35:
hstar learns from this problem, and the tests are the files that --tests matches.
What is in FOLDER is not measured again, so take another folder for other options. The table shows
problems for which there are rows of both, and is printed anew after each domain; rows.csv has one
line for each run.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

import polars as pl
from provenance import describe_run

from hstar.experiments.bench.rows import read_runs
from hstar.experiments.report import markdown_table

TRAINING = ("training", "train")
LEVELS = ("easy", "medium", "hard", "test")
HEADER = ("domain", "tests", "learned", "default", "by level, learned", "by level, default",
          "seconds, both solved", "plan cost, ratio", "verdict", "is right", "learning, s",
          "chosen")  # fmt: skip
NOTHING_LEARNED = 12  # exit code
COLUMNS = ["domain", "level", "problem", "planner", "error", "cost", "plan_length", "evaluated",
           "total_time", "memory"]  # fmt: skip
KEY = ["level", "problem", "digest"]  # of a test problem


def hstar(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Raises CalledProcessError if it fails; its progress is shown."""
    command = [sys.executable, "-m", "hstar", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != NOTHING_LEARNED:
        done.check_returncode()
    return done


def problems_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.pddl")) if path.stem != "domain"]


def tests_of(domain: Path, options: argparse.Namespace) -> list[Path]:
    if options.problem:
        return sorted(domain.glob(options.tests))
    folders = [*(domain / "testing" / level for level in LEVELS), domain / "test"]
    if training_of(domain) == domain:
        folders = [domain]
    return [path for folder in folders for path in problems_in(folder)[:: options.every]]


def training_of(domain: Path) -> Path | None:
    folders = [*(domain / name for name in TRAINING if (domain / name).is_dir()), domain]
    is_domain = (domain / "domain.pddl").exists() or folders[0] != domain
    return folders[0] if is_domain else None


def measure(domain: Path, options: argparse.Namespace) -> None:
    out, name = options.output, name_of(domain, options.suite)
    model, verdict = out / f"{name}.safetensors", out / f"{name}.json"
    if not verdict.exists():
        source = domain / options.problem if options.problem else training_of(domain)
        given = str(source), "--time", options.time
        said = hstar("learn", *given, "-o", str(model), "--json")
        verdict.write_text(said.stdout)
    tests = [str(path) for path in tests_of(domain, options)]
    flags = ("--time-limit", options.limit, "--memory-limit", "4G", "--jobs", "2")
    for planner, heuristic in (("learned", str(model)), ("default", "default")):
        runs = out / f"{name}-{planner}.parquet"
        is_wanted = planner in options.planners and (planner == "default" or model.exists())
        if is_wanted and not runs.exists():
            hstar("bench", *tests, "-H", heuristic, *flags, "-o", str(runs))


def name_of(domain: Path, suite: Path) -> str:
    return "-".join(domain.relative_to(suite).parts)


def rows_of(domain: str, out: Path, planner: str) -> pl.DataFrame:
    """Those of the default planner if nothing was learned."""
    path = out / f"{domain}-{planner}.parquet"
    path = path if path.exists() else out / f"{domain}-default.parquet"
    level = pl.col("suite").str.split("/").list.last().alias("level")
    return read_runs(path).rows.with_columns(level)


def row_of(domain: str, out: Path) -> tuple[list[str], int, int]:
    """A row of the table, and how many problems each solves."""
    learned = json.loads((out / f"{domain}.json").read_text())
    verdict = learned["verdict"]["use"]
    pays = verdict in ("learned", "trade")  # a trade is right as well if more is solved, or faster
    rows = [rows_of(domain, out, name) for name in ("learned", "default")]
    rows = [mine.join(rows[1 - i], on=KEY, how="semi") for i, mine in enumerate(rows)]
    solved = [int(mine["coverage"].sum()) for mine in rows]
    both = rows[0].join(rows[1], on=KEY).filter(
        (pl.col("coverage") == 1) & (pl.col("coverage_right") == 1)
    )  # fmt: skip
    seconds = [float(both[name].sum()) for name in ("total_time", "total_time_right")]
    ratios = both.filter(pl.col("cost_right") > 0).select(pl.col("cost") / pl.col("cost_right"))
    costs = [math.log(ratio) for ratio in ratios.to_series().to_list()]
    levels = [
        "/".join(str(mine.filter(pl.col("level") == name)["coverage"].sum()) for name in LEVELS
                 if name in mine["level"])
        for mine in rows
    ]  # fmt: skip
    is_better = (solved[0], -seconds[0]) > (solved[1], -seconds[1])
    right = is_better if pays else solved[1] >= solved[0]
    cells = [
        domain, rows[0].height, *solved, *levels, " : ".join(f"{s:.1f}" for s in seconds),
        f"{math.exp(sum(costs) / len(costs)):.2f}" if costs else "",
        verdict, "yes" if right else "no",
        round(learned["seconds"]), learned["chosen"],
    ]  # fmt: skip
    return [*map(str, cells)], solved[0], solved[1]


def show(domains: list[str], out: Path) -> None:
    measured = [row_of(d, out) for d in domains if (out / f"{d}-default.parquet").exists()
                and (out / f"{d}.json").exists()]  # fmt: skip
    rows = [row for row, _, _ in measured]
    tests = sum(int(row[1]) for row in rows)
    sums = [sum(row[i] for row in measured) for i in (1, 2)]
    rows.append(["sum", str(tests), *map(str, sums), *[""] * (len(HEADER) - 4)])
    print("\n".join(f"{name}: {value}" for name, value in describe_run().items()))
    print(markdown_table(HEADER, rows), flush=True)


def write_rows(domains: list[str], out: Path) -> None:
    """All runs as one table, without the names of folders."""
    made = []
    for domain in domains:
        for planner in ("learned", "default"):
            if (out / f"{domain}-{planner}.parquet").exists():
                planned = pl.lit(planner).alias("planner"), pl.lit(domain).alias("domain")
                made.append(rows_of(domain, out, planner).with_columns(*planned).select(COLUMNS))
    pl.concat(made).write_csv(out / "rows.csv", float_precision=3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--time", default="10m", help="of learning, per domain")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--limit", default="60s", help="per run")
    parser.add_argument("--domains", nargs="*")
    parser.add_argument("--planners", nargs="*", default=["learned", "default"])
    parser.add_argument("--problem", help="file in each domain's folder to learn from")
    parser.add_argument("--tests", default="*.pddl", help="with --problem: files to test on")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.problem:
        domains = sorted(path.parent for path in options.suite.rglob(options.problem))
    else:
        domains = sorted(path for path in options.suite.iterdir() if training_of(path) is not None)
    names = [name_of(domain, options.suite) for domain in domains]
    for name, domain in zip(names, domains, strict=True):
        if options.domains and name not in options.domains:
            continue
        measure(domain, options)
        show(names, options.output)
        write_rows(names, options.output)


if __name__ == "__main__":
    main()
