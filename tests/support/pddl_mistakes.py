"""Mistakes in PDDL files, and what the program says about each."""

from __future__ import annotations

from dataclasses import dataclass

from case_tables import table
from program import DATA

DOMAIN = (DATA / "costs" / "domain.pddl").read_text()
PROBLEM = (DATA / "costs" / "problem.pddl").read_text()
STEPS = [
    "(drive van north south)\n",
    "(load box van south)\n",
    "(drive van south north)\n",
    "(unload box van north)\n",
]
PLAN = "".join(STEPS)


@dataclass(frozen=True)
class Mistake:
    """A text put in the place of another, and what the program says about it.

    `old` stands in exactly one of DOMAIN and PROBLEM. `needs_grounding`: the mistake shows only
    when the problem is grounded, so the validator, which does not ground, need not see it.
    """

    name: str
    old: str
    new: str
    code: int
    says: tuple[str, ...]
    needs_grounding: bool = False

    def apply(self) -> tuple[str, str]:
        assert DOMAIN.count(self.old) + PROBLEM.count(self.old) == 1, self.name
        return DOMAIN.replace(self.old, self.new), PROBLEM.replace(self.old, self.new)


def mistakes(code: int, text: str, needs_grounding: bool = False) -> list[Mistake]:
    """Rows of: name, old, new, the file and place, further parts of the message.

    A place that ends with a colon is the beginning of one.
    """
    found = []
    for name, old, new, place, *parts in table(text):
        says = (place if place.endswith(":") else f"{place}: ", *parts)
        found.append(Mistake(name, old, new, code, says, needs_grounding))
    return found


WRITTEN_OUT = [
    *mistakes(
        31,
        """
# Parentheses.
missing ) | (increase (total-cost) 2))) | (increase (total-cost) 2))
    | domain.pddl:16:3 | '(:action' begins inside the section of 12:3
missing last ) | (total-cost))) | (total-cost))
    | problem.pddl:1:1 | this '(' is never closed
extra ) | (total-cost))) | (total-cost))))
    | problem.pddl:8:35 | after the ')' that closes '(define'
# Names that are not declared, or declared twice.
unknown type | box - parcel | box - parcell
    | problem.pddl:3: | unknown type 'parcell'
unknown object in goal | (at box north)) | (at bax north))
    | problem.pddl:7:14 | unknown object 'bax'
unknown object in init | (at van north) | (at car north)
    | problem.pddl:4:14 | unknown object 'car'
unknown predicate in goal | (at box north)) | (ta box north))
    | problem.pddl:7:11 | unknown predicate 'ta'
unknown predicate in effect | (in ?p ?v) (not (at ?p ?t)) (increase | (inn ?p ?v) (increase
    | domain.pddl:15:19 | unknown predicate 'inn'
unknown variable | (and (at ?p ?t) (at ?v ?t)) | (at ?p ?where)
    | domain.pddl:14:26 | unknown variable '?where'
unknown function in cost | (increase (total-cost) 2) | (increase (total-cost) (fee))
    | domain.pddl:15: | unknown function 'fee'
unknown function in init | (= (toll) 0.25) | (= (tol) 0.25)
    | problem.pddl:5: | unknown function 'tol'
unknown section | (:objects | (:object
    | problem.pddl:3: | unknown section ':object'
duplicate object | van - truck | van van - truck
    | problem.pddl:3:17 | object 'van' is declared twice
duplicate action | (:action load | (:action drive
    | domain.pddl:12:12 | action 'drive' is declared twice
duplicate predicate | (road ?from ?to - town) | (at ?x) (road ?x ?y)
    | domain.pddl:5: | predicate 'at' is declared twice
two values for one cost | (= (toll) 0.25) | (= (toll) 0.25) (= (toll) 1)
    | problem.pddl:5: | two values
# Types and arities.
cyclic types | town thing - object | town - object thing - parcel
    | domain.pddl:4: | types form a cycle
too few arguments | (at box north)) | (at box))
    | problem.pddl:7: | 'at' takes 2 arguments, not 1
# Costs.
negative cost | (increase (total-cost) 2) | (increase (total-cost) -2)
    | domain.pddl:15: | negative cost -2
negative cost in init | (= (toll) 0.25) | (= (toll) -0.25)
    | problem.pddl:5: | negative cost -0.25
cost is no number | (= (toll) 0.25) | (= (toll) 1e12)
    | problem.pddl:5: | expected a number, found '1e12'
cost of twenty digits | (= (toll) 0.25) | (= (toll) 99999999999999999999)
    | problem.pddl:5: | too large
# Things in the wrong place.
problem instead of domain | (define (domain parcels) | (define (problem p)
    | domain.pddl:2:9 | this is a problem file where a domain file is expected
not PDDL | (define (domain parcels) | Dear all,
    | domain.pddl:2:1 | 'dear'
""",
    ),
    *mistakes(
        31,
        """
cost of 10^12 | (= (toll) 0.25) | (= (toll) 1000000000000)
    | problem.pddl | times the smallest unit of all costs
seven decimals | (= (toll) 0.25) | (= (toll) 0.1234567)
    | problem.pddl | 0.1234567 | too many decimals
cost without a value | (= (length south north) 12.0) |
    | problem.pddl | the cost (length south north) has no value
""",
        needs_grounding=True,
    ),
    # What hstar does not plan with.
    *mistakes(
        34,
        """
axiom | (:action load | (:derived (road ?x ?y - town) (and)) (:action load
    | domain.pddl:12:3 | axioms
durative action | (:action load | (:durative-action wait) (:action load
    | domain.pddl:12:3 | durative actions
numeric condition | (and (at ?p ?t) (at ?v ?t)) | (> (toll) 3)
    | domain.pddl:14:20 | numeric condition '>'
numeric effect | (in ?p ?v) (not (at ?p ?t)) (increase | (increase (toll) 1) (increase
    | domain.pddl:15:19 | numeric effect 'increase'
other metric | (:metric minimize | (:metric maximize
    | problem.pddl:8: | metric other than
""",
    ),
]

