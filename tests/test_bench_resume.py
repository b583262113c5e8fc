"""Benchmarks that are killed or stopped go on where they were."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_suite import without_times, write_suite
from hard_tasks import large_search
from program import environment, hstar

from hstar.bench import BenchOptions, read_runs, run_bench
from hstar.bench.journal import Journal, JournalError


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("suite"))


KILLED = """
import os, signal, sys
from pathlib import Path
from hstar.bench.journal import Journal
from hstar import cli

whole = Journal.add
def add(journal, row):
    whole(journal, row)
    if len(journal.rows) == 7:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        print(children, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
Journal.add = add
cli.main(sys.argv[1:])
"""


def test_a_kill_loses_nothing(suite: Path, tmp_path: Path) -> None:
    """The command is killed after its seventh run; the same command then does the others."""
    output = tmp_path / "runs.parquet"
    arguments = [
        "bench", str(suite), "-H", "ff", "-H", "blind", "--jobs", "2", "-o", str(output),
    ]  # fmt: skip
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert not output.exists()
    for pid in killed.stdout.split():
        wait_for_end(int(pid))
    journal = tmp_path / "runs.parquet.journal"
    assert len(journal.read_text().splitlines()) == 1 + 7
    with journal.open("a") as file:
        file.write('{"run": "half a li')  # as if the kill had come while a run was noted down

    resumed = hstar(*arguments)
    assert (resumed.code, journal.exists()) == (0, False)
    assert "28/28" in resumed.err
    rows = read_runs(output).rows
    undisturbed = run_bench(BenchOptions([suite], ["ff", "blind"], jobs=2))
    assert without_times(rows).equals(without_times(undisturbed))


def test_finished_runs_are_not_repeated(suite: Path, tmp_path: Path) -> None:
    """Rows from the journal are in the output as they are there."""
    output = tmp_path / "runs.parquet"
    options = BenchOptions([suite / "ferry"], ["ff"], output=output)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "remove", lambda journal: None)
        run_bench(options)
    journal = tmp_path / "runs.parquet.journal"
    head, first, *_ = journal.read_text().splitlines()
    journal.write_text(f"{head}\n{first.replace('p0.pddl', 'changed.pddl')}\n")
    assert run_bench(options)["problem"].to_list() == ["changed.pddl", "p1.pddl", "p2.pddl"]
    assert not journal.exists()


def wait_for_end(pid: int) -> None:
    for _ in range(1000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":  # dead, and nobody has asked yet
            return
        time.sleep(0.01)
    raise AssertionError(f"the worker {pid} has outlived its parent")


def test_other_options_do_not_continue_a_benchmark(suite: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs.parquet"
    Journal(output, {"search": "astar", "max_evaluations": 7, "heuristics": ["ff"]})
    done = hstar("bench", suite / "ferry", "-H", "ff", "-o", output, "--max-evaluations", "9")
    assert done.code == 31
    assert 'search ("astar", now "gbfs")' in done.err
    assert "max evaluations (7, now 9)" in done.err
    assert "heuristics" not in done.err
    assert "delete this file" in done.err
    assert done.err.count("\n") == 1


def test_a_journal_belongs_to_one_process(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "runs.parquet", {}),
        pytest.raises(JournalError, match="another 'hstar bench' is writing"),
    ):
        Journal(tmp_path / "runs.parquet", {})


def test_a_foreign_file_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "runs.parquet.journal").write_text("something else\n")
    with pytest.raises(JournalError, match="no journal"):
        Journal(tmp_path / "runs.parquet", {})
    assert (tmp_path / "runs.parquet.journal").read_text() == "something else\n"


def test_ending_the_command_keeps_what_is_finished(suite: Path, tmp_path: Path) -> None:
    """The last of the problems is one that blind search never solves."""
    hard = tmp_path / "hard"
    hard.mkdir()
    large_search(hard)
    output = tmp_path / "runs.parquet"
    arguments = ["bench", str(suite / "ferry"), str(hard), "-H", "blind", "-o", str(output)]
    command = subprocess.Popen(
        [sys.executable, "-m", "hstar.cli", *arguments], env=environment(), stderr=subprocess.PIPE
    )
    journal = tmp_path / "runs.parquet.journal"
    for _ in range(3000):
        if journal.exists() and len(journal.read_text().splitlines()) == 4:
            break
        time.sleep(0.01)
    command.terminate()
    _, err = command.communicate(timeout=30)
    assert command.returncode == 143
    assert b"3 of 4 runs are kept in" in err
    assert len(journal.read_text().splitlines()) == 4
