"""Tasks that no computer finishes, each one too large in a different stage of planning."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from small_domains import BLOCKS, problem_text

WIDE = """(define (domain wide) (:predicates (thing ?x) (met ?a ?b ?c ?d ?e ?f ?g ?h))
(:action meet :parameters (?a ?b ?c ?d ?e ?f ?g ?h)
  :precondition (and (thing ?a) (thing ?b) (thing ?c) (thing ?d)
    (thing ?e) (thing ?f) (thing ?g) (thing ?h))
  :effect (met ?a ?b ?c ?d ?e ?f ?g ?h)))
"""


def write_task(folder: Path, domain: str, problem: str) -> tuple[Path, Path]:
    paths = folder / "domain.pddl", folder / "problem.pddl"
    for path, text in zip(paths, (domain, problem), strict=True):
        path.write_text(text)
    return paths


def large_search(folder: Path, blocks: int = 40) -> tuple[Path, Path]:
    """Blocks on the table to be stacked into one tower: blind search never gets there."""
    names = [f"b{i}" for i in range(blocks)]
    init = [f"({word} {name})" for name in names for word in ("ontable", "clear")]
    goal = [f"(on {below} {above})" for above, below in pairwise(names)]
    problem = problem_text("blocks", " ".join(names), [*init, "(handempty)"], goal)
    return write_task(folder, BLOCKS, problem)


def never_ending(folder: Path, blocks: int = 30) -> tuple[Path, Path]:
    """Three blocks in a circle: no search ends, and no heuristic of the core sees why."""
    names = [f"b{i}" for i in range(blocks)]
    init = [f"({word} {name})" for name in names for word in ("ontable", "clear")]
    goal = ["(on b0 b1)", "(on b1 b2)", "(on b2 b0)"]
    problem = problem_text("blocks", " ".join(names), [*init, "(handempty)"], goal)
    return write_task(folder, BLOCKS, problem)


def large_grounding(folder: Path) -> tuple[Path, Path]:
    """50^8 operators."""
    names = [f"o{i}" for i in range(50)]
    init = [f"(thing {name})" for name in names]
    goal = [f"(met {name} {' '.join(names[:7])})" for name in names]
    return write_task(folder, WIDE, problem_text("wide", " ".join(names), init, goal))


def slow_grounding(folder: Path) -> tuple[Path, Path]:
    """A goal of 2^40 cases, looked at one by one: takes forever but next to no memory."""
    domain = """(define (domain lamp) (:predicates (lit ?x) (on))
(:action press :parameters () :effect (on)))
"""
    goal = "(forall (?x) (or (lit ?x) " * 40 + "(on)" + "))" * 40
    return write_task(folder, domain, problem_text("lamp", "a b", [], [goal]))


def large_file(folder: Path, atoms: int = 1_000_000) -> tuple[Path, Path]:
    """An initial state that takes seconds and hundreds of megabytes to read."""
    names = [f"object{i}" for i in range(1000)]
    init = [f"(ontable {name})" for name in names]
    pairs = (f"(on {names[i % 1000]} {names[i // 1000]})" for i in range(atoms))
    problem = problem_text("blocks", " ".join(names), [*init, *pairs], ["(handempty)"])
    return write_task(folder, BLOCKS, problem)


def slow_validation(folder: Path, bits: int = 10, objects: int = 300) -> tuple[Path, Path]:
    """A binary counter with few operators and a long plan. Every step has an effect for each pair
    of objects, none of which ever changes anything."""
    actions = [
        f"""(:action set{bit} :parameters () :precondition (and (not (bit{bit}))
  {" ".join(f"(bit{lower})" for lower in range(bit))})
  :effect (and (bit{bit}) {" ".join(f"(not (bit{lower}))" for lower in range(bit))}
  (forall (?x ?y) (when (not (busy)) (not (marked ?x ?y))))))"""
        for bit in range(bits)
    ]
    predicates = " ".join(f"(bit{bit})" for bit in range(bits))
    domain = f"""(define (domain counter) (:predicates (busy) (marked ?x ?y) {predicates})
{chr(10).join(actions)})
"""
    names = " ".join(f"o{i}" for i in range(objects))
    goal = [f"(bit{bit})" for bit in range(bits)]
    return write_task(folder, domain, problem_text("counter", names, [], goal))


def large_universal_effects(folder: Path) -> tuple[Path, Path]:
    """Few operators, each with 10^7 conditional effects."""
    domain = """(define (domain flood) (:predicates (wet ?x ?y ?z) (on ?x))
(:action pour :parameters (?a)
  :effect (and (on ?a) (forall (?x ?y ?z) (when (not (wet ?x ?y ?z)) (wet ?x ?y ?z))))))
"""
    names = [f"o{i}" for i in range(215)]
    goal = [f"(wet {name} {name} {name})" for name in names]
    return write_task(folder, domain, problem_text("flood", " ".join(names), [], goal))
