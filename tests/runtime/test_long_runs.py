"""Long commands that are killed, stopped, or started with something else in their place."""

from __future__ import annotations

import json
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from long_runs import (
    CHECKPOINT,
    ENDLESS,
    LONG_RUNS,
    LongRun,
    children,
    kill_often,
    wait_for_pieces,
    wait_until_gone,
)
from program import SECONDS, hstar
from safetensors import safe_open

from hstar.training.checkpoint import Checkpoint


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def damage(run: LongRun) -> list[Path]:
    """Some pieces of a journal, and its settings; returns those that are said to be damaged."""
    pieces = [run.partial / name for name in sorted(run.kept())][:4]
    whole = pieces[-1].read_bytes()
    for path, content in zip(pieces[:-1], (b"", whole[:-7], whole), strict=False):
        path.write_bytes(content)  # the last is whole, but another piece
    (run.partial / "run.json").write_text("{")
    (run.partial / f".{pieces[-1].name}.x1").write_text("half of a f")
    return [*pieces[:-1], run.partial / "run.json"]


@pytest.mark.parametrize("name", LONG_RUNS)
def test_a_killed_run_ends_as_one_that_was_not(name: str, tmp_path: Path) -> None:
    """See also benchmarks/kills.py."""
    run = LONG_RUNS[name](tmp_path, 1)
    history = kill_often(run, 2, random.Random(name))
    assert history and max(history) > 0
    has_pieces = run.partial.is_dir() and "step" not in run.kept() and not run.output.exists()
    damaged = damage(run) if has_pieces and name in ("label", "bench") else []
    done = hstar(*run.command)
    assert done.code == 0, done.err
    assert [path for path in damaged if f"{path} is damaged" not in done.err] == [], done.err
    whole = replace(run, output=tmp_path / "whole" / run.output.name)
    whole.output.parent.mkdir()
    assert hstar(*whole.command).code == 0
    assert run.result(run.output) == run.result(whole.output)
    assert names_in(run.output.parent) == names_in(whole.output.parent)


SIGNALS = [
    *((name, signal.SIGINT) for name in LONG_RUNS),
    # Training needs no handler: what it has written is whole at any moment.
    *((name, signal.SIGTERM) for name in LONG_RUNS if name not in ("train", "pdb learn")),
    *((name, signal.SIGKILL) for name in ("label", "bench")),
]


@pytest.mark.parametrize(("name", "number"), SIGNALS)
def test_signals(name: str, number: signal.Signals, tmp_path: Path) -> None:
    """The run ends at once with its workers, and keeps what is finished. An interrupt of learning
    writes the best so far, if there is a best."""
    run = LONG_RUNS[name](tmp_path, ENDLESS)
    process = run.start()
    wait_for_pieces(run, process, 2)
    before, workers = run.kept(), children(process.pid)
    assert bool(workers) == (name in ("label", "bench", "learn FOLDER", "learn PROBLEM"))
    process.send_signal(number)
    _, err = process.communicate(timeout=SECONDS)
    wait_until_gone(workers)
    assert "Traceback" not in err
    if number == signal.SIGINT and name == "learn rollouts":
        assert process.returncode == 0, err
        assert hstar("model", "show", run.output).code == 0
        assert names_in(run.output.parent) == {run.output.name, run.partial.name}
        return
    code = process.returncode
    assert (128 - code if code < 0 else code) == 128 + number, err  # as a shell says it
    assert not run.output.exists()
    after = run.kept()
    assert before.items() <= after.items() or after["step"] > before["step"]
    if number != signal.SIGKILL and name in ("label", "bench"):
        said = {"label": "run the same command again", "bench": "of 30 runs are kept in"}
        assert said[name] in err


