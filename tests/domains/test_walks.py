"""Problems of other initial states, which walks from the initial state of one problem reach."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from program import check_one_line, hstar
from small_domains import ALL, BLOCKS, problem_text

from hstar.domains.walks import walk_problems
from hstar.pddl import parse
from hstar.pddl.validate import validate
from hstar.planning.task import ground


def write(folder: Path, domain: str, problem: str) -> Path:
    (folder / "domain.pddl").write_text(domain)
    (folder / "p.pddl").write_text(problem)
    return folder / "p.pddl"


def blocks_problem(names: str, goal: list[str]) -> str:
    init = [f"({word} {name})" for name in names.split() for word in ("ontable", "clear")]
    return problem_text("blocks", names, [*init, "(handempty)"], goal)


@pytest.fixture
def tower(tmp_path: Path) -> Path:
    goal = ["(on a b)", "(on b c)", "(on c d)"]
    return write(tmp_path, BLOCKS, blocks_problem("a b c d e", goal))


@pytest.mark.parametrize("name", ALL)
def test_problems_from_walks_keep_all_but_the_initial_state(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, *ALL[name](random.Random(2)))
    original = parse(tmp_path / "domain.pddl", path)
    task = ground(original, keep_irrelevant=True, keep_constant=True)
    texts = list(walk_problems(original, path, 3, 10, 5))
    assert texts == list(walk_problems(original, path, 3, 10, 5))
    for text in texts:
        other = tmp_path / "other.pddl"
        other.write_text(text)
        problem = parse(tmp_path / "domain.pddl", other)
        assert (problem.objects, problem.goal) == (original.objects, original.goal)
        assert problem.function_values == original.function_values
        assert set(problem.init) != set(original.init)
        assert ground(problem, keep_irrelevant=True).num_operators <= task.num_operators


def test_generate_writes_problems_of_walks_once(tower: Path) -> None:
    folder = tower.parent / "walks"
    command = ("generate", "--walks", "5", "--steps", "40", tower, "-o", folder)
    run = hstar(*command)
    assert run.code == 0 and "problems in" in run.out
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert len(written) == 6 and "p01.pddl" in written
    assert len(set(written.values())) == 6
    assert hstar(*command).code == 0
    assert {path.name: path.read_text() for path in folder.iterdir()} == written
    run = hstar(*command, "--seed", "9")
    assert run.code == 36 and "something else" in run.err
    assert {path.name: path.read_text() for path in folder.iterdir()} == written


EITHER = """\
(define (domain rooms) (:requirements :adl)
  (:predicates (at ?x) (lit ?x))
  (:action move :parameters (?x ?y) :precondition (at ?x) :effect (and (at ?y) (not (at ?x))))
  (:action press :parameters (?x) :precondition (at ?x)
    :effect (and (when (lit ?x) (not (lit ?x))) (when (not (lit ?x)) (lit ?x)))))
"""


def test_problems_from_walks_satisfy_no_goal_of_several(tmp_path: Path) -> None:
    goal = "(or (and (lit a) (lit b)) (and (lit c) (lit d)))"
    text = f"(define (problem p) (:domain rooms) (:objects a b c d) (:init (at a)) (:goal {goal}))"
    path = write(tmp_path, EITHER, text)
    texts = list(walk_problems(parse(tmp_path / "domain.pddl", path), path, 20, 10, 1))
    assert len(texts) >= 15  # a walk goes on where it meets the goal
    for other in texts:
        path.write_text(other)
        assert not validate(parse(tmp_path / "domain.pddl", path), []).valid


def test_walks_take_the_texts_that_the_parser_takes(tower: Path) -> None:
    domain = tower.parent / "domain.pddl"
    domain.write_bytes(b"; caf\xe9\n" + domain.read_bytes())
    tower.write_bytes(b"; caf\xe9 (:init\n" + tower.read_bytes().replace(b"(:init", b"( :INIT"))
    folder = tower.parent / "walks"
    run = hstar("generate", "--walks", "2", "--seed", "-1", tower, "-o", folder)
    assert run.code == 0, run.err
    assert (folder / "domain.pddl").read_bytes() == domain.read_bytes()
    assert parse(folder / "domain.pddl", folder / "p01.pddl").init


def test_walks_refuse_what_does_not_fit(tower: Path) -> None:
    command = ("generate", tower, "-o", tower.parent / "walks", "--walks")
    for options in (("9999999999",), ("2", "--steps", "9999999999")):
        check_one_line(hstar(*command, *options), 36, "at most")
    for options in (("2", "--count", "5"), ("2", "--blocks", "3")):
        check_one_line(hstar(*command, *options), 36, "leave out")
