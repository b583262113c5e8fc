"""Limits hold from the start of a command, while it reads a model, and with none asked for."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hard_tasks import large_search, never_ending
from program import environment
from program import hstar as program
from untrained_models import untrained

import hstar
from hstar import _core
from hstar.commands.cli import run
from hstar.runtime import resources
from hstar.slots.model_file import write_model
from hstar.slots.objectives import make_objective


def test_a_model_larger_than_the_memory_limit(tmp_path: Path) -> None:
    _, problem = large_search(tmp_path, blocks=4)
    size = 2**31
    about = {"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}
    header = json.dumps({"__metadata__": {"hstar": "{}"}, **about}).encode()
    path = tmp_path / "large.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)
    limits = ["--overall-memory-limit", "150M"]
    outcome = program("plan", problem, "--json", "-H", path, *limits)
    assert (outcome.code, outcome.err) == (22, "hstar: out of memory before there was a result\n")
    assert json.loads(outcome.out)["peak_memory_kb"] < 1.1 * 150 * 1024


@pytest.mark.parametrize("name", ["linear", "mlp", "nlm"])
def test_a_model_hardly_needs_more_memory_than_the_planner(name: str, tmp_path: Path) -> None:
    """What libraries reserve for threads, but do not use, is no part of it."""
    domain, problem = large_search(tmp_path, blocks=4)
    model = untrained(name, hstar.load_task(domain, problem), make_objective("l-gbfs"))
    path = tmp_path / "model.safetensors"
    write_model(path, model.file)
    command = ["-m", "hstar", "plan", problem, "-H", path, "--plan-file", tmp_path / "plan"]
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    freely = {key: value for key, value in environment().items() if key not in threads}
    outcome = subprocess.run(
        [sys.executable, *command, "--overall-memory-limit", "80M"],
        env=freely, capture_output=True, check=False,
    )  # fmt: skip
    assert (outcome.returncode, outcome.stderr) == (0, b"")


@pytest.mark.parametrize("megabytes", [25, 40])
@pytest.mark.parametrize("command", ["plan -H model.safetensors", "solve tiles-3x3 --scramble 5"])
def test_a_limit_that_leaves_no_room_for_numpy(
    command: str, megabytes: int, tmp_path: Path
) -> None:
    domain, problem = large_search(tmp_path, blocks=4)
    model = untrained("nlm", hstar.load_task(domain, problem), make_objective("l-gbfs"))
    write_model(tmp_path / "model.safetensors", model.file)
    name, *rest = command.split()
    files = [problem] if name == "plan" else []
    limit = ["--overall-memory-limit", f"{megabytes}M"]
    outcome = program(name, *files, *rest, *limit, cwd=tmp_path)
    assert outcome.code == 22 or (megabytes == 40 and outcome.code == 0), outcome
    assert "OpenBLAS" not in outcome.err


def test_time_counts_from_the_start_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, problem = large_search(tmp_path, blocks=4)
    started = _core.monotonic_seconds() - 100
    arguments = ["plan", str(problem), "--plan-file", str(tmp_path / "plan")]
    assert run([*arguments, "--overall-time-limit", "99s"], started) == 23
    assert "out of time before there was a result" in capsys.readouterr().err
    assert run([*arguments, "--overall-time-limit", "1000s"], started) == 0
    assert 0 <= resources.process_age() < 1e6


def test_a_search_in_python_ends_before_the_machine_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resources.available_bytes() > 2**20
    task = hstar.load_task(*never_ending(tmp_path))
    monkeypatch.setattr(resources, "available_bytes", lambda: 2**27)
    for result in (
        hstar.search(task, "blind", "gbfs"),
        hstar.plan(tmp_path / "domain.pddl", tmp_path / "problem.pddl", "blind", "gbfs"),
    ):
        assert (result.status, result.exit_code) == ("out of memory", 22)