OTHERS: dict[str, list[tuple[str, str]]] = {
    "label": [
        ("--cost normal", "cost was one, is now normal"),
        ("--time-limit 1h", "time limit was 300.0, is now 3600.0"),
        ("--limit-problems 2", "problems: p01.pddl, p02.pddl changed"),
    ],
    "bench": [
        ("-s astar", "search was gbfs, is now astar"),
        ("--max-evaluations 9", "max evaluations was 0, is now 9"),
    ],
    "learn FOLDER": [("--seed 3", "seed was 0, is now 3")],
    "learn PROBLEM": [("--seed 3", "seed was 0, is now 3")],
    "learn rollouts": [
        ("--steps 9999999", "is now 9999999"),
        ("--seed 3", "seed was 0, is now 3"),
        ("--option gamma=0.9", "recipe: rows changed"),
    ],
}


def contents(partial: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in partial.iterdir() if path.name != "lock"}


@pytest.mark.parametrize("name", OTHERS)
def test_another_run_does_not_take_its_place(name: str, tmp_path: Path) -> None:
    """Neither at the same time, nor later with other options or problems."""
    run = LONG_RUNS[name](tmp_path, ENDLESS)
    process = run.start()
    wait_for_pieces(run, process)
    twice = hstar(*run.command)
    assert twice.code == 36 and "another process is writing this output" in twice.err
    process.kill()
    process.communicate(timeout=SECONDS)
    before = contents(run.partial)
    for options, message in OTHERS[name]:
        other = hstar(*run.command, *options.split())
        assert other.code == 36 and message in other.err and "delete" in other.err
        assert contents(run.partial) == before
    settings = run.partial / "run.json"  # results of other code must not be mixed with ours
    held = settings.read_text()
    settings.write_text(json.dumps(json.loads(held) | {"code": "0" * 64}))
    other = hstar(*run.command)
    assert other.code == 36 and "the code changed" in other.err
    settings.write_text(held)
    problems = tmp_path / "problems"
    if problems.exists():
        first = min(path for path in problems.iterdir() if path.name != "domain.pddl")
        domain = problems / "domain.pddl"
        for path, old, new in ((first, "(:objects", "extra"), (domain, "(:predicates", "(extra)")):
            text = path.read_text()
            path.write_text(text.replace(old, f"{old} {new}"))
            other = hstar(*run.command)
            assert other.code == 36 and "changed" in other.err
            path.write_text(text)
        first.unlink()
        other = hstar(*run.command)
        assert other.code == 36 and "changed" in other.err
        assert contents(run.partial) == before
    assert not run.output.exists()


def test_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    """Those of training are in training/test_train.py and test_train_tables.py."""
    run = LONG_RUNS["learn rollouts"](tmp_path, ENDLESS)
    process = run.start()
    wait_for_pieces(run, process)
    process.kill()
    process.communicate(timeout=SECONDS)
    file = run.partial / CHECKPOINT
    whole = file.read_bytes()
    with safe_open(file, framework="numpy") as opened:
        fingerprint = json.loads(opened.metadata()["hstar"])["fingerprint"]
    held = Checkpoint.read(file, fingerprint)
    assert held is not None
    memory = held.groups["memory"]
    lacking = {name: array for name, array in memory.items() if name != "fresh"}
    wrong = {**memory, "fresh": memory["fresh"] + 10**6}
    damages: list[bytes | Checkpoint] = [b"", whole[:100], whole[: len(whole) // 2]]
    for one in (lacking, wrong):
        damages.append(Checkpoint(fingerprint, held.notes, {**held.groups, "memory": one}))
    damages.append(Checkpoint(fingerprint, {**held.notes, "curve": [{}]}, held.groups))
    for damage in damages:
        if isinstance(damage, bytes):
            file.write_bytes(damage)
        else:
            damage.write(file)
        before = contents(run.partial)
        again = hstar(*run.command)
        assert again.code == 36 and "checkpoint" in again.err and "delete it" in again.err
        assert contents(run.partial) == before and not run.output.exists()  # nothing is lost
