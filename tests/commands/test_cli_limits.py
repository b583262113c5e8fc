"""Limits of time, memory and effort hold in every stage, and signals end a run cleanly.

No test looks at the clock: a limit that did not hold would run into the timeout of its process.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hard_tasks import (
    large_file,
    large_grounding,
    large_search,
    large_universal_effects,
    slow_grounding,
    slow_validation,
)
from program import COMMAND, SECONDS, Outcome, environment, hstar
from small_domains import problem_text

from hstar import HEURISTICS, load_task, search
from hstar.runtime.resources import Budget, OutOfResources

KEYS = [
    "solved",
    "status",
    "plan",
    "plan_cost",
    "plan_length",
    "evaluated",
    "evaluations",
    "requested",
    "expanded",
    "generated",
    "reopened",
    "deadends",
    "initial_h",
    "states",
    "state_bytes",
    "search_time",
    "total_time",
    "peak_memory_kb",
    "exit_code",
    "seed",
]
COUNTERS = [
    "evaluated",
    "evaluations",
    "requested",
    "expanded",
    "generated",
    "states",
    "state_bytes",
]
BLIND = ["-s", "astar", "-H", "blind"]

Task = tuple[Path, Path]
TaskWriter = Callable[[Path], Task]


def unsolved(outcome: Outcome, status: str, code: int, *, searched: bool) -> dict[str, Any]:
    """The one JSON object of a run that ended without a plan; complete however it ended."""
    assert outcome.code == code, outcome
    assert outcome.out.count("\n") == 1
    result: dict[str, Any] = json.loads(outcome.out)
    assert list(result) == KEYS
    assert (result["solved"], result["status"], result["exit_code"]) == (False, status, code)
    assert result["plan"] is result["plan_cost"] is result["plan_length"] is None
    assert result["total_time"] > 0
    assert result["peak_memory_kb"] > 1000
    if searched:
        assert outcome.err == ""
        assert all(result[name] > 0 for name in COUNTERS)
        assert result["initial_h"] is not None
    else:
        assert outcome.err == f"hstar: {status} before there was a result\n"
        assert all(result[name] == 0 for name in COUNTERS)
        assert (result["initial_h"], result["search_time"]) == (None, 0)
    return result


# -- time and memory

STAGES = [(large_search, True), (large_grounding, False), (large_file, False)]


@pytest.mark.parametrize(("write", "searched"), STAGES)
@pytest.mark.parametrize("megabytes", [60, 150])
def test_memory_limit(write: TaskWriter, searched: bool, megabytes: int, tmp_path: Path) -> None:
    _, problem = write(tmp_path)
    outcome = hstar("plan", problem, "--json", *BLIND, "--overall-memory-limit", f"{megabytes}M")
    result = unsolved(outcome, "out of memory", 22, searched=searched)
    assert result["peak_memory_kb"] < 1.1 * megabytes * 1024


@pytest.mark.parametrize(
    ("write", "searched"), [*STAGES, (slow_grounding, False), (large_universal_effects, False)]
)
def test_time_limit(write: TaskWriter, searched: bool, tmp_path: Path) -> None:
    _, problem = write(tmp_path)
    outcome = hstar("plan", problem, "--json", *BLIND, "--overall-time-limit", "1.5s")
    unsolved(outcome, "out of time", 23, searched=searched)


def test_a_plan_that_cannot_be_validated_in_time_is_kept(tmp_path: Path) -> None:
    """The search takes a second, the validation many minutes."""
    _, problem = slow_validation(tmp_path)
    plan = tmp_path / "plan"
    outcome = hstar("plan", problem, "--overall-time-limit", "15s", "--plan-file", plan)
    assert outcome.code == 0
    assert outcome.err.startswith("hstar: warning: out of time before the plan was validated; ")
    assert len(plan.read_text().splitlines()) == 1024


@pytest.mark.parametrize("name", HEURISTICS)
def test_making_a_heuristic_keeps_the_limits(name: str, tmp_path: Path) -> None:
    """With a deadline long gone, what takes long to make must not be finished."""
    task = load_task(*large_search(tmp_path))
    gone = Budget(deadline=1e-9)
    with pytest.raises(OutOfResources, match="out of time"):
        search(task, name, "astar", budget=gone)


def test_both_limits_at_once(tmp_path: Path) -> None:
    _, problem = slow_grounding(tmp_path)
    limits = ["--overall-memory-limit", "500M", "--overall-time-limit", "0.5s"]
    unsolved(hstar("plan", problem, "--json", *limits), "out of time", 23, searched=False)


@pytest.mark.parametrize("flags", [["-s", "gbfs"], ["-s", "lazy"], ["-s", "bfs"]])
def test_memory_limit_in_every_search(flags: list[str], tmp_path: Path) -> None:
    _, problem = large_search(tmp_path)
    limit = ["--overall-memory-limit", "50M"]
    outcome = hstar("plan", problem, "--json", *flags, "-H", "blind", *limit)
    result = unsolved_by_memory(outcome)
    assert result["peak_memory_kb"] < 1.1 * 50 * 1024


def unsolved_by_memory(outcome: Outcome) -> dict[str, Any]:
    """As `unsolved`, for searches that count no evaluations (breadth-first search)."""
    assert (outcome.code, outcome.err) == (22, "")
    result: dict[str, Any] = json.loads(outcome.out)
    assert list(result) == KEYS
    assert result["status"] == "out of memory"
    assert result["expanded"] > 0
    return result


def test_log_of_a_run_out_of_memory(tmp_path: Path) -> None:
    _, problem = large_search(tmp_path)
    plan = tmp_path / "plan"
    limits = ["--overall-memory-limit", "50M", "--plan-file", plan]
    outcome = hstar("plan", problem, *BLIND, *limits)
    assert (outcome.code, outcome.err) == (22, "")
    assert "\nNo plan: out of memory.\n" in outcome.out
    assert "\nExpanded " in outcome.out
    assert not plan.exists()


@pytest.mark.parametrize("limit", ["1K", "1M", "10M"])
def test_less_memory_than_the_program_itself_takes(limit: str, tmp_path: Path) -> None:
    _, problem = large_search(tmp_path)
    outcome = hstar("plan", problem, "--json", "--overall-memory-limit", limit)
    unsolved(outcome, "out of memory", 22, searched=False)


def test_hardly_any_time(tmp_path: Path) -> None:
    _, problem = large_search(tmp_path)
    outcome = hstar("plan", problem, "--json", "--overall-time-limit", "0.000001")
    unsolved(outcome, "out of time", 23, searched=False)


@pytest.mark.parametrize("write", [slow_grounding, large_file])
def test_limits_of_info(write: TaskWriter, tmp_path: Path) -> None:
    _, problem = write(tmp_path)
    outcome = hstar("info", problem, "--overall-time-limit", "0.5s")
    assert (outcome.code, outcome.out) == (23, "")
    assert outcome.err == "hstar: out of time before there was a result\n"


def test_generous_limits_change_nothing(tmp_path: Path) -> None:
    _, problem = large_search(tmp_path, blocks=6)
    limits = ["--overall-memory-limit", "1G", "--overall-time-limit", "1h"]
    plan = tmp_path / "plan"
    outcome = hstar("plan", problem, "--json", "--plan-file", plan, *limits)
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)["plan_cost"] == 10


# -- evaluations and expansions

SEARCHES = ["gbfs", "lazy", "astar", "wastar", "gbfls"]


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("search", SEARCHES)
def test_max_evaluations(search: str, batch: int, tmp_path: Path) -> None:
    """Exactly as many, also when states are expanded several at once."""
    _, problem = large_search(tmp_path, blocks=12)
    flags = ["-s", search, "-H", "hmax", "--batch", str(batch), "--max-evaluations", "100"]
    outcome = hstar("plan", problem, "--json", *flags)
    assert unsolved(outcome, "gave up", 12, searched=True)["requested"] == 100


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("search", [*SEARCHES, "bfs", "idastar"])
def test_max_expansions(search: str, batch: int, tmp_path: Path) -> None:
    _, problem = large_search(tmp_path, blocks=12)
    flags = ["-s", search, "-H", "hmax", "--max-expansions", "60"]
    if search != "idastar":  # it has no batches
        flags += ["--batch", str(batch)]
    outcome = hstar("plan", problem, "--json", *flags)
    assert (outcome.code, outcome.err) == (12, "")
    result = json.loads(outcome.out)
    assert (result["status"], result["expanded"]) == ("gave up", 60)


def test_max_evaluations_of_the_default_search(tmp_path: Path) -> None:
    _, problem = large_search(tmp_path, blocks=30)
    outcome = hstar("plan", problem, "--json", "--max-evaluations", "10")
    assert unsolved(outcome, "gave up", 12, searched=True)["requested"] == 10


@pytest.mark.parametrize("search", [*SEARCHES, "first-improvement", "idastar"])
def test_one_evaluation(search: str, tmp_path: Path) -> None:
    _, problem = large_search(tmp_path, blocks=12)
    outcome = hstar("plan", problem, "--json", "-s", search, "--max-evaluations", "1")
    assert json.loads(outcome.out)["requested"] == 1
    assert outcome.code == 12


SWITCH = """(define (domain switch) (:requirements :strips :negative-preconditions)
(:predicates (done) (off))
(:action again :parameters () :effect (off))
(:action press :parameters () :effect (not (off)))
(:action run :parameters () :precondition (not (off)) :effect (done)))
"""


@pytest.mark.parametrize("search", [*SEARCHES, "first-improvement", "idastar"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_limit_is_no_proof(search: str, limit: int, tmp_path: Path) -> None:
    """The first action leads nowhere. Where the limit cuts off the others nothing is left to
    expand, but that does not make the problem unsolvable."""
    (tmp_path / "domain.pddl").write_text(SWITCH)
    problem = tmp_path / "problem.pddl"
    problem.write_text(problem_text("switch", "", ["(off)"], ["(done)"]))
    flags = ["-s", search, "-H", "blind", "--max-evaluations", str(limit)]
    outcome = hstar("plan", problem, "--json", "--plan-file", tmp_path / "plan", *flags)
    assert outcome.code in (0, 12), outcome
    assert json.loads(outcome.out)["status"] in ("solved", "gave up")


# -- costs that add up to more than 32 bits

EXPENSIVE = """(define (domain road) (:requirements :strips :action-costs)
(:predicates (at ?x) (next ?x ?y))
(:functions (total-cost) - number)
(:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y))
  :effect (and (not (at ?x)) (at ?y) (increase (total-cost) 10000000))))
