"""Benchmarks that are killed or stopped go on where they were."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_suite import COUNTS, without_times, write_suite
from hard_tasks import large_search
from program import PACKAGES, SECONDS, environment, hstar

from hstar.experiments.bench import BenchOptions, read_runs, run_bench
from hstar.runtime.code import code_digest
from hstar.runtime.journal import Journal, JournalError


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("suite"))


KILLED = """
import os, signal, sys
from pathlib import Path
from hstar.runtime.journal import Journal
from hstar.commands import cli

whole = Journal.write
def write(journal, *entry):
    whole(journal, *entry)
    if journal.count() == 7:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        print(children, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
Journal.write = write
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
        timeout=SECONDS,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert not output.exists()
    for pid in killed.stdout.split():
        wait_for_end(int(pid))
    journal = tmp_path / "runs.parquet.partial"
    (first, *_) = kept = entries(journal)
    assert len(kept) == 7
    first.write_bytes(first.read_bytes()[:-7])  # as if the disk had lost its end
    (journal / f".{first.name}.half").write_text("a kill while a run was written")

    resumed = hstar(*arguments)
    assert f"{first} is damaged" in resumed.err
    assert (resumed.code, journal.exists()) == (0, False)
    assert "28/28" in resumed.err
    rows = read_runs(output).rows
    undisturbed = run_bench(BenchOptions([suite], ["ff", "blind"], jobs=2))
    assert without_times(rows).equals(without_times(undisturbed))


def run_and_keep_journal(options: BenchOptions) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "remove", lambda journal: None)
        run_bench(options)


def test_finished_runs_are_not_repeated(suite: Path, tmp_path: Path) -> None:
    """Rows from the journal are in the output as they are there."""
    output = tmp_path / "runs.parquet"
    options = BenchOptions([suite / "ferry"], ["ff"], output=output)
    run_and_keep_journal(options)
    journal = tmp_path / "runs.parquet.partial"
    before = read_runs(output).rows
    first, *others = entries(journal)
    for path in others:
        path.unlink()
    kept = json.loads(first.read_bytes().partition(b"\n")[2])["run"]
    after = run_bench(options)
    assert without_times(after).equals(without_times(before))
    again = (after["search_time"] == before["search_time"]).to_list()
    assert again == (before["run"] == kept).to_list()
    assert not journal.exists()


def entries(journal: Path) -> list[Path]:
    """The files of finished runs."""
    return sorted(journal.glob("[0-9a-f]*[0-9a-f]"))


def wait_for_end(pid: int) -> None:
    for _ in range(100 * SECONDS):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":  # dead, and nobody has asked yet
            return
        time.sleep(0.01)
    raise AssertionError(f"the worker {pid} has outlived its parent")


SETTINGS = {"search": "astar", "max_evaluations": 7, "cost": "normal"}


def test_other_options_do_not_continue_a_benchmark(suite: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs.parquet"
    with Journal(output, SETTINGS, print).held():
        pass
    done = hstar("bench", suite / "ferry", "-H", "ff", "-o", output, "--max-evaluations", "9")
    assert done.code == 36
    assert "search was astar, is now gbfs" in done.err
    assert "max evaluations was 7, is now 9" in done.err
    assert "cost" not in done.err
    assert "delete this folder" in done.err
    assert done.err.count("\n") == 1
    assert json.loads((tmp_path / "runs.parquet.partial/run.json").read_text()) == SETTINGS


def test_other_code_does_not_continue_a_benchmark(suite: Path, tmp_path: Path) -> None:
    """Rows that an older hstar made must not be mixed with those of this one."""
    output = tmp_path / "runs.parquet"
    options = BenchOptions([suite / "ferry"], ["ff"], output=output)
    run_and_keep_journal(options)
    settings = tmp_path / "runs.parquet.partial/run.json"
    old = json.loads(settings.read_text()) | {"code": "0" * 64}
    settings.write_text(json.dumps(old))
    with pytest.raises(JournalError, match="the code changed"):
        run_bench(options)


def test_the_digest_of_the_code_follows_the_source(tmp_path: Path) -> None:
    """A copy of the package has the same digest until a line of it is changed."""
    copy = tmp_path / "hstar"
    shutil.copytree(PACKAGES + "/hstar", copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = "from hstar.runtime.code import code_digest; print(code_digest())"

    def digest() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment({"PYTHONPATH": str(tmp_path)}),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        return done.stdout.strip()

    assert digest() == code_digest()
    with (copy / "slots/features/wl.py").open("a") as file:
        file.write("# changed\n")
    assert digest() != code_digest()


def test_a_journal_belongs_to_one_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs.parquet", {}, print)
    with (
        journal.held(),
        pytest.raises(JournalError, match="another process is writing this output"),
        journal.held(),
    ):
        pass


def test_a_foreign_file_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "runs.parquet.partial").write_text("something else\n")
    with (
        pytest.raises(JournalError, match="this is not a journal"),
        Journal(tmp_path / "runs.parquet", {}, print).held(),
    ):
        pass
    assert (tmp_path / "runs.parquet.partial").read_text() == "something else\n"


def test_ending_the_command_keeps_what_is_finished(suite: Path, tmp_path: Path) -> None:
    """The last of the problems is one that blind search never solves."""
    hard = tmp_path / "hard"
    hard.mkdir()
    large_search(hard)
    output = tmp_path / "runs.parquet"
    arguments = ["bench", str(suite / "ferry"), str(hard), "-H", "blind", "-o", str(output)]
    command = subprocess.Popen(
        [sys.executable, "-m", "hstar", *arguments],
        env=environment(),
        stderr=subprocess.PIPE,
    )
    journal = tmp_path / "runs.parquet.partial"
    for _ in range(100 * SECONDS):
        if len(entries(journal)) == 3:
            break
        time.sleep(0.01)
    command.terminate()
    _, err = command.communicate(timeout=SECONDS)
    assert command.returncode == 143
    assert b"3 of 4 runs are kept in" in err
    assert len(entries(journal)) == 3


def test_the_default_planner_is_not_eager_search_with_its_heuristic(suite: Path) -> None:
    rows = run_bench(BenchOptions([suite / "blocks"], ["ff", "default"]))
    assert rows["run"].n_unique() == rows.height == 2 * COUNTS["blocks"]
    assert rows["algorithm"].unique().sort().to_list() == ["default", "gbfs(ff)"]
    assert rows["search"].unique().sort().to_list() == ["gbfs", "lazy"]
