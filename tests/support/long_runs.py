"""Long commands that a kill or a signal may end at any moment, and how to do that to them.

A run keeps what it has finished in OUTPUT.partial: a journal of pieces, or one checkpoint.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_suite import without_times, write_suite
from hard_tasks import large_search
from label_folders import busy_folder, generated, write_folder
from program import COMMAND, SECONDS, Argument, environment, hstar
from small_domains import BLOCKS, problem_text

from hstar.domains import generate
from hstar.experiments.bench import read_runs

NO_PIECES = ("run.json", "lock", "spent")
CHECKPOINT = "learner.safetensors"


@dataclass(frozen=True)
class LongRun:
    """A command and its output. `result` is what equal runs have in common."""

    arguments: tuple[Argument, ...]
    output: Path
    result: Callable[[Path], Any] = Path.read_bytes

    @property
    def command(self) -> tuple[Argument, ...]:
        return (*self.arguments, "-o", self.output)

    @property
    def partial(self) -> Path:
        return self.output.with_name(f"{self.output.name}.partial")

    def start(self) -> subprocess.Popen[str]:
        self.output.parent.mkdir(exist_ok=True)
        return subprocess.Popen(
            [*COMMAND, *self.command],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kept(self) -> dict[str, int]:
        """What no later run may lose: finished pieces with the time when each was written, and the
        step of a checkpoint."""
        if self.partial.is_file():
            return {"step": step_in(self.partial)}
        try:
            pieces = [one for one in self.partial.iterdir() if one.name not in NO_PIECES]
            times = {one.name: one.stat().st_mtime_ns for one in pieces if one.name[0] != "."}
        except FileNotFoundError:  # not begun, or at its end
            return {}
        if CHECKPOINT in times:
            return {"step": step_in(self.partial / CHECKPOINT)}
        return times


def step_in(checkpoint: Path) -> int:
    from safetensors import safe_open

    try:
        with safe_open(checkpoint, framework="numpy") as held:
            notes = json.loads(held.metadata()["hstar"])["notes"]
    except FileNotFoundError:
        return 0
    return int(notes["step"] if "step" in notes else notes["last"]["steps"])


def wait_for_pieces(run: LongRun, process: subprocess.Popen[str], more: int = 1) -> None:
    """Until that much more is kept than now, or the run ends."""
    before, changes, deadline = run.kept(), 0, time.monotonic() + SECONDS
    while changes < more and process.poll() is None:
        assert time.monotonic() < deadline, "nothing was finished"
        time.sleep(0.002)
        now = run.kept()
        changes += now != before
        before = now


def children(pid: int) -> set[int]:
    """The processes that a process has started, as long as it lives."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.add(int(stat.parent.name))
    return found


def wait_until_gone(pids: set[int]) -> None:
    """Fails when a process is still there long after it should have ended."""
    deadline = time.monotonic() + SECONDS
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, f"still running: {pids}"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended but was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def kill_often(run: LongRun, kills: int, rng: random.Random) -> list[int]:
    """Run and kill, each time after up to three more pieces and a moment.

    Returns how much had been kept at each kill, which is fewer kills than asked for if the run came
    to its end. Asserts that nothing is lost or done twice and that no worker is left behind.
    """
    kept: dict[str, int] = {}
    history: list[int] = []
    for number in range(kills):
        process = run.start()
        wait_for_pieces(run, process, rng.choice((0, 1, 1, 2, 3)) if number else 2)
        time.sleep(rng.random() * rng.choice((0.01, 0.1)))
        workers = children(process.pid)
        process.kill()
        _, err = process.communicate(timeout=SECONDS)
        wait_until_gone(workers)
        if process.returncode != -signal.SIGKILL or run.output.exists():
            assert process.returncode in (0, -signal.SIGKILL), err
            break
        now = run.kept()
        if "step" in kept:
            assert now["step"] >= kept["step"], "steps were lost"
        else:
            assert kept.items() <= now.items(), "a finished piece was lost or done again"
        kept = now
        history.append(kept["step"] if "step" in kept else len(kept))
    return history


# -- the commands. `size` is 1 in tests and larger in benchmarks; a run of size ENDLESS never ends.

ENDLESS = 10**6


