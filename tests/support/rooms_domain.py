"""A small domain with all that networks see of a task, and tasks of it."""

from __future__ import annotations

from pathlib import Path

import small_domains
from hard_tasks import write_task

from hstar.pddl import Domain, parse
from hstar.planning.task import Task, load_task

# Types with a hierarchy, a constant, a static relation (door), facts that no goal needs (seen), and
# a predicate that is wider than networks are.
ROOMS = """(define (domain rooms) (:requirements :adl)
(:types thing room - object tool - thing)
(:constants hall - room)
(:predicates (at ?t - thing ?r - room) (door ?a ?b - room) (dark) (locked ?r - room)
  (seen ?r - room) (square ?a ?b ?c ?d - room))
(:action carry :parameters (?t - thing ?a ?b - room)
  :precondition (and (at ?t ?a) (door ?a ?b) (not (locked ?b)) (not (dark)))
  :effect (and (at ?t ?b) (not (at ?t ?a)) (square ?a ?b ?a ?b)))
(:action unlock :parameters (?t - tool ?r - room) :precondition (and (at ?t hall) (locked ?r))
  :effect (not (locked ?r)))
(:action lock :parameters (?t - tool ?r - room) :precondition (at ?t hall) :effect (locked ?r))
(:action look :parameters (?t - thing ?r - room) :precondition (at ?t ?r) :effect (seen ?r))
(:action switch :parameters () :effect (and (when (dark) (not (dark))) (when (not (dark)) (dark)))))
"""
OBJECTS = "cup - thing cellar - room key - tool"
INIT = [
    "(at cup cellar)",
    "(at key hall)",
    "(door cellar hall)",
    "(door hall cellar)",
    "(locked hall)",
    "(seen cellar)",
]


def rooms_task(
    folder: Path, goal: str, objects: str = OBJECTS, init: list[str] | None = None
) -> Task:
    problem = small_domains.problem_text("rooms", objects, INIT if init is None else init, [goal])
    return load_task(*write_task(folder, ROOMS, problem))


def read_domain(folder: Path, text: str) -> Domain:
    problem = small_domains.problem_text("any", "", [], [])
    return parse(*write_task(folder, text, problem)).domain