GOAL = "(at box north))\n"
LOAD_PARAMETERS = "(?p - parcel ?v - truck ?t - town)\n    :precondition (and (at"
LOAD_PRECONDITION = "(and (at ?p ?t) (at ?v ?t))"
LOAD_COST = "(increase (total-cost) 2)"
NESTED = "(not " * 5000 + "(at box north)" + ")" * 5000 + ")\n"
SUM = f"(increase (total-cost) (+{' 9007199254740992' * 2000}))"
EITHER_TOWN = f"(and {'(or (at box north) (at box south))' * 12}))\n"
EITHER_THING = f"(and {'(or (at ?p ?t) (at ?v ?t))' * 12})"

MISTAKES = [
    *WRITTEN_OUT,
    Mistake("deeply nested", GOAL, NESTED, 31, ("problem.pddl:7:", "nested more than 100 deep")),
    Mistake("duplicate parameter", LOAD_PARAMETERS, LOAD_PARAMETERS.replace("?v", "?p"), 31,
            ("domain.pddl:13:", "variable '?p' is declared twice")),
    Mistake("300 arguments", GOAL, f"(at {'box ' * 300}))\n", 31,
            ("problem.pddl:7:", "'at' takes 2 arguments, not 300")),
    Mistake("no goal", f"(:goal {GOAL}", "", 31, ("problem.pddl:7:", "no '(:goal ...)' section")),
    Mistake("sum of costs too large", LOAD_COST, SUM, 31,
            ("problem.pddl: ", "times the smallest unit of all costs"), needs_grounding=True),
    Mistake("exploding disjunction in the goal", GOAL, EITHER_TOWN, 34,
            ("problem.pddl: ", "a condition of the goal", "disjuncts"), needs_grounding=True),
    Mistake("exploding disjunction in an action", LOAD_PRECONDITION, EITHER_THING, 34,
            ("problem.pddl: ", "a condition of action 'load'", "disjuncts"), needs_grounding=True),
]  # fmt: skip