"""


@pytest.mark.parametrize("search", ["astar", "idastar", "wastar", "gbfs", "lazy"])
@pytest.mark.parametrize("heuristic", ["blind", "hmax", "ff", "lmcut"])
def test_long_and_expensive_plans(search: str, heuristic: str, tmp_path: Path) -> None:
    """300 steps of 10^7 each are more than 32 bits hold: the cost is right or refused, and never
    makes up cycles or dead ends."""
    names = [f"p{i}" for i in range(301)]
    init = ["(at p0)", *(f"(next {a} {b}) (next {b} {a})" for a, b in pairwise(names))]
    metric = "(:metric minimize (total-cost))"
    (tmp_path / "domain.pddl").write_text(EXPENSIVE)
    problem = tmp_path / "problem.pddl"
    problem.write_text(problem_text("road", " ".join(names), init, ["(at p300)"], metric))
    limits = ["--overall-memory-limit", "100M", "--plan-file", tmp_path / "plan"]
    outcome = hstar("plan", problem, "--json", "-s", search, "-H", heuristic, *limits)
    assert outcome.code in (0, 31), outcome
    if outcome.code == 0:
        assert json.loads(outcome.out)["plan_cost"] == 300 * 10**7
    else:
        assert outcome.err.startswith(f"hstar: {problem}: ")
        assert outcome.err.count("\n") == 1
        assert "cost" in outcome.err


# -- signals


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Shells start background processes, and so maybe these tests, deaf to SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def resident_megabytes(process: subprocess.Popen[bytes]) -> float:
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096 / 1e6


def send_when_busy(process: subprocess.Popen[bytes], number: int, megabytes: float) -> Outcome:
    """Send a signal once the process is so large that it must be in the stage to be stopped."""
    end = time.monotonic() + SECONDS
    while resident_megabytes(process) < megabytes:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=SECONDS)
    return Outcome(process.returncode, out.decode(), err.decode())


SIGNALS = [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)]


@pytest.mark.parametrize(("number", "status", "code"), SIGNALS)
@pytest.mark.parametrize(("write", "searched"), STAGES)
def test_signals(
    number: int, status: str, code: int, write: TaskWriter, searched: bool, tmp_path: Path
) -> None:
    _, problem = write(tmp_path)
    plan = tmp_path / "plan"
    process = start("plan", problem, "--json", "--plan-file", plan, *BLIND)
    outcome = send_when_busy(process, number, 60)
    unsolved(outcome, status, code, searched=searched)
    assert not plan.exists()


@pytest.mark.parametrize(("number", "status", "code"), SIGNALS)
def test_signals_while_nothing_grows(number: int, status: str, code: int, tmp_path: Path) -> None:
    _, problem = slow_grounding(tmp_path)
    process = start("plan", problem, "--plan-file", tmp_path / "plan")
    assert process.stdout is not None
    while not process.stdout.readline().startswith(b"Search: "):  # the last line before grounding
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err.decode()) == (
        code,
        f"hstar: {status} before there was a result\n",
    )


@pytest.mark.parametrize(("number", "status", "code"), SIGNALS)
def test_log_after_a_signal(number: int, status: str, code: int, tmp_path: Path) -> None:
    _, problem = large_search(tmp_path)
    process = start("plan", problem, "--plan-file", tmp_path / "plan", *BLIND)
    outcome = send_when_busy(process, number, 60)
    assert (outcome.code, outcome.err) == (code, "")
    assert f"\nNo plan: {status}.\n" in outcome.out
    assert outcome.out.count("\nExpanded ") == 1
    assert "Traceback" not in outcome.out
