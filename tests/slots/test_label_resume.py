"""`hstar label` when it is killed, stopped, or loses a worker: nothing is lost or done twice."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import kill_label
import pytest
from label_folders import HARD, QUICK, busy_folder, files, generated, write_folder
from program import SECONDS, hstar
from small_domains import ALL

from hstar.runtime.journal import Journal, JournalError
from hstar.slots.teachers import LabelOptions, LabelsError, label, read_labels

ENDINGS = ("parquet", "manifest.json", "times.json")


def test_kills(tmp_path: Path) -> None:
    folder = generated(tmp_path, blocks="6-8", count=24)
    arguments = [folder, "--max-expansions", "300", "--retries", "3", "--jobs", "2"]
    output = tmp_path / "labels.parquet"
    undisturbed = tmp_path / "undisturbed.parquet"
    options = LabelOptions(options={"max_expansions": 300}, retries=3, jobs=2)
    history = kill_label.kill_often(arguments, output, 4, random.Random(0))
    assert len(history) > 1 and history[-1] > 0
    assert hstar("label", *arguments, "-o", output).code == 0
    label(folder, undisturbed, options)
    assert files(output) == files(undisturbed)
    assert {path.name for path in tmp_path.iterdir()} == {
        "train",
        *(f"{stem}.{end}" for stem in ("labels", "undisturbed") for end in ENDINGS),
    }


def interrupted(folder: Path, output: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """A run that ends when some attempts have been kept."""
    write = Journal.write
    written: list[str] = []

    def write_or_stop(journal: Journal, name: str, *rest: Any) -> None:
        if len(written) == after:
            raise KeyboardInterrupt
        written.append(name)
        write(journal, name, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", write_or_stop)
        with pytest.raises(Exception, match="interrupted"):
            label(folder, output, QUICK)


def test_a_damaged_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=5)
    output = tmp_path / "labels.parquet"
    label(folder, tmp_path / "whole.parquet", QUICK)
    interrupted(folder, output, monkeypatch, after=4)
    kept = sorted(kill_label.journal_of(output).glob("0*.npz"))
    assert len(kept) == 4
    kept[0].write_text("")
    kept[1].write_bytes(kept[1].read_bytes()[:-7])
    kept[2].write_bytes(kept[3].read_bytes())  # whole, but of another problem
    (kill_label.journal_of(output) / "run.json").write_text("{")
    (kill_label.journal_of(output) / ".00003-00.npz.x1").write_text("half of a f")
    done = hstar("label", folder, "-o", output, "--jobs", "1")
    assert done.code == 0
    for path in (*kept[:3], kill_label.journal_of(output) / "run.json"):
        assert f"{path} is damaged" in done.err
    assert str(kept[3]) not in done.err
    assert files(output) == files(tmp_path / "whole.parquet")
    assert not kill_label.journal_of(output).exists()


CHANGES: list[tuple[LabelOptions, str]] = [
    (LabelOptions(jobs=1, cost="normal"), "cost was one, is now normal"),
    (LabelOptions(jobs=1, time_limit=None), "time limit was 300.0, is now not given"),
    (LabelOptions(jobs=1, limit_problems=2), "problems: p02.pddl changed"),
]


@pytest.mark.parametrize(("options", "difference"), CHANGES)
def test_changed_options(
    options: LabelOptions, difference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=3)
    output = tmp_path / "labels.parquet"
    interrupted(folder, output, monkeypatch, after=1)
    with pytest.raises(JournalError) as caught:
        label(folder, output, options)
    assert difference in str(caught.value)
    assert "delete this folder" in str(caught.value)
    assert caught.value.exit_code == 36
    assert label(folder, output, QUICK).problems == 3


def test_changed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=3)
    output = tmp_path / "labels.parquet"
    interrupted(folder, output, monkeypatch, after=1)
    (folder / "p01.pddl").write_text(ALL["gripper"](random.Random(77))[1])
    domain = folder / "domain.pddl"
    domain.write_text(domain.read_text() + "; changed\n")
    with pytest.raises(JournalError, match=r"the domain changed; problems: p01\.pddl changed"):
        label(folder, output, QUICK)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=1)
    output = tmp_path / "labels.parquet"
    with (
        Journal(output, {}, print).held(),
        pytest.raises(JournalError, match="another process is writing this output"),
    ):
        label(folder, output, QUICK)


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
    assert not kill_label.journal_of(output).exists()


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


def busy_worker(process: Any, output: Path, attempts: int) -> int:
    """The worker that is at the hard problem, once the problems before it are finished."""
    deadline = time.monotonic() + SECONDS
    while len(kill_label.finished(output)) < attempts:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.2)
    (worker,) = kill_label.children(process.pid)
    return worker


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(number: int, code: int, tmp_path: Path) -> None:
    folder, output = busy_folder(tmp_path), tmp_path / "labels.parquet"
    process = kill_label.start_label(folder, "-o", output, "--jobs", "1")
    worker = busy_worker(process, output, 2)
    process.send_signal(number)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == code
    assert "run the same command again" in err.decode() and "Traceback" not in err.decode()
    assert not kill_label.alive(worker)
    assert len(kill_label.finished(output)) == 2 and not output.exists()


def test_no_worker_outlives_a_killed_parent(tmp_path: Path) -> None:
    folder, output = busy_folder(tmp_path), tmp_path / "labels.parquet"
    process = kill_label.start_label(folder, "-o", output, "--jobs", "1")
    worker = busy_worker(process, output, 2)
    process.kill()
    process.communicate(timeout=SECONDS)
    kill_label.wait_until_gone({worker})


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGKILL, "out of memory"), (signal.SIGSEGV, "crashed")]
)
def test_a_dead_worker_costs_one_problem(number: int, status: str, tmp_path: Path) -> None:
    folder, output = busy_folder(tmp_path), tmp_path / "labels.parquet"
    process = kill_label.start_label(folder, "-o", output, "--jobs", "1")
    worker = busy_worker(process, output, 2)
    os.kill(worker, number)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err.decode()
    found = {p.problem: p.status for p in read_labels(output).problems}
    assert found.pop(HARD) == status and set(found.values()) == {"solved"}
    assert f"left out, {status}" in out.decode()


def test_a_terminated_worker_ends_the_run(tmp_path: Path) -> None:
    """It says nothing about the problem, so nothing may be kept of it."""
    folder, output = busy_folder(tmp_path), tmp_path / "labels.parquet"
    process = kill_label.start_label(folder, "-o", output, "--jobs", "1")
    os.kill(busy_worker(process, output, 2), signal.SIGTERM)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 143
    assert len(kill_label.finished(output)) == 2
