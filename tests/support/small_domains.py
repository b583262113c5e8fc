"""Classic domains and seeded small problems for them, as PDDL text.

Random tasks find odd corners; these have the structure real benchmarks have (mutex groups, static
relations, action costs, conditional and quantified effects) at sizes every planner solves at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable

BLOCKS = """(define (domain blocks) (:requirements :strips)
(:predicates (on ?x ?y) (ontable ?x) (clear ?x) (handempty) (holding ?x))
(:action pick-up :parameters (?x)
  :precondition (and (clear ?x) (ontable ?x) (handempty))
  :effect (and (not (ontable ?x)) (not (clear ?x)) (not (handempty)) (holding ?x)))
(:action put-down :parameters (?x) :precondition (holding ?x)
  :effect (and (not (holding ?x)) (clear ?x) (handempty) (ontable ?x)))
(:action stack :parameters (?x ?y) :precondition (and (holding ?x) (clear ?y))
  :effect (and (not (holding ?x)) (not (clear ?y)) (clear ?x) (handempty) (on ?x ?y)))
(:action unstack :parameters (?x ?y) :precondition (and (on ?x ?y) (clear ?x) (handempty))
  :effect (and (holding ?x) (clear ?y) (not (clear ?x)) (not (handempty)) (not (on ?x ?y)))))
"""

GRIPPER = """(define (domain gripper) (:requirements :strips :typing)
(:types room ball gripper)
(:predicates (at-robby ?r - room) (at ?b - ball ?r - room) (free ?g - gripper)
  (carry ?b - ball ?g - gripper))
(:action move :parameters (?from ?to - room) :precondition (at-robby ?from)
  :effect (and (at-robby ?to) (not (at-robby ?from))))
(:action pick :parameters (?b - ball ?r - room ?g - gripper)
  :precondition (and (at ?b ?r) (at-robby ?r) (free ?g))
  :effect (and (carry ?b ?g) (not (at ?b ?r)) (not (free ?g))))
(:action drop :parameters (?b - ball ?r - room ?g - gripper)
  :precondition (and (carry ?b ?g) (at-robby ?r))
  :effect (and (at ?b ?r) (free ?g) (not (carry ?b ?g)))))
"""

LOGISTICS = """(define (domain logistics) (:requirements :strips :typing)
(:types truck airplane - vehicle package vehicle - thing airport - location location thing city)
(:predicates (in-city ?l - location ?c - city) (at ?t - thing ?l - location)
  (in ?p - package ?v - vehicle))
(:action drive :parameters (?t - truck ?from ?to - location ?c - city)
  :precondition (and (at ?t ?from) (in-city ?from ?c) (in-city ?to ?c))
  :effect (and (not (at ?t ?from)) (at ?t ?to)))
(:action fly :parameters (?a - airplane ?from ?to - airport) :precondition (at ?a ?from)
  :effect (and (not (at ?a ?from)) (at ?a ?to)))
(:action load :parameters (?v - vehicle ?p - package ?l - location)
  :precondition (and (at ?v ?l) (at ?p ?l)) :effect (and (not (at ?p ?l)) (in ?p ?v)))
(:action unload :parameters (?v - vehicle ?p - package ?l - location)
  :precondition (and (at ?v ?l) (in ?p ?v)) :effect (and (not (in ?p ?v)) (at ?p ?l))))
"""

FERRY = """(define (domain ferry) (:requirements :strips :typing :equality)
(:types car place)
(:predicates (at-ferry ?l - place) (at ?c - car ?l - place) (empty) (on ?c - car))
(:action sail :parameters (?from ?to - place)
  :precondition (and (not (= ?from ?to)) (at-ferry ?from))
  :effect (and (at-ferry ?to) (not (at-ferry ?from))))
(:action board :parameters (?c - car ?l - place)
  :precondition (and (at ?c ?l) (at-ferry ?l) (empty))
  :effect (and (on ?c) (not (at ?c ?l)) (not (empty))))
(:action debark :parameters (?c - car ?l - place) :precondition (and (on ?c) (at-ferry ?l))
  :effect (and (at ?c ?l) (empty) (not (on ?c)))))
