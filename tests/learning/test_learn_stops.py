"""`hstar learn` under signals, limits and deaths: equal files, the best so far, nothing lost."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

import pytest
from label_folders import write_folder
from learning_runs import (
    QUICK,
    check_learned,
    ended,
    input_of,
    killed,
    learn,
    model_in,
    partial_of,
    pieces,
    started,
    wait_for_line,
    wait_for_pieces,
)
from program import SECONDS, Outcome, check_one_line, hstar
from test_learn_command import locks

from hstar.runtime.journal import SETTINGS, digest_of
from hstar.slots.model_file import ModelFile, from_bytes, read_model, to_bytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("stops") / "problems", "gripper", 8)


FIRST_KILL = {"domain": 3, "problem": 2, "rollouts": 2}
DIES_AFTER = {"domain": 12, "problem": 1, "rollouts": 4}  # pieces


@pytest.mark.parametrize("recipe", QUICK)
def test_equal_steps_give_equal_bytes(recipe: str, folder: Path, tmp_path: Path) -> None:
    """With one process and with two, killed and resumed, and when workers die."""
    source, options = input_of(recipe, folder), (*QUICK[recipe], "--seed", "3")
    models = [tmp_path / f"{name}.safetensors" for name in ("one", "two", "killed", "dying")]
    whole = learn(source, models[0], *options, "--jobs", "1")
    check_learned(whole, models[0])
    check_learned(learn(source, models[1], *options, "--jobs", "2"), models[1])
    killed(source, models[2], FIRST_KILL[recipe], *options, "--jobs", "2")
    kept = len(pieces(models[2]))
    run = started(source, models[2], *options)
    if wait_for_pieces(run, models[2], kept + 8):
        ended(run, signal.SIGKILL)
    check_learned(learn(source, models[2], *options), models[2])
    check_learned(with_deaths(source, models[3], DIES_AFTER[recipe], *options), models[3])
    contents = {model.read_bytes() for model in models}
    assert len(contents) == 1
    other = tmp_path / "seed.safetensors"
    assert learn(source, other, *QUICK[recipe], "--seed", "4").code == 0
    if recipe != "domain":  # where no model begins with random weights
        assert other.read_bytes() not in contents


def workers_of(process: int) -> list[int]:
    """Process numbers of the children."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def with_deaths(source: Path, model: Path, count: int, *options: str) -> Outcome:
    """A run of which one worker is killed as soon as so many pieces are kept."""
    run = started(source, model, *options, "--jobs", "1")
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(run.stdout or ()))
    reader.start()
    assert wait_for_pieces(run, model, count)
    while run.poll() is None and not any("worker process died" in line for line in lines):
        for worker in workers_of(run.pid):
            os.kill(worker, signal.SIGKILL)
        time.sleep(0.3)  # longer than a job: one that always dies would be given up
    reader.join(SECONDS)
    err = run.stderr.read() if run.stderr else ""
    out = "".join(lines)
    assert "a worker process died (the process ended with signal SIGKILL" in out, out
    assert "its job is done again" in out
    return Outcome(run.wait(SECONDS), out, err)


