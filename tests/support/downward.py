"""Runs Fast Downward, from the PyPI wheel up-fast-downward, as a separate program.

Fast Downward is GPL, so nothing of it is imported here; the wheel is only asked where its binary
lies. Translator and search are started apart, because a translated task can then be searched many
times, also from other initial states (``with_initial_state``).
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

# The search binary's own "lama-first" alias, which only the wheel's driver script knows.
LAMA_FIRST = (
    "let(hlm, eval_modify_costs(landmark_sum(lm_factory=lm_reasonable_orders_hps(lm_rhw()),"
    "pref=false),cost_type=one),let(hff, eval_modify_costs(ff(),cost_type=one),"
    "lazy_greedy([hff,hlm],preferred=[hff,hlm],cost_type=one,reopen_closed=false)))"
)


class FastDownwardError(Exception):
    """Fast Downward failed in a way that is no statement about the task."""


def search_binary() -> Path | None:
    """The search component inside the wheel; None if the wheel is not installed."""
    spec = importlib.util.find_spec("up_fast_downward")
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "downward" / "builds" / "release" / "bin" / "downward"
    return binary if binary.exists() else None


def why_unavailable() -> str | None:
    """What is missing, as a reason to skip a test; None if Fast Downward can be run."""
    if search_binary() is None:
        return "Fast Downward is not installed (pip install up-fast-downward)"
    try:
        translator = importlib.util.find_spec("fast_downward.translate")
    except ModuleNotFoundError:
        translator = None
    if translator is None:
        return "Fast Downward's translator is not installed (pip install fast-downward.translate)"
    return None


@dataclass(frozen=True)
class Translation:
    sas: Path
    wall: float  # seconds as the translator reports them, without the start of the interpreter
    process_wall: float  # seconds from start to exit of the process
    process_cpu: float
    variables: int
    facts: int
    operators: int


def translate(
    domain: Path | str,
    problem: Path | str,
    workdir: Path | str,
    *,
    keep_irrelevant: bool = False,
    timeout: float | None = None,
) -> Translation:
    """Translates to ``workdir/output.sas``.

    Raises subprocess.TimeoutExpired, or FastDownwardError with the translator's last words.
    """
    sas = Path(workdir) / "output.sas"
    command = [sys.executable, "-P", "-m", "fast_downward.translate", str(domain), str(problem)]
    command += ["--sas-file", str(sas)]
    if keep_irrelevant:
        command.append("--keep-unimportant-variables")
    cpu_before, start = children_cpu(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    process_wall, process_cpu = time.perf_counter() - start, children_cpu() - cpu_before
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise FastDownwardError(f"translator exit code {done.returncode}: {lines[-1:]}")
    wall = re.search(r"^Done! \[[\d.]+s CPU, ([\d.]+)s wall-clock\]", done.stdout, re.MULTILINE)
    if wall is None:
        raise FastDownwardError("the translator's log does not end with its times")
    counts = dict(re.findall(r"^Translator (\w+): (\d+)$", done.stdout, re.MULTILINE))
    return Translation(
        sas,
        float(wall.group(1)),
        process_wall,
        process_cpu,
        int(counts["variables"]),
        int(counts["facts"]),
        int(counts["operators"]),
    )


def children_cpu() -> float:
    """CPU seconds, user and system, of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


@dataclass(frozen=True)
class Run:
    """What one search said in its log; None where it said nothing."""

    exit_code: int
    process_wall: float
    evaluated: int | None = None
    generated: int | None = None
    expanded: int | None = None
    registered: int | None = None
    search_time: float | None = None
    total_time: float | None = None
    peak_memory_kb: int | None = None
    initial_h: float | None = None
    plan_cost: int | None = None
    plan_length: int | None = None
    plan: list[str] | None = field(default=None, repr=False)
    error: str = ""

    @property
    def solved(self) -> bool:
        return self.plan_cost is not None

    @property
    def unsolvable(self) -> bool:
        return self.exit_code == 11


INTEGERS = {
    "evaluated": r"Evaluated (\d+) state",
    "generated": r"Generated (\d+) state",
    "expanded": r"Expanded (\d+) state",
    "registered": r"Number of registered states: (\d+)",
    "peak_memory_kb": r"Peak memory: (\d+) KB",
    "plan_cost": r"Plan cost: (\d+)",
    "plan_length": r"Plan length: (\d+) step",
}
SECONDS = {"search_time": r"Search time: ([\d.]+)s", "total_time": r"Total time: ([\d.]+)s"}


