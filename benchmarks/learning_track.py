"""What `hstar learn` is worth on the domains of a learning track, from training folder to coverage.

    python benchmarks/learning_track.py SUITE -o FOLDER [--time 10m] [--every 1] [--limit 60s]

SUITE has a folder per domain with domain.pddl, training/ and testing/{easy,medium,hard}/, or train/
and test/ as `hstar generate` writes them. For each domain it runs `hstar learn`, one command
without options but the time, and then `hstar bench` with the model and with the default planner on
every `every`-th test problem, two runs at a time, 4 GB each. A run that is killed goes on where it
was. The table is printed anew after each domain.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
from provenance import describe_run

from hstar.bench.rows import read_runs
from hstar.report import markdown_table

TRAINING = ("training", "train")
LEVELS = ("easy", "medium", "hard", "test")
HEADER = ("domain", "tests", "learned", "default", "by level, learned", "by level, default",
          "verdict", "is right", "chosen")  # fmt: skip


NOTHING_LEARNED = 12  # exit code


def hstar(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Raises CalledProcessError if it fails; its progress is shown."""
    command = [sys.executable, "-m", "hstar.cli", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != NOTHING_LEARNED:
        done.check_returncode()
    return done


def tests_of(domain: Path, every: int) -> list[Path]:
    folders = [*(domain / "testing" / level for level in LEVELS), domain / "test"]
    found = (sorted(folder.glob("*.pddl")) for folder in folders)
    problems = ([path for path in some if path.stem != "domain"] for some in found)
    return [path for some in problems for path in some[::every]]


def training_of(domain: Path) -> Path | None:
    return next((domain / name for name in TRAINING if (domain / name).is_dir()), None)


def measure(domain: Path, out: Path, time: str, every: int, limit: str) -> None:
    model, verdict = out / f"{domain.name}.safetensors", out / f"{domain.name}.json"
    if not verdict.exists():
        said = hstar("learn", str(training_of(domain)), "--time", time, "-o", str(model), "--json")
        verdict.write_text(said.stdout)
    tests = [str(path) for path in tests_of(domain, every)]
    flags = ("--time-limit", limit, "--memory-limit", "4G", "--jobs", "2")
    runs = str(out / f"{domain.name}.parquet")
    learned = str(model) if model.exists() else "ff"  # something to stand beside the default
    hstar("bench", *tests, "-H", learned, "default", *flags, "-o", runs)


def row_of(domain: Path, out: Path) -> tuple[list[str], int, int]:
    """A row of the table, and how many problems both solve."""
    verdict = json.loads((out / f"{domain.name}.json").read_text())
    rows = read_runs(out / f"{domain.name}.parquet").rows.with_columns(
        pl.col("suite").str.split("/").list.last().alias("level"),
        (pl.col("algorithm") == "default").alias("is_default"),
    )
    solved, seconds, levels = [], [], []
    for is_default in (False, True):
        mine = rows.filter(pl.col("is_default") == is_default)
        solved.append(int(mine["coverage"].sum()))
        longest = pl.col("total_time").max().fill_null(0.0)
        seconds.append(float(mine.select(pl.col("total_time").fill_null(longest).sum()).item()))
        levels.append(
            "/".join(
                str(mine.filter(pl.col("level") == name)["coverage"].sum())
                for name in LEVELS
                if name in mine["level"]
            )
        )
    is_better = (solved[0], -seconds[0]) > (solved[1], -seconds[1])
    says = "use it" if verdict["pays"] else "keep the default"
    right = is_better if verdict["pays"] else solved[1] >= solved[0]
    count = rows.filter(pl.col("is_default")).height
    cells = [domain.name, count, *solved, *levels, says, "yes" if right else "no"]
    return [*map(str, cells), str(verdict["chosen"])], solved[0], solved[1]


def show(domains: list[Path], out: Path) -> None:
    measured = [row_of(d, out) for d in domains if (out / f"{d.name}.parquet").exists()]
    rows = [row for row, _, _ in measured]
    tests = sum(int(row[1]) for row in rows)
    sums = [sum(row[i] for row in measured) for i in (1, 2)]
    rows.append(["sum", str(tests), *map(str, sums), "", "", "", "", ""])
    print("\n".join(f"{name}: {value}" for name, value in describe_run().items()))
    print(markdown_table(HEADER, rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--time", default="10m", help="of learning, per domain")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--limit", default="60s", help="per run")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    domains = sorted(path for path in options.suite.iterdir() if training_of(path) is not None)
    for domain in domains:
        measure(domain, options.output, options.time, options.every, options.limit)
        show(domains, options.output)


if __name__ == "__main__":
    main()