@pytest.mark.parametrize("recipe", ["domain", "problem"])
def test_an_interrupt_during_the_race_keeps_the_best(
    recipe: str, folder: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m.safetensors"
    source, options = input_of(recipe, folder), [*QUICK[recipe], "--jobs", "1"]
    for steps in ("300", "1000", "3000"):  # on a busy machine the signal may come too late
        options[:2] = ["--steps", steps]
        run = started(source, model, *options)
        wait_for_line(run, "up to ")
        said = ended(run, signal.SIGINT)
        assert said.code == 0, said.err
        if "because the run was interrupted" in said.out:
            break
        model.unlink()
    assert "because the run was interrupted" in said.out
    assert "no model" not in said.out and "nothing" not in said.out
    kept = f"what is finished is kept in {partial_of(model)}; run the same command again to go on"
    assert kept in said.err
    held = read_model(model).metadata
    assert held["verdict"]["use"] == "unknown" and held["search"]["alternating"]
    assert pieces(model)
    again = learn(source, model, *options)
    check_learned(again, model)
    assert read_model(model).metadata["verdict"]["use"] != "unknown"


def test_an_interrupt_while_models_are_made_keeps_those_that_are(
    folder: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m.safetensors"
    run = started(folder, model, "--steps", "3000", "--objective", "squared", "--jobs", "1")
    assert wait_for_models(run, model, 2)  # the last one may not have arrived
    said = ended(run, signal.SIGINT)
    assert said.code == 0, said.err
    assert "because the run was interrupted" in said.out
    assert read_model(model).metadata["verdict"]["use"] == "unknown"
    assert pieces(model)


def wait_for_models(run: Popen[str], model: Path, count: int) -> bool:
    """Whether the journal holds so many models before the run ends."""
    while run.poll() is None:
        held = (partial_of(model) / name for name in pieces(model))
        with suppress(FileNotFoundError):  # the run is at its end
            if sum(b"hstar-model" in path.read_bytes()[:20000] for path in held) >= count:
                return True
        time.sleep(0.002)
    return False


@pytest.mark.parametrize(
    ("number", "code", "status"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_before_there_is_a_model_keeps_the_journal(
    number: int, code: int, status: str, folder: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m.safetensors"
    run = started(folder, model, "--steps", "5000", "--jobs", "1")
    assert wait_for_pieces(run, model, 1)
    said = ended(run, number)
    assert said.code == code and not model.exists()
    assert f"kept in {partial_of(model)}; run the same command again" in said.err
    assert f"{status} before there was a result" in said.err
    assert pieces(model)


def test_termination_keeps_the_journal_and_makes_no_file(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.safetensors"
    run = started(folder, model, "--steps", "300", "--jobs", "1")
    wait_for_line(run, "up to ")
    said = ended(run, signal.SIGTERM)
    assert said.code == 143 and not model.exists() and len(pieces(model)) >= 4
    assert f"kept in {partial_of(model)}" in said.err


def test_a_limit_during_the_race_keeps_the_best(tmp_path: Path) -> None:
    """On problems that take seconds each, so that the race comes to no end."""
    folder = locks(tmp_path / "p", *["(at {1})"] * 5)
    model = model_in(folder)
    for seconds in (8, 32, 128):  # a busy machine may not even begin in the first
        limits = ("--steps", "10000000", "--overall-time-limit", f"{seconds}s")
        run = learn(folder, model, *limits, "--jobs", "1")
        if run.code == 0:
            break
        assert run.code in (12, 23), run
    assert run.code == 0 and model.exists(), run
    assert "Verdict: " in run.out and "no model" not in run.out
    assert f"what is finished is kept in {partial_of(model)}; run the same command" in run.err
    assert pieces(model)


def forge(piece: Path, content: bytes) -> None:
    """Put other content into a journal, with the digest that it asks for."""
    settings = json.loads((piece.parent / SETTINGS).read_text())
    head = digest_of(f"{digest_of(json.dumps(settings))}  {digest_of(content)}")
    piece.write_bytes(head.encode() + b"\n" + content)


def test_pieces_of_the_journal_name_no_code_but_that_of_the_recipe(
    folder: Path, tmp_path: Path
) -> None:
    """A model that names other code, with a correct digest, is trained again."""
    model, options = tmp_path / "m.safetensors", (*QUICK["domain"], "--jobs", "1")
    (tmp_path / "quietmod.py").write_text("from pathlib import Path\nPath('it_ran').touch()\n")
    whole = learn(folder, model, *options)
    check_learned(whole, model)
    content = model.read_bytes()
    model.unlink()
    run = started(folder, model, *options)
    wait_for_line(run, "up to ")
    ended(run, signal.SIGKILL)
    changed = 0
    for path in map(partial_of(model).joinpath, pieces(model)):
        _, _, held = path.read_bytes().partition(b"\n")
        if b"hstar-model" in held[:20000]:
            changed += 1
            file = from_bytes(held, "piece")
            named = {**file.metadata["model"], "name": "quietmod:S"}
            planted = to_bytes(ModelFile({**file.metadata, "model": named}, file.tensors))
            forge(path, planted)
    assert changed
    again = hstar("learn", folder, "-o", model, *options, cwd=tmp_path)
    check_learned(again, model)
    assert again.out.count("what was kept is not used, and trained again") == changed
    assert not (tmp_path / "it_ran").exists()
    assert model.read_bytes() == content


def test_time_limits(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.safetensors"
    run = learn(folder, model, "--time", "4s")
    assert run.code in (0, 12, 23), run.err
    assert run.code != 0 or read_model(model).metadata["verdict"]["use"]
    for options in (("--time", "0.01s"), ("--steps", "99", "--overall-time-limit", "0.05s")):
        other = tmp_path / "other.safetensors"
        run = learn(folder, other, *options)
        if run.code == 23:
            check_one_line(run, 23, "out of time before there was a result")
        else:  # the problems were read in that time
            assert run.code == 12 and "no training problem was labelled" in run.out
            assert "everything was tried" not in run.out
        assert not other.exists() and not partial_of(other).exists()


# -- what a journal may go on with


LONG = ("--steps", "10000000", *QUICK["rollouts"][2:])


def acting(folder: Path, model: Path) -> None:
    """Killed when reinforcement learning has written a checkpoint."""
    run = started(folder, model, *LONG)
    assert wait_for_pieces(run, model, 1)
    assert run.stdout is not None
    line = ""
    while not line.startswith("step ") or line.startswith("step 0:"):
        line = run.stdout.readline()
        assert line
    ended(run, signal.SIGKILL)
    assert not model.exists()


def test_reinforcement_learning_goes_on_from_its_checkpoint(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C ends it with the best weights so far."""
    model = tmp_path / "m.safetensors"
    acting(folder, model)
    run = started(folder, model, *LONG)
    assert run.stdout is not None
    before = []
    while not before or not before[-1].startswith("step "):
        before.append(run.stdout.readline())
    assert any(line.startswith("going on from step") for line in before)
    said = ended(run, signal.SIGINT)
    assert said.code == 0, said.err
    assert "because the run was interrupted" in said.out
    curve = read_model(model).metadata["training"]["curve"]
    assert len(curve) >= 3  # of both runs
    assert [line["step"] for line in curve] == sorted({line["step"] for line in curve})
