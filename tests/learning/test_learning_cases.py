"""`hstar learn` and `hstar plan --learn` on unusual problems, files and limits: the right message
and exit code, and nothing lost or left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from itertools import product
from pathlib import Path

import pytest
from program import COMMAND, SECONDS, check_one_line, environment, hstar
from small_domains import BLOCKS, problem_text

QUICK = ("--time", "2s", "--states", "2000", "--width", "16")
LOCKS = """\
(define (domain locks) (:requirements :conditional-effects) (:predicates (shut ?x) (open ?x))
  (:action turn :parameters (?x)
    :effect (and (when (shut ?x) (open ?x)) (when (open ?x) (not (shut ?x))))))
"""
WALK = """\
(define (domain walk) (:requirements :action-costs)
  (:predicates (at ?x) (next ?x ?y) (got ?x)) (:functions (total-cost) - number)
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y))
    :effect (and (not (at ?x)) (at ?y) (increase (total-cost) 0)))
  (:action take :parameters (?x) :precondition (at ?x)
    :effect (and (got ?x) (increase (total-cost) 3))))
"""
# The grounder writes each effect of a move with a condition, so nothing can be regressed.
TILES = """\
(define (domain tiles) (:requirements :adl)
  (:predicates (at ?t ?c) (blank ?c) (next ?c ?d) (moves))
  (:action move :parameters (?t ?c ?d) :precondition (and (at ?t ?c) (blank ?d) (next ?c ?d))
    :effect (when (moves) (and (at ?t ?d) (blank ?c) (not (at ?t ?c)) (not (blank ?d)))))
  (:action stop :effect (not (moves))))
