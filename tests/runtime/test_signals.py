"""Ctrl-C and SIGTERM are never lost, whatever the core does when they arrive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hard_tasks import large_search
from program import COMMAND, SECONDS, environment

from hstar.runtime.atomic import write_atomically

MODEL = Path(__file__).parents[2] / "models" / "6-edge.safetensors"


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def output_of(script: str, *arguments: str | Path) -> str:
    process = start([sys.executable, "-c", script, *map(str, arguments)])
    out, err = process.communicate(timeout=10 * SECONDS)
    assert process.returncode == 0, err
    return out


OVERLAPPING = """
import os, signal, sys, threading, time
import numpy as np
import hstar
task = hstar.load_task(sys.argv[1], sys.argv[2])
first_runs, second_runs, first_ended = (threading.Event() for _ in range(3))
def first(states):
    first_runs.set(); second_runs.wait(); return np.zeros(len(states))
def second(states):
    second_runs.set(); first_ended.wait(); return np.zeros(len(states))
threads = [threading.Thread(target=hstar.search, args=(task, h), kwargs={"max_expansions": 3})
           for h in (first, second)]
threads[0].start(); first_runs.wait()
threads[1].start(); second_runs.wait()
threads[0].join(); first_ended.set(); threads[1].join()
got = []
signal.signal(signal.SIGTERM, lambda *_: got.append("SIGTERM"))
try:
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)
except KeyboardInterrupt:
    got.append("SIGINT")
print(*got)
"""


def test_handlers_are_restored_after_overlapping_searches(tmp_path: Path) -> None:
    assert output_of(OVERLAPPING, *large_search(tmp_path, blocks=5)) == "SIGTERM SIGINT\n"


UNNOTICED = """
import os, signal, sys
import numpy as np
import hstar
task = hstar.load_task(sys.argv[1], sys.argv[2])
def heuristic(states):
    os.kill(os.getpid(), signal.SIGINT)
    return np.zeros(len(states))
try:
    hstar.search(task, heuristic, "lazy", max_evaluations=1)
    print("lost")
except KeyboardInterrupt:
    print("raised")
"""


def test_a_signal_at_the_very_end_is_raised(tmp_path: Path) -> None:
    assert output_of(UNNOTICED, *large_search(tmp_path, blocks=5)) == "raised\n"


PLAN = """
import sys, threading, time, os, signal
import hstar
def interrupt():
    while int(open("/proc/self/statm").read().split()[1]) * 4096 < 80e6:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    print(hstar.plan(sys.argv[1], sys.argv[2], "blind", "astar").status)
except KeyboardInterrupt:
    print("raised")
"""


def test_an_interrupted_plan_raises(tmp_path: Path) -> None:
    assert output_of(PLAN, *large_search(tmp_path)) == "raised\n"


COMPRESS = """
import os, signal, threading
import numpy as np
from hstar.pdb import PatternDatabase, compress
from hstar.pdb.database import Layout
from hstar.runtime.resources import OutOfResources
cells = 88179840  # all corners of the cube
layout = Layout("cube3", tuple(range(8)), cells, 4)
database = PatternDatabase(layout, np.zeros(cells // 2, np.uint8))
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        compress(database, symmetric=True)
except (KeyboardInterrupt, OutOfResources) as error:
    print("stopped")
"""


def test_interrupted_compression() -> None:
    assert output_of(COMPRESS) == "stopped\n"


def test_a_signal_after_a_file_was_written(tmp_path: Path, monkeypatch: Any) -> None:
    """Not an error about the temporary file, which has become the file."""
    rename = os.replace

    def replace_and_stop(*paths: str) -> None:
        rename(*paths)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace_and_stop)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", "text")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_sweep(number: int, code: int) -> None:
    process = start([*COMMAND, "pdb", "verify", str(MODEL)])
    assert process.stderr is not None
    assert process.stderr.readline().startswith("certify")  # the first range is done
    process.send_signal(number)
    _, err = process.communicate(timeout=10 * SECONDS)
    assert process.returncode == code, err
    assert "bug in hstar" not in err
