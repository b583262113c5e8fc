"""`hstar label` when it is killed, stopped, or loses a worker: nothing is lost or done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from label_folders import HARD, QUICK, files, write_folder
from long_runs import ENDLESS, LONG_RUNS, LongRun, children, wait_for_pieces
from program import SECONDS, hstar

from hstar.runtime.journal import Journal
from hstar.slots.teachers import LabelOptions, LabelsError, label, read_labels


@pytest.mark.parametrize("last", ["labels.manifest.json", "labels.parquet", "journal"])
def test_a_stop_while_the_files_are_written(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is already there under its final name, running again makes it right."""
    folder = write_folder(tmp_path / "problems", "gripper", count=2, seed=4)
    output = tmp_path / "labels.parquet"
    label(folder, tmp_path / "whole.parquet", QUICK)
    label(folder, output, LabelOptions(jobs=1, limit_problems=1))  # an older output to be replaced

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def replace_or_stop(source: Path, target: Path) -> None:
        if target.name == last:
            stop()
        Path(source).rename(target)

    with monkeypatch.context() as patch:
        patch.setattr("hstar.slots.teachers.labels.os.replace", replace_or_stop)
        if last == "journal":
            patch.setattr(Journal, "remove", stop)
        with pytest.raises(Exception, match="interrupted"):
            label(folder, output, QUICK)
    if last == "labels.parquet":
        with pytest.raises(LabelsError, match="keep the two files of one run together"):
            read_labels(output)
    assert label(folder, output, QUICK).was_complete == (last == "journal")
    assert files(output) == files(tmp_path / "whole.parquet")
    assert not Path(f"{output}.partial").exists()


def test_a_complete_output_is_left_as_it_is(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=2)
    output = tmp_path / "labels.parquet"
    first = hstar("label", folder, "-o", output)
    before = output.stat().st_mtime_ns
    again = hstar("label", folder, "-o", output)
    assert (first.code, again.code) == (0, 0)
    assert "nothing was done" in again.out and "nothing was done" not in first.out
    assert output.stat().st_mtime_ns == before
    assert not label(folder, output, LabelOptions(jobs=1, time_limit=77)).was_complete
    assert read_labels(output).limits["time_limit"] == 77


def busy_worker(run: LongRun, process: subprocess.Popen[str]) -> int:
    """The worker that is at the hard problem, once the problems before it are finished."""
    wait_for_pieces(run, process, 2)
    time.sleep(0.2)
    (worker,) = children(process.pid)
    return worker


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGKILL, "out of memory"), (signal.SIGSEGV, "crashed")]
)
def test_a_dead_worker_costs_one_problem(number: int, status: str, tmp_path: Path) -> None:
    run = LONG_RUNS["label"](tmp_path, ENDLESS)
    process = run.start()
    os.kill(busy_worker(run, process), number)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    found = {p.problem: p.status for p in read_labels(run.output).problems}
    assert found.pop(HARD) == status and set(found.values()) == {"solved"}
    assert f"left out, {status}" in out


def test_a_terminated_worker_ends_the_run(tmp_path: Path) -> None:
    """It says nothing about the problem, so nothing may be kept of it."""
    run = LONG_RUNS["label"](tmp_path, ENDLESS)
    process = run.start()
    os.kill(busy_worker(run, process), signal.SIGTERM)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 143
    assert len(run.kept()) == 2