"""


def write(folder: Path, domain: str, problem: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "domain.pddl").write_text(domain)
    (folder / "p.pddl").write_text(problem)
    return folder / "p.pddl"


def blocks(names: str, *goal: str) -> str:
    init = [f"({word} {name})" for name in names.split() for word in ("ontable", "clear")]
    return problem_text("blocks", names, [*init, "(handempty)"], list(goal))


def walk(goal: str) -> str:
    cells = [f"c{number}" for number in range(8)]
    init = [f"(next {a} {b})" for a in cells for b in cells if abs(int(a[1]) - int(b[1])) == 1]
    text = problem_text("walk", " ".join(cells), ["(at c0)", "(= (total-cost) 0)", *init], [goal])
    return text.rstrip()[:-1] + " (:metric minimize (total-cost)))"


def tiles(side: int) -> str:
    """Tiles in reverse order."""
    places = list(product(range(side), repeat=2))
    cells = [f"c{x}-{y}" for x, y in places]
    names = [f"t{number}" for number in range(side * side - 1)]
    init = [f"(at {name} {cell})" for name, cell in zip(names, reversed(cells), strict=False)]
    init += ["(moves)", f"(blank {cells[0]})"]
    init += [
        f"(next c{x}-{y} c{i}-{j})"
        for (x, y), (i, j) in product(places, repeat=2)
        if abs(x - i) + abs(y - j) == 1
    ]
    goal = [f"(at {name} {cell})" for name, cell in zip(names, cells, strict=False)]
    return problem_text("tiles", " ".join([*cells, *names]), init, goal)


def three_locks() -> str:
    names = ("a", "b", "c")
    return problem_text("locks", "a b c", [f"(shut {n})" for n in names], ["(open a)", "(open b)"])


TOWER = blocks("a b c d e", "(on a b)", "(on b c)", "(on c d)")
NEVER = BLOCKS.replace("(:predicates", "(:predicates (never)")

# domain, problem; what learning answers and says; what planning answers
CASES = {
    "goal holds already": (BLOCKS, blocks("a b c", "(handempty)", "(clear a)"), 0, "", 0),
    "empty goal": (BLOCKS, blocks("a b"), 36, "the goal is empty or holds in every state", 0),
    "goal of two values": (BLOCKS, blocks("a b c", "(on a b)", "(on a c)"), 36, "no reachable", 11),
    "goal of a cycle": (
        BLOCKS,
        blocks("a b", "(on a b)", "(on b a)"),
        36,
        "no state can satisfy",
        11,
    ),
    "unreachable goal": (NEVER, blocks("a b", "(never)"), 36, "no reachable state", 11),
    "goal that never changes": (WALK, walk("(next c0 c1)"), 36, "holds in every state", 0),
    "only conditional effects": (LOCKS, three_locks(), 36, "conditional effects", 0),
    "actions that cost nothing": (WALK, walk("(got c7)"), 0, "", 0),
    "no state to try": (WALK, walk("(got c0)").replace("(at c0)", "(at c0) (got c0)"), 0, "", 0),
}


@pytest.mark.parametrize("case", CASES)
def test_learning_for_an_unusual_problem(case: str, tmp_path: Path) -> None:
    domain, text, code, message, planned = CASES[case]
    problem = write(tmp_path / "p", domain, text)
    model = tmp_path / "m.safetensors"
    run = hstar("learn", problem, "-o", model, *QUICK)
    if code:
        check_one_line(run, code, "nothing can be learned", message)
        assert not list(tmp_path.glob("m.*"))
    else:
        assert run.code == 0, run.err
        assert [path.name for path in tmp_path.glob("m.*")] == [model.name]
        again = hstar("plan", problem, "-H", model, "--plan-file", tmp_path / "learned")
        assert again.code == planned, again.err
    plan_file = tmp_path / "plan"
    run = hstar("plan", problem, "--learn", "5s", "--plan-file", plan_file, "--json")
    found = json.loads(run.out)
    assert run.code == found["exit_code"] == planned
    assert found["found_by"] == (None if planned else "default")
    assert plan_file.exists() == (planned == 0)


def test_planning_goes_on_where_nothing_can_be_learned(tmp_path: Path) -> None:
    problem = write(tmp_path, TILES, tiles(7))
    command = [*COMMAND, "plan", problem, "--learn", "1s", "--plan-file", tmp_path / "plan"]
    running = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    lines = []
    for line in running.stdout:
        lines.append(line)
        if line == "The default search has all the time that is left.\n":
            break
    running.send_signal(signal.SIGINT)
    running.stdout.read()
    assert running.wait(SECONDS) == 130
    assert lines[-2].startswith(("Nothing can be learned: ", "No more can be learned: out of time"))


def test_a_first_layer_beyond_the_memory_limit_is_out_of_memory(tmp_path: Path) -> None:
    problem = write(tmp_path, BLOCKS, TOWER)
    model = tmp_path / "m.safetensors"
    command = ("learn", problem, "-o", model, "--states", "2000", "--width", "60000")
    run = hstar(*command, "--time", "10m", "--overall-memory-limit", "500M")
    check_one_line(run, 22, "out of memory")
    assert not model.exists()


def test_a_memory_limit_too_low_to_learn_is_out_of_memory(tmp_path: Path) -> None:
    problem = write(tmp_path, BLOCKS, TOWER)
    command = ("plan", problem, "--learn", "5s", "--plan-file", tmp_path / "plan")
    for size in ("20M", "40M", "50M", "60M"):  # some of them end the import of libraries
        run = hstar(*command, "--overall-memory-limit", size)
        assert run.code in (0, 22), run
        assert run.code == 0 or run.err == "hstar: out of memory before there was a result\n"


def test_a_limit_spent_while_grounding_is_out_of_time(tmp_path: Path) -> None:
    problem = write(tmp_path / "p", TILES, tiles(14))
    model = tmp_path / "m.safetensors"
    for limit in ("--time", "--overall-time-limit"):
        run = hstar("learn", problem, "-o", model, limit, "0.05s")
        check_one_line(run, 23, "out of time before there was a result")
    plan = ("--plan-file", tmp_path / "plan", "--json")
    limits = ("--learn", "0.04s", "--overall-time-limit", "0.05s")
    run = hstar("plan", problem, *limits, *plan)
    check_one_line(run, 23, "out of time before there was a result")
    assert json.loads(run.out)["exit_code"] == 23
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_an_output_that_is_a_folder_is_refused_at_once(tmp_path: Path) -> None:
    problem = write(tmp_path / "p", BLOCKS, TOWER)
    (tmp_path / "m.safetensors").mkdir()
    run = hstar("learn", problem, "-o", tmp_path / "m.safetensors", *QUICK)
    check_one_line(run, 36, "cannot write", "Is a directory")
    run = hstar("plan", problem, "--learn", "5s", "--plan-file", tmp_path / "no" / "plan")
    check_one_line(run, 36, "cannot write", "No such file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors", "p"]


def test_what_was_learned_outlives_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    problem = write(tmp_path / "p", BLOCKS, TOWER)
    model, partial = tmp_path / "m.safetensors", tmp_path / "m.safetensors.partial"
    command = ["learn", problem, "-o", model, *QUICK]
    running = subprocess.Popen([*COMMAND, *command], env=environment(), stderr=subprocess.PIPE)
    started = time.monotonic()
    while not (partial / "run.json").exists() and time.monotonic() - started < SECONDS:
        time.sleep(0.01)
    model.mkdir()
    _, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 36 and b"cannot write" in err
    kept = {path.name: path.stat().st_mtime_ns for path in partial.glob("candidate-*")}
    assert kept
    model.rmdir()
    run = hstar(*command)
    assert run.code == 0, run.err
    assert model.is_file() and not partial.exists()


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learned")
    problem = write(folder, BLOCKS, TOWER)
    run = hstar("learn", problem, "-o", folder / "m.safetensors", *QUICK)
    assert run.code == 0, run.err
    return folder / "m.safetensors"


OTHERS = {
    "goal": (BLOCKS, blocks("a b c d e", "(on a b)"), "has another goal"),
    "objects": (BLOCKS, TOWER.replace("a b c d e", "a b c d e f"), "has the object 'f"),
    "fewer objects": (
        BLOCKS,
        blocks("a b c d", "(on a b)", "(on b c)", "(on c d)"),
        "lacks the object",
    ),
    "actions": (BLOCKS.replace("pick-up", "lift"), TOWER, "predicates, types or actions differ"),
    "domain": (WALK, walk("(got c7)"), "was trained on domain 'blocks'"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_model_of_another_problem_is_refused(what: str, learned: Path, tmp_path: Path) -> None:
    domain, text, message = OTHERS[what]
    problem = write(tmp_path / "p", domain, text)
    run = hstar("plan", problem, "-H", learned, "--plan-file", tmp_path / "plan")
    check_one_line(run, 31, "m.safetensors: ", message)
    assert not (tmp_path / "plan").exists()


def test_a_damaged_model_is_refused(learned: Path, tmp_path: Path) -> None:
    whole = learned.read_bytes()
    damaged = tmp_path / "m.safetensors"
    problem = learned.with_name("p.pddl")
    for content in (b"", whole[:200], whole[:-9], whole[:-40] + bytes(40), os.urandom(500)):
        damaged.write_bytes(content)
        run = hstar("plan", problem, "-H", damaged, "--plan-file", tmp_path / "plan")
        check_one_line(run, 31, "m.safetensors: ")
        assert not (tmp_path / "plan").exists()


def test_termination_keeps_what_was_learned(tmp_path: Path) -> None:
    problem = write(tmp_path / "p", BLOCKS, TOWER)
    model, partial = tmp_path / "m.safetensors", tmp_path / "m.safetensors.partial"
    options = ("--states", "2000", "--width", "16", "--time", "60s")
    command = [*COMMAND, "learn", problem, "-o", model, *options]
    running = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("fsm"):
            break  # by now the first network is kept
    running.send_signal(signal.SIGTERM)
    running.stdout.read()
    assert running.wait(SECONDS) == 143
    assert not model.exists()
    assert (partial / "candidate-0").exists() and (partial / "candidate-0.json").exists()
