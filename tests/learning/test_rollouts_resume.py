"""`hstar learn FOLDER` under signals: what is kept, what goes on, and what is refused."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from program import COMMAND, SECONDS, environment, hstar
from test_learn_rollouts import NETWORK, ROLLOUTS, check_learned, folder, learn, model_in
from test_learning_stops import hard

from hstar.slots.model_file import read_model
from hstar.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint

__all__ = ["folder", "hard"]  # fixtures


def started(folder: Path, *more: str) -> subprocess.Popen[str]:
    """A long run; returns when it has written a checkpoint with some learning in it."""
    command = [*COMMAND, "learn", folder, "-o", model_in(folder), *ROLLOUTS, *NETWORK, *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen(command, env=environment(), **pipes)  # type: ignore[call-overload]
    for line in running.stdout:
        if line.startswith("step ") and not line.startswith("step 0:"):
            return running  # type: ignore[no-any-return]
    raise AssertionError(running.stderr.read())


LONG = ("--steps", "10000000")


def test_an_interrupt_keeps_the_best(folder: Path) -> None:
    running = started(folder, *LONG)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 0, err
    assert "the best weights so far are kept" in out
    assert not Path(f"{model_in(folder)}.partial").exists()
    problem = folder / "p07.pddl"
    run = hstar("plan", problem, "-H", model_in(folder), "--plan-file", folder.parent / "plan")
    assert run.code == 0


def test_a_terminated_run_goes_on(folder: Path) -> None:
    running = started(folder, *LONG)
    running.send_signal(signal.SIGTERM)
    assert running.wait(SECONDS) == 143
    assert not model_in(folder).exists()
    again = started(folder, *LONG)
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=SECONDS)
    assert again.returncode == 0
    curve = read_model(model_in(folder)).metadata["training"]["curve"]
    assert len(curve) >= 3  # of both runs
    assert [line["step"] for line in curve] == sorted({line["step"] for line in curve})


def killed(folder: Path, *more: str) -> Path:
    running = started(folder, *more)
    running.send_signal(signal.SIGKILL)
    running.wait(SECONDS)
    partial = Path(f"{model_in(folder)}.partial")
    assert (partial / "learner.safetensors").exists() and not model_in(folder).exists()
    return partial


def contents(partial: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in partial.iterdir() if path.name != "lock"}


def test_a_changed_folder_or_setting_does_not_go_on(folder: Path) -> None:
    partial = killed(folder, *LONG)
    before = contents(partial)
    kept = (folder / "p00.pddl").read_text()
    (folder / "p00.pddl").write_text(kept + "; a remark\n")
    changes = (
        (LONG, "the problems changed"),
        (("--steps", "9999999"), "updates changed"),
        ((*LONG, "--seed", "3"), "seed was 0, is now 3"),
        ((*LONG, "--option", "gamma=0.9"), "shaping changed"),
    )
    for more, message in changes:
        run = learn(folder, *more, quick=tuple(NETWORK))
        assert run.code == 36 and message in run.err
        assert contents(partial) == before
        (folder / "p00.pddl").write_text(kept)
    (folder / "p00.pddl").unlink()
    assert "the problems changed" in learn(folder, *LONG, quick=tuple(NETWORK)).err
    assert contents(partial) == before


def test_damaged_checkpoints_are_refused(folder: Path) -> None:
    partial = killed(folder, *LONG)
    file = partial / "learner.safetensors"
    whole = file.read_bytes()
    fingerprint = json.loads(_metadata(file))["fingerprint"]
    held = read_checkpoint(file, fingerprint)
    assert held is not None
    memory = held.groups["memory"]
    lacking = {name: array for name, array in memory.items() if name != "fresh"}
    wrong = {**memory, "fresh": memory["fresh"] + 10**6}
    damages: list[bytes | Checkpoint] = [b"", whole[:100], whole[: len(whole) // 2]]
    for groups in (lacking, wrong):
        damages.append(Checkpoint(fingerprint, held.notes, {**held.groups, "memory": groups}))
    damages.append(Checkpoint(fingerprint, {**held.notes, "curve": [{}]}, held.groups))
    for damage in damages:
        if isinstance(damage, bytes):
            file.write_bytes(damage)
        else:
            write_checkpoint(file, damage)
        before = contents(partial)
        run = learn(folder, *LONG, quick=tuple(NETWORK))
        assert run.code == 36 and "checkpoint" in run.err and "delete it" in run.err
        assert contents(partial) == before  # nothing is lost
        assert not model_in(folder).exists()


def _metadata(file: Path) -> str:
    from safetensors import safe_open

    with safe_open(file, framework="numpy") as opened:
        return str(opened.metadata()["hstar"])


def test_a_killed_run_ends_as_one_that_was_not(folder: Path) -> None:
    """See also benchmarks/kill_folder.py."""
    steps = ("--steps", "2600")
    killed(folder, *steps)
    run = learn(folder, *steps, quick=tuple(NETWORK))
    check_learned(run, model_in(folder))
    assert "going on from step" in run.out
    resumed = model_in(folder).read_bytes()
    check_learned(learn(folder, *steps, quick=tuple(NETWORK)), model_in(folder))
    assert model_in(folder).read_bytes() == resumed


def test_two_runs_do_not_share_an_output(folder: Path) -> None:
    running = started(folder, *LONG)
    run = learn(folder, *LONG, quick=tuple(NETWORK))
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=SECONDS)
    assert run.code == 36 and "another process is writing this output" in run.err


def test_interrupts_of_searches(hard: Path) -> None:
    """Before the first weights are judged there is nothing to keep; during the verdict, which takes
    a minute, there is."""
    model = hard.parent / "m.safetensors"
    settings = ("--steps", "2", *NETWORK, "--option", "lower=hmax", "--option", "breadth=1")
    command = [*COMMAND, "learn", hard, "--teacher", "rollouts", "-o", model, *settings]
    said = {130: "interrupted before there was a result", 0: "the best weights so far are kept"}
    for sign, codes in (
        ("1 problems to learn from", (130, 0)),
        ("step 2: ", (0,)),
    ):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running = subprocess.Popen(command, env=environment(), **pipes)  # type: ignore[call-overload]
        assert any(line.startswith(sign) for line in running.stdout)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=SECONDS)
        assert running.returncode in codes, err
        assert said[running.returncode] in out + err
        assert model.exists() == (running.returncode == 0)
        assert not Path(f"{model}.partial").exists()
        model.unlink(missing_ok=True)
