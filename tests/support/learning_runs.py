"""Runs of `hstar learn` on problems that take moments, and what each must leave behind."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from long_runs import NO_PIECES
from program import COMMAND, SECONDS, Argument, Outcome, environment, hstar

# A small network of reinforcement learning.
NETWORK = [
    word for option in ("depth=2", "width=4", "batch=8", "least_states=8")
    for word in ("--option", option)
]  # fmt: skip
ROLLOUTS = ("--teacher", "rollouts", *NETWORK)
# Each recipe with the limit of a quick run: `domain` and `rollouts` learn from a folder.
QUICK: dict[str, tuple[str, ...]] = {
    "domain": ("--steps", "60", "--option", "rounds=1"),
    "problem": ("--steps", "60", "--states", "500", "--option", "hidden=8"),
    "rollouts": ("--steps", "60", *ROLLOUTS),
}


def model_in(folder: Path) -> Path:
    return folder.parent / "m.safetensors"


def partial_of(model: Path) -> Path:
    return Path(f"{model}.partial")


def input_of(recipe: str, folder: Path) -> Path:
    """A folder, or the largest problem in it."""
    return max(folder.glob("p*.pddl"), key=lambda p: p.stat().st_size) if (
        recipe == "problem") else folder  # fmt: skip


def learn(source: Path, model: Path, *options: Argument) -> Outcome:
    return hstar("learn", source, "-o", model, *options)


def check_learned(run: Outcome, model: Path) -> None:
    """A model and a verdict, and nothing else is left."""
    assert run.code == 0, run.err
    assert "Verdict: " in run.out and f"The model is in {model}; " in run.out
    assert model.exists() and not partial_of(model).exists()


def started(source: Path, model: Path, *options: Argument) -> subprocess.Popen[str]:
    command = [*COMMAND, "learn", source, "-o", model, *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True)


def pieces(model: Path) -> list[str]:
    """Names of what a run has kept so far."""
    folder = partial_of(model)
    names = [one.name for one in folder.glob("[!.]*")] if folder.is_dir() else []
    return [name for name in names if name not in NO_PIECES]


def wait_for_pieces(run: subprocess.Popen[str], model: Path, count: int) -> bool:
    """Whether a run has kept so many pieces before it ended."""
    end = time.monotonic() + SECONDS
    while run.poll() is None and time.monotonic() < end:
        if len(pieces(model)) >= count:
            return True
        time.sleep(0.005)
    return False


def wait_for_line(run: subprocess.Popen[str], start: str) -> None:
    """Until a run says a line with this beginning."""
    assert run.stdout is not None
    line = " "
    while line and not line.startswith(start):
        line = run.stdout.readline()
    assert line


def ended(run: subprocess.Popen[str], number: int) -> Outcome:
    """After a signal."""
    run.send_signal(number)
    out, err = run.communicate(timeout=SECONDS)
    return Outcome(run.returncode, out, err)


def killed(source: Path, model: Path, count: int, *options: Argument) -> None:
    """Killed as soon as so many pieces are kept."""
    run = started(source, model, *options)
    assert wait_for_pieces(run, model, count)
    assert ended(run, signal.SIGKILL).code == -signal.SIGKILL
    assert not model.exists()