"""

TRANSPORT = """(define (domain transport) (:requirements :typing :action-costs)
(:types location truck package capacity)
(:predicates (road ?a ?b - location) (at ?t - truck ?l - location) (lies ?p - package ?l - location)
  (in ?p - package ?t - truck) (room ?t - truck ?c - capacity) (less ?a ?b - capacity))
(:functions (distance ?a ?b - location) - number (total-cost) - number)
(:action drive :parameters (?t - truck ?a ?b - location)
  :precondition (and (at ?t ?a) (road ?a ?b))
  :effect (and (not (at ?t ?a)) (at ?t ?b) (increase (total-cost) (distance ?a ?b))))
(:action pick :parameters (?t - truck ?l - location ?p - package ?less ?more - capacity)
  :precondition (and (at ?t ?l) (lies ?p ?l) (less ?less ?more) (room ?t ?more))
  :effect (and (not (lies ?p ?l)) (in ?p ?t) (room ?t ?less) (not (room ?t ?more))
    (increase (total-cost) 1)))
(:action drop :parameters (?t - truck ?l - location ?p - package ?less ?more - capacity)
  :precondition (and (at ?t ?l) (in ?p ?t) (less ?less ?more) (room ?t ?less))
  :effect (and (not (in ?p ?t)) (lies ?p ?l) (room ?t ?more) (not (room ?t ?less)))))
"""

BRIEFCASE = """(define (domain briefcase) (:requirements :adl)
(:types place thing)
(:predicates (at ?t - thing ?l - place) (in ?t - thing) (here ?l - place) (locked))
(:action go :parameters (?a ?b - place)
  :precondition (and (here ?a) (not (= ?a ?b)) (not (locked)))
  :effect (and (here ?b) (not (here ?a))
    (forall (?t - thing) (when (in ?t) (and (at ?t ?b) (not (at ?t ?a)))))))
(:action put-in :parameters (?t - thing ?l - place)
  :precondition (and (at ?t ?l) (here ?l) (not (in ?t))
    (exists (?o - thing) (and (not (in ?o)) (not (= ?o ?t)))))
  :effect (in ?t))
(:action take-out :parameters (?t - thing) :precondition (in ?t) :effect (not (in ?t)))
(:action turn-key :parameters (?l - place)
  :precondition (and (here ?l) (or (locked) (forall (?t - thing) (imply (in ?t) (at ?t ?l)))))
  :effect (and (when (locked) (not (locked))) (when (not (locked)) (locked)))))