def label_run(folder: Path, size: int) -> LongRun:
    def result(output: Path) -> tuple[bytes, bytes]:
        return output.read_bytes(), output.with_suffix(".manifest.json").read_bytes()

    if size == ENDLESS:
        arguments: tuple[Argument, ...] = (busy_folder(folder), "--jobs", "1")
    else:
        problems = generated(folder, blocks="6-8", count=24 * size)
        limits = ("--max-expansions", "300", "--retries", "3")
        arguments = (problems, *limits, "--jobs", "2")
    return LongRun(("label", *arguments), folder / "killed" / "labels.parquet", result)


def learning(options: str) -> list[str]:
    return [*options.split(), "--device", "cpu", "--threads", "1"]


def train_run(folder: Path, size: int) -> LongRun:
    labels = folder / "labels.parquet"
    assert hstar("label", generated(folder, "3-4", count=6), "-o", labels).code == 0
    options = [
        "--evaluate-every",
        "3",
        "--batch",
        "16",
        "--threads",
        "1",
        "--device",
        "cpu",
        "--option",
        "width=4",
    ]
    arguments = ("train", labels, "--steps", str(120 * size), *options)
    return LongRun(arguments, folder / "killed" / "m.safetensors")


def pdb_learn_run(folder: Path, size: int) -> LongRun:
    table = folder / "table.pdb"
    assert hstar("pdb", "build", "pancake-6", "--pattern", "pancakes", "-o", table).code == 0
    options = [
        "--hidden",
        "24",
        "--width",
        "12",
        "--blocks",
        "1",
        "--batch",
        "256",
        "--learning-rate",
        "1e-2",
    ]
    options += ["--evaluate-every", "5", "--device", "cpu", "--threads", "1"]
    arguments = ("pdb", "learn", table, "--steps", str(150 * size), *options)
    return LongRun(arguments, folder / "killed" / "m.safetensors")


def bench_run(folder: Path, size: int) -> LongRun:
    suite = folder / "suite"
    suite.mkdir()
    write_suite(suite)
    if size == ENDLESS:
        (suite / "hard").mkdir()
        large_search(suite / "hard")
    elif size > 1:
        generate("blocksworld", suite, ["test"], count=10 * size, ranges={"blocks": range(4, 8)})
    arguments = ("bench", suite, "-H", "blind", "ff", "--jobs", "2")
    output = folder / "killed" / "runs.parquet"
    return LongRun(arguments, output, lambda path: without_times(read_runs(path).rows).to_dicts())


def folder_run(folder: Path, size: int) -> LongRun:
    """Learning from a folder; files of plans, models and trials are never written again."""
    problems = write_folder(folder / "problems", "blocks", 10)
    return LongRun(
        ("learn", problems, "--steps", str(300 * size)), folder / "killed" / "m.safetensors"
    )


def rollouts_run(folder: Path, size: int) -> LongRun:
    problems = write_folder(folder / "problems", "gripper", 8)
    small = {"depth": 2, "width": 4, "batch": 8, "least_states": 8}
    options = [word for name, value in small.items() for word in ("--option", f"{name}={value}")]
    arguments = ("learn", problems, "--teacher", "rollouts", "--steps", str(2600 * size), *options)
    return LongRun(arguments, folder / "killed" / "m.safetensors")


def problem_run(folder: Path, size: int) -> LongRun:
    names = "abcde"
    init = [f"({word} {name})" for name in names for word in ("ontable", "clear")]
    goal = ["(on a b)", "(on b c)", "(on c d)"]
    (folder / "domain.pddl").write_text(BLOCKS)
    problem = folder / "p.pddl"
    problem.write_text(problem_text("blocks", " ".join(names), [*init, "(handempty)"], goal))

    arguments = ("learn", problem, "--steps", str(15 * size))
    return LongRun(arguments, folder / "killed" / "m.safetensors")


LONG_RUNS: dict[str, Callable[[Path, int], LongRun]] = {
    "label": label_run,
    "train": train_run,
    "pdb learn": pdb_learn_run,
    "bench": bench_run,
    "learn FOLDER": folder_run,
    "learn rollouts": rollouts_run,
    "learn PROBLEM": problem_run,
}
