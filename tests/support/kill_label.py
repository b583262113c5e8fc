"""Kills `hstar label` again and again: is anything that was finished lost or done twice?"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from program import COMMAND, SECONDS, environment


def start_label(*arguments: str | os.PathLike[str]) -> subprocess.Popen[bytes]:
    """Begin `hstar label` and do not wait for it."""
    return subprocess.Popen(
        [*COMMAND, "label", *arguments],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def journal_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.partial")


def finished(output: Path) -> dict[str, int]:
    """The attempts kept so far, and when each was written."""
    kept = {}
    for path in journal_of(output).glob("[0-9]*.npz"):
        try:
            kept[path.name] = path.stat().st_mtime_ns
        except FileNotFoundError:  # the run has just come to its end
            return {}
    return kept


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


def kill_often(
    arguments: list[str | os.PathLike[str]], output: Path, kills: int, rng: random.Random
) -> list[int]:
    """Run and kill, each time after up to three more attempts and a moment.

    Returns how many attempts had been kept at each kill, which is fewer kills than asked for if the
    run came to its end. Asserts that no attempt is done twice and that no worker is left behind.
    """
    kept: dict[str, int] = {}
    history: list[int] = []
    for _ in range(kills):
        process = start_label(*arguments, "-o", output)
        wanted = len(kept) + rng.choice((0, 1, 1, 2, 3))
        while len(finished(output)) < wanted and process.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.random() * rng.choice((0.01, 0.1)))
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate(timeout=SECONDS)
        wait_until_gone(workers)
        if process.returncode != -signal.SIGKILL:
            assert process.returncode == 0, err.decode()
            break
        if output.exists():  # killed after all was done
            break
        now = finished(output)
        assert kept.items() <= now.items(), "a finished attempt was lost or done again"
        kept = now
        history.append(len(kept))
    return history
