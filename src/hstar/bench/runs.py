"""A benchmark from its options to its rows."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hstar
from hstar.bench.options import BenchOptions
from hstar.bench.rows import Row, frame, to_parquet
from hstar.bench.suite import Instance, find_instances
from hstar.bench.worker import carry_out
from hstar.heuristics import HEURISTICS
from hstar.runtime.atomic import check_writable, write_atomically
from hstar.runtime.code import code_digest
from hstar.runtime.journal import Journal
from hstar.runtime.pool import Lost, Pool
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget, OutOfResources
from hstar.version import VERSION

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class _Heuristic:
    """A heuristic of the benchmark: `label` is how rows and reports call it."""

    argument: str
    label: str
    model: str = ""
    seed: int | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class _Run:
    run: str
    instance: Instance
    heuristic: _Heuristic


def run_bench(options: BenchOptions) -> pl.DataFrame:
    """Carry out a benchmark; one row per problem and heuristic, in that order of nesting.

    With `output` set, runs that an earlier, killed call with the same options finished are not
    repeated, and the file appears when all runs are there. Raises PddlError and SuiteError for the
    suites, what load_model raises for models, JournalError if an unfinished benchmark with this
    output had other options, OSError naming a file, OutOfResources when interrupted.
    """
    heuristics = _find_heuristics(options)
    instances = find_instances(options.suites)
    runs = [
        _Run(_run_id(options, instance, heuristic), instance, heuristic)
        for instance in instances
        for heuristic in heuristics
    ]
    output = options.output_path
    if output is None:
        return frame(_carry_out(runs, options, {}, lambda row: None))
    check_writable(output)
    journal = Journal(output, _settings(options, runs), _warn)
    with journal.held():
        kept = {run.run: journal.read(run.run) for run in runs}
        finished = {name: json.loads(content) for name, content in kept.items() if content}
        try:
            rows = _carry_out(
                runs,
                options,
                finished,
                lambda row: journal.write(row["run"], json.dumps(row).encode()),
            )
        except OutOfResources:
            print(
                f"{journal.count()} of {len(runs)} runs are kept in {journal.path}; "
                "the same command goes on from there",
                file=sys.stderr,
            )
            raise
        table = frame(rows)
        write_atomically(output, to_parquet(table, _provenance(options)))
        journal.remove()
    return table


def _warn(text: str) -> None:
    print(f"hstar: warning: {text}", file=sys.stderr)


def _carry_out(
    runs: list[_Run], options: BenchOptions, finished: dict[str, Row], keep: Callable[[Row], None]
) -> list[Row]:
    rows = dict(finished)
    left = [run for run in runs if run.run not in rows]
    about = {"hstar": VERSION, "commit": _commit(), "machine": _machine()}
    solved = sum(row["coverage"] for row in rows.values())
    with (
        Progress("runs", len(runs), already=len(rows)) as progress,
        Budget().enforced(),  # SIGTERM becomes an exception, so that the workers are ended
        Pool(options.jobs, is_spent=lambda outcome: outcome["error"] == "out of memory") as pool,
    ):
        for run in left:
            pool.submit(run, carry_out, _job(run, options), time_limit=options.time_limit)
        while pool:
            run, outcome = pool.next()
            if isinstance(outcome, Lost):
                outcome = _outcome_of_lost(outcome)
            row = _row(run, options, outcome, about)
            keep(row)
            rows[row["run"]] = row
            solved += row["coverage"]
            progress.update(len(rows), f"{solved} solved, last: {row['problem']} {row['error']}")
    return [rows[run.run] for run in runs]


def _outcome_of_lost(lost: Lost) -> dict[str, Any]:
    error, code = ("out of time", 23) if lost.overdue else ("crashed", lost.exit_code)
    return {"coverage": 0, "error": error, "exit_code": code, "message": str(lost)}


def _job(run: _Run, options: BenchOptions) -> dict[str, Any]:
    return {
        "domain_path": str(run.instance.domain_path),
        "problem_path": str(run.instance.problem_path),
        "heuristic": run.heuristic.argument,
        "algorithm": options.algorithm,
        "cost": options.cost,
        "max_evaluations": options.max_evaluations,
        "time_limit": options.time_limit,
        "memory_limit": options.memory_limit,
    }


def _row(run: _Run, options: BenchOptions, outcome: dict[str, Any], about: dict[str, str]) -> Row:
    seed = run.heuristic.seed if run.heuristic.seed is not None else options.seed
    return {
        "run": run.run,
        "suite": run.instance.suite,
        "domain": run.instance.domain_name,
        "problem": run.instance.problem,
        "algorithm": options.algorithm,
        "heuristic": run.heuristic.label,
        "model": run.heuristic.model,
        "seed": seed if seed is not None else -1,
        "max_evaluations": options.max_evaluations,
        **outcome,
        **about,
    }


def _find_heuristics(options: BenchOptions) -> list[_Heuristic]:
    arguments = [os.fspath(heuristic) for heuristic in options.heuristics]
    stems = [Path(argument).stem for argument in arguments]
    found = []
    for argument, stem in zip(arguments, stems, strict=True):
        if argument in HEURISTICS:
            found.append(_Heuristic(argument, argument))
        else:
            found.append(_find_model(argument, stem if stems.count(stem) == 1 else argument))
    return found


def _find_model(path: str, label: str) -> _Heuristic:
    """Loads the model once, so that a broken file is noticed before the first run."""
    from hstar.learned.loader import load_model

    metadata = getattr(load_model(path), "metadata", {})
    training = metadata.get("training", {}).get("options", {})
    seed = metadata.get("seed", training.get("seed"))
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return _Heuristic(path, label, path, None if seed is None else int(seed), digest)


def _run_id(options: BenchOptions, instance: Instance, heuristic: _Heuristic) -> str:
    """Names a run by all that decides its row: files by their content, and what was asked for."""
    key = [
        instance.digest,
        heuristic.digest or heuristic.argument,
        options.algorithm,
        options.cost,
        options.max_evaluations,
        options.time_limit,
        options.memory_limit,
        instance.suite,
        instance.problem,
        heuristic.label,
        options.seed,
    ]
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]


def _settings(options: BenchOptions, runs: list[_Run]) -> dict[str, Any]:
    """What the rows depend on, by the names that an error message uses."""
    return {
        "code": code_digest("pddl", "spaces", "heuristics", "search", "learned", "bench"),
        "search": options.algorithm,
        "cost": options.cost,
        "max_evaluations": options.max_evaluations,
        "time_limit": options.time_limit,
        "memory_limit": options.memory_limit,
        "seed": options.seed,
        "heuristics": {run.heuristic.label: run.heuristic.digest for run in runs},
        "problems": {str(run.instance.problem_path): run.instance.digest for run in runs},
    }


def _provenance(options: BenchOptions) -> dict[str, Any]:
    return {
        "command": options.command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": {
            "search": options.algorithm,
            "cost": options.cost,
            "max_evaluations": options.max_evaluations,
            "time_limit": options.time_limit,
            "memory_limit": options.memory_limit,
            "jobs": options.jobs,
        },
    }


def _commit() -> str:
    """Of the source tree hstar runs from, with "+" if it was changed since; empty for a wheel."""
    tree = Path(hstar.__file__).absolute().parent
    command = ["git", "-C", str(tree), "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    tracked = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "--error-unmatch", "__init__.py"],
        capture_output=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == tracked.returncode == 0 else ""


def _machine() -> str:
    """Such as "AMD EPYC 7B13, 2 cores, Linux x86_64"; no name of a host."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
