"""A benchmark from its options to its rows."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hstar
from hstar.experiments.bench.options import BenchOptions
from hstar.experiments.bench.rows import Row, frame, to_parquet
from hstar.experiments.bench.suite import Instance, find_instances
from hstar.experiments.bench.worker import carry_out, check_fit, failed
from hstar.pddl.errors import escape
from hstar.planning.heuristics import is_model_file
from hstar.planning.specification import DEFAULT, USUAL, SearchSpecification
from hstar.runtime.atomic import check_writable, write_atomically
from hstar.runtime.code import code_digest
from hstar.runtime.journal import Journal, digest_of
from hstar.runtime.pool import Lost, Pool
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget, OutOfResources
from hstar.runtime.version import VERSION
from hstar.slots.loader import load_search

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class _Algorithm:
    """A search of the benchmark: what rows and reports call it and its heuristic. `loaded` holds
    the heuristics of its files, whose content is digested."""

    specification: SearchSpecification
    loaded: SearchSpecification
    heuristic: str
    seed: int | None
    digest: str

    @property
    def label(self) -> str:
        return self.loaded.label(self.heuristic)

    @property
    def full_label(self) -> str:
        """Not that of another model."""
        is_learned = self.loaded.searches()[0].recommended_by is not None
        return f"{self.heuristic}: {self.label}" if is_learned else self.label


def run_bench(options: BenchOptions) -> pl.DataFrame:
    """Carry out a benchmark: one row per search and problem, problem by problem.

    With `output`, what a killed call with the same options finished is not repeated, and the file
    appears when all runs are there. Raises PddlError and SuiteError for the suites, what loaders of
    heuristics raise, ValueError for a heuristic that fits no domain, JournalError if an unfinished
    benchmark with this output had other options, OSError, and OutOfResources when interrupted.
    """
    algorithms = _find_algorithms(options)
    instances = find_instances(options.suites)
    for one in algorithms:
        check_fit(one.loaded, bool(one.specification.files), instances, options)
    planned = [_plan(options, one, algorithm) for one in instances for algorithm in algorithms]
    runs = {row["run"]: (row, job) for row, job in planned}
    if options.output is None:
        return frame(_carry_out(runs, options))
    output = Path(options.output)
    check_writable(output)
    journal = Journal(output, _settings(options, algorithms, instances), _warn)
    with journal.held():
        try:
            rows = _carry_out(runs, options, journal)
        except OutOfResources:
            kept_in = f"{journal.count()} of {len(runs)} runs are kept in {journal.path}"
            print(f"{escape(kept_in)}; the same command goes on from there", file=sys.stderr)
            raise
        table = frame(rows)
        write_atomically(output, to_parquet(table, _provenance(options, algorithms)))
        journal.remove()
    return table


def _warn(text: str) -> None:
    print(f"hstar: warning: {escape(text)}", file=sys.stderr)


def _carry_out(
    runs: dict[str, tuple[Row, Row]], options: BenchOptions, journal: Journal | None = None
) -> list[Row]:
    kept = {name: journal.read(name, name) for name in runs} if journal else {}
    rows = {name: json.loads(content) for name, content in kept.items() if content}
    about = {"hstar": VERSION, "commit": _commit(), "machine": _machine()}
    solved = sum(row["coverage"] for row in rows.values())
    with (
        Progress("runs", len(runs), already=len(rows)) as progress,
        Budget().enforced(),  # SIGTERM becomes an exception, so that the workers are ended
        Pool(options.jobs, is_spent=lambda outcome: outcome["error"] == "out of memory") as pool,
    ):
        missing = [(name, carry_out, job) for name, (_, job) in runs.items() if name not in rows]
        for name, outcome in pool.answers(missing, options.time_limit):
            if isinstance(outcome, Lost):
                how = ("out of time", 23) if outcome.overdue else ("crashed", outcome.exit_code)
                outcome = failed(*how, str(outcome))
            row = {**runs[name][0], **outcome, **about}
            rows[name] = row
            if journal is not None:
                journal.write(name, json.dumps(row).encode(), name)
            solved += row["coverage"]
            progress.update(len(rows), f"{solved} solved, last: {row['problem']} {row['error']}")
    return [rows[name] for name in runs]


def _find_algorithms(options: BenchOptions) -> list[_Algorithm]:
    """Loads every model once, so that a broken file is noticed before the first run."""
    loaded = [(one, load_search(one)) for one in options.all_specifications()]
    names = [one.names if one.files else ready.searches()[0].names for one, ready in loaded]
    stems = Counter(Path(name).stem for name in set(names))
    found = []
    for name, (one, ready) in zip(names, loaded, strict=True):
        stem = Path(name).stem
        heuristic = stem if is_model_file(name) and stems[stem] == 1 else name
        metadata = getattr(ready.heuristic, "metadata", None) or {}
        training = metadata.get("training", {})
        seed = training.get("seed", training.get("options", {}).get("seed"))
        seed = None if seed is None else int(seed)
        content = b"".join(Path(file).read_bytes() for file in one.files)
        digest = digest_of(content) if one.files else ""
        found.append(_Algorithm(one, ready, heuristic, seed, digest))
    return found


def _plan(options: BenchOptions, instance: Instance, algorithm: _Algorithm) -> tuple[Row, Row]:
    """What of a run's row is known beforehand, and what a worker needs. A run is named by all that
    decides its row: files by their content, and all options."""
    asked, seed = algorithm.specification, algorithm.seed
    limits = {"time_limit": options.time_limit, "memory_limit": options.memory_limit}
    said = {**asked.to_dict(), "heuristic": DEFAULT if asked.is_default else algorithm.heuristic}
    where = instance.suite, instance.problem
    key = [instance.digest, algorithm.digest, said, *limits.values(), *where, options.seed]
    row = {
        "run": digest_of(json.dumps(key))[:16],
        "suite": instance.suite,
        "domain": instance.domain_name,
        "problem": instance.problem,
        "digest": instance.digest[:16],
        "algorithm": algorithm.label,
        "search": algorithm.loaded.searches()[0].algorithm,
        "heuristic": algorithm.heuristic,
        "model": asked.names if asked.files else "",
        "seed": next((one for one in (seed, options.seed) if one is not None), -1),
        "max_evaluations": asked.max_evaluations,
    }
    return row, {**instance.source, **limits, "search": json.dumps(asked.to_dict())}


def _settings(
    options: BenchOptions, algorithms: list[_Algorithm], instances: list[Instance]
) -> dict[str, Any]:
    """What the rows depend on, by the names that an error message uses."""
    shared = options.shared
    return {
        "code": code_digest(),
        **{name: shared.value(name) for name in shared.options()},
        "search": ", ".join(options.searches) or USUAL,
        "time_limit": options.time_limit,
        "memory_limit": options.memory_limit,
        "seed": options.seed,
        "searches": {one.full_label: one.digest for one in algorithms},
        "problems": {f"{one.suite}/{one.problem}": one.digest for one in instances},
    }


def _provenance(options: BenchOptions, algorithms: list[_Algorithm]) -> dict[str, Any]:
    return {
        "command": options.command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": {
            "search": ", ".join(options.searches) or USUAL,
            **options.shared.to_dict(),
            "time_limit": options.time_limit,
            "memory_limit": options.memory_limit,
            "jobs": options.jobs,
        },
        "searches": {one.full_label: one.loaded.describe() for one in algorithms},
    }


def _commit() -> str:
    """Of the source tree hstar runs from, with "+" if it was changed since; empty for a wheel."""
    tree = Path(hstar.__file__).absolute().parent
    command = ["git", "-C", str(tree), "describe", "--always", "--dirty=+", "--abbrev=12"]
    tracked = ["git", "-C", str(tree), "ls-files", "--error-unmatch", "__init__.py"]
    try:
        subprocess.run(tracked, capture_output=True, check=True, timeout=30)
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _machine() -> str:
    """Such as "AMD EPYC 7B13, 2 cores, Linux x86_64"; no name of a host."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = (line.partition(":")[2] for line in lines if line.startswith("model name"))
        model = next(names, model).strip()
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