def run(sas: Path | str, search: str, *, timeout: float | None = None) -> Run:
    """Searches a translated task.

    For a time limit whose counters can still be read, put ``max_time=SECONDS`` into the search
    string; ``timeout`` kills the process, and raises subprocess.TimeoutExpired.
    """
    binary = search_binary()
    if binary is None:
        raise FastDownwardError("Fast Downward is not installed")
    sas = Path(sas).absolute()
    plan_file = sas.with_suffix(".plan")
    plan_file.unlink(missing_ok=True)
    command = [str(binary), "--search", search, "--internal-plan-file", str(plan_file)]
    start = time.perf_counter()
    with sas.open() as source:
        done = subprocess.run(
            command, stdin=source, capture_output=True, text=True, timeout=timeout, check=False
        )
    wall = time.perf_counter() - start
    log, values = done.stdout, {}
    for name, pattern in INTEGERS.items():
        # "until last jump" lines have the same form; only the plain ones end the line so.
        found = re.findall(pattern + r"(?:\(s\))?\.?$", log, re.MULTILINE)
        values[name] = int(found[-1]) if found else None
    for name, pattern in SECONDS.items():
        found = re.findall(r"\] " + pattern + "$", log, re.MULTILINE)
        values[name] = float(found[-1]) if found else None
    plan = None
    if plan_file.exists():
        plan = [line for line in plan_file.read_text().splitlines() if line.startswith("(")]
    return Run(
        exit_code=done.returncode,
        process_wall=wall,
        initial_h=initial_value(log),
        plan=plan,
        error=done.stderr.strip(),
        **values,
    )


def initial_value(log: str) -> float | None:
    """The heuristic value of the initial state; inf if it was recognised as a dead end."""
    found = re.search(r"Initial heuristic value for .*?: (\d+|infinity)$", log, re.MULTILINE)
    if found is not None:
        return float("inf") if found.group(1) == "infinity" else float(found.group(1))
    return float("inf") if "Initial state is a dead end" in log else None


def heuristic_value(sas: Path | str, heuristic: str) -> float:
    """Fast Downward's value of the initial state for e.g. ``hmax()`` or ``add()``."""
    result = run(sas, f"eager_greedy([{heuristic}], bound=0)")
    if result.initial_h is None:
        raise FastDownwardError(f"no value of {heuristic}: {result}")
    return result.initial_h


def with_initial_state(sas_text: str, atoms: Iterable[str]) -> str:
    """The task with its initial state replaced by the one in which exactly these atoms hold.

    Atoms are written as in the file, e.g. ``on(a, b)`` and ``handempty()``. Atoms that the
    translator did not keep are ignored. Raises ValueError if the atoms give a variable two values,
    or none where the variable has no value for that: they are then no state of this task.
    """
    true = set(atoms)
    values = [variable_value(block, true) for block in variable_blocks(sas_text)]
    section = "begin_state\n" + "".join(f"{value}\n" for value in values) + "end_state"
    replaced, count = re.subn(
        r"begin_state\n.*?end_state", lambda _: section, sas_text, count=1, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError("no initial state in the file")
    return replaced


def variable_blocks(sas_text: str) -> list[list[str]]:
    """The value names of every variable, in order."""
    blocks = re.findall(r"begin_variable\n(.*?)\nend_variable", sas_text, re.DOTALL)
    return [block.split("\n")[3:] for block in blocks]  # name, axiom layer, size, values


def variable_value(names: list[str], true: set[str]) -> int:
    held = [i for i, name in enumerate(names) if name.removeprefix("Atom ") in true]
    if len(held) == 1:
        return held[0]
    if held:
        raise ValueError(f"more than one value of a variable holds: {[names[i] for i in held]}")
    for i, name in enumerate(names):
        if name.startswith("NegatedAtom ") or name == "<none of those>":
            return i
    raise ValueError(f"no value of a variable holds: {names}")


def has_axioms(sas_text: str) -> bool:
    """Whether a variable is derived, i.e. no free part of the state."""
    return re.search(r"begin_variable\n\S+\n(?!-1\n)", sas_text) is not None