"""


def problem_text(domain: str, objects: str, init: list[str], goal: list[str], end: str = "") -> str:
    return (
        f"(define (problem small) (:domain {domain})\n(:objects {objects})\n"
        f"(:init {' '.join(init)})\n(:goal (and {' '.join(goal)}))\n{end})\n"
    )


def towers(rng: random.Random, blocks: list[str]) -> tuple[list[str], list[str]]:
    """A random arrangement: the atoms about what lies on what, and about what is clear."""
    order = rng.sample(blocks, len(blocks))
    lies, clear = [], []
    for i, block in enumerate(order):
        starts = i == 0 or rng.random() < 0.4
        lies.append(f"(ontable {block})" if starts else f"(on {block} {order[i - 1]})")
        if starts and i > 0:
            clear.append(f"(clear {order[i - 1]})")
    return lies, [*clear, f"(clear {order[-1]})"]


def blocks(rng: random.Random) -> tuple[str, str]:
    names = [f"b{i}" for i in range(rng.randint(3, 6))]
    lies, clear = towers(rng, names)
    goal = [atom for atom in towers(rng, names)[0] if atom.startswith("(on ")]
    init = [*lies, *clear, "(handempty)"]
    return BLOCKS, problem_text("blocks", " ".join(names), init, goal or ["(handempty)"])


def gripper(rng: random.Random) -> tuple[str, str]:
    balls = [f"ball{i}" for i in range(rng.randint(2, 4))]
    rooms = ["ra", "rb", "rc"][: rng.randint(2, 3)]
    objects = f"{' '.join(rooms)} - room {' '.join(balls)} - ball left right - gripper"
    init = [f"(at {b} {rng.choice(rooms)})" for b in balls]
    init += ["(at-robby ra)", "(free left)", "(free right)"]
    return GRIPPER, problem_text(
        "gripper", objects, init, [f"(at {b} {rng.choice(rooms)})" for b in balls]
    )


def logistics(rng: random.Random) -> tuple[str, str]:
    places, init = [], ["(at plane air0)"]
    for c in range(2):
        places += [f"air{c}", f"loc{c}"]
        init += [f"(in-city air{c} city{c})", f"(in-city loc{c} city{c})"]
        init.append(f"(at truck{c} {rng.choice(['air', 'loc'])}{c})")
    packages = [f"pack{i}" for i in range(rng.randint(1, 3))]
    init += [f"(at {p} {rng.choice(places)})" for p in packages]
    objects = (
        f"truck0 truck1 - truck plane - airplane {' '.join(packages)} - package "
        "air0 air1 - airport loc0 loc1 - location city0 city1 - city"
    )
    goal = [f"(at {p} {rng.choice(places)})" for p in packages]
    return LOGISTICS, problem_text("logistics", objects, init, goal)


def ferry(rng: random.Random) -> tuple[str, str]:
    cars = [f"c{i}" for i in range(rng.randint(2, 4))]
    places = [f"l{i}" for i in range(rng.randint(2, 4))]
    init = [f"(at {c} {rng.choice(places)})" for c in cars] + ["(at-ferry l0)", "(empty)"]
    objects = f"{' '.join(cars)} - car {' '.join(places)} - place"
    return FERRY, problem_text(
        "ferry", objects, init, [f"(at {c} {rng.choice(places)})" for c in cars]
    )


def transport(rng: random.Random) -> tuple[str, str]:
    places = [f"l{i}" for i in range(rng.randint(3, 5))]
    packages = [f"p{i}" for i in range(rng.randint(1, 3))]
    init = ["(= (total-cost) 0)", "(less c0 c1)", "(less c1 c2)"]
    for i, place in enumerate(places[1:], start=1):
        other, length = rng.choice(places[:i]), rng.randint(0, 9)
        for a, b in ((place, other), (other, place)):
            init += [f"(road {a} {b})", f"(= (distance {a} {b}) {length})"]
    for truck in ("t0", "t1"):
        init += [f"(at {truck} {rng.choice(places)})", f"(room {truck} c{rng.randint(1, 2)})"]
    init += [f"(lies {p} {rng.choice(places)})" for p in packages]
    objects = (
        f"{' '.join(places)} - location t0 t1 - truck {' '.join(packages)} - package "
        "c0 c1 c2 - capacity"
    )
    goal = [f"(lies {p} {rng.choice(places)})" for p in packages]
    metric = "(:metric minimize (total-cost))"
    return TRANSPORT, problem_text("transport", objects, init, goal, metric)


def briefcase(rng: random.Random) -> tuple[str, str]:
    places = ["home", "office", "bank"]
    things = [f"thing{i}" for i in range(rng.randint(2, 3))]
    init = [f"(at {t} {rng.choice(places)})" for t in things] + ["(here home)"]
    goal = [f"(at {t} {rng.choice(places)})" for t in things] + ["(locked)", "(not (here bank))"]
    objects = f"{' '.join(places)} - place {' '.join(things)} - thing"
    return BRIEFCASE, problem_text("briefcase", objects, init, goal)


# Domain -> generator. The first group has no negation, so that hmax and hadd do not depend on how
# a planner encodes false atoms, and their values can be compared between planners.
POSITIVE: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "blocks": blocks,
    "gripper": gripper,
    "logistics": logistics,
    "ferry": ferry,
    "transport": transport,
}
ALL = POSITIVE | {"briefcase": briefcase}
