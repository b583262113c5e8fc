"""Every kind of mistake gives one line with the place, the mistake and the way out."""

from __future__ import annotations

import re

import pytest
from case_tables import table

from hstar.pddl import PddlError, UnsupportedPddlError
from hstar.pddl.domain import read_domain
from hstar.pddl.errors import PddlWarning
from hstar.pddl.model import Problem
from hstar.pddl.problem import read_problem
from hstar.pddl.reader import MAX_DEPTH
from hstar.pddl.source import source_from_bytes

DOMAIN = """(define (domain d)
(:types block place - object cube - block)
(:constants k - place)
(:predicates (on ?x ?y - block) (at ?x - block ?p - place) (free))
(:functions (total-cost) - number (dist ?a ?b - place) - number)
(:action a :parameters (?x - block ?p - place)
 :precondition (at ?x ?p)
 :effect (and (not (at ?x ?p)) (increase (total-cost) (dist ?p k)))))
"""
PROBLEM = """(define (problem p) (:domain d)
(:objects b1 b2 - block c1 - cube here - place)
(:init (on b1 b2) (at c1 here) (= (dist here k) 3))
(:goal (and (free)))
(:metric minimize (total-cost)))
"""


def parse_texts(domain: str | bytes, problem: str | bytes = PROBLEM) -> Problem:
    texts = [text.encode() if isinstance(text, str) else text for text in (domain, problem)]
    lifted = read_domain(source_from_bytes("domain.pddl", texts[0]))
    return read_problem(source_from_bytes("problem.pddl", texts[1]), lifted)


def test_the_texts_that_the_mistakes_are_put_into_are_fine() -> None:
    assert parse_texts(DOMAIN, PROBLEM).name == "p"


# Each row puts a mistake into DOMAIN: what to replace, by what, where, part of the message.
BAD_DOMAINS = table("""
# The frame of the file.
(define (domain d) | define (domain d) | 1:1 | found 'define'; a domain file starts with
(define (domain d) | (defin (domain d) | 1:2 | expected 'define', found 'defin'
(define (domain d) | (define (problem d) | 1:9 | this is a problem file where a domain
(define (domain d) | (define (domain) | 1:9 | expected '(domain NAME)', found '(domain)'
(define (domain d) | (define (domain d e) | 1:9 | expected '(domain NAME)'
(define (domain d) | (define domain | 1:9 | expected '(domain NAME)', found 'domain'
(define (domain d) | (define (domain d) x | 1:20 | found 'x' between sections
(define (domain d) | (define (domain d) () | 1:20 | found the empty list '()'
(define (domain d) | (define (domain d) (a b) | 1:20 | found the list '(a ...)'
(define (domain d) | (define (domain d) (:foo b) | 1:21 | unknown section ':foo'
k))))) | k))))) (x) | 8:71 | found '(x)' after the ')' that closes '(define'
k))))) | k)))))) | 8:70 | found ')' after the ')' that closes '(define'
k))))) | k)))) | 1:1 | this '(' is never closed (1 open at the end of the file)
k))))) | k) | 8:32 | this '(' is never closed (4 open at the end of the file)
(free)) | (free) | 5:1 | '(:functions' begins inside the section of 4:1; a ')' is missing
(:constants k - place) | (:types) | 3:1 | a second ':types' section (the first is at 2:1)
# Types, constants, predicates, functions.
cube - block | cube - cube | 2:30 | types form a cycle: cube - cube
block place - object | block - cube place | 2:9 | types form a cycle: block - cube - block
cube - block | cube - | 2:35 | no type follows '-'
block place - object | - object | 2:9 | '-' without a type before it
cube - block | cube - (or block place) | 2:37 | expected a type after '-', found the list
cube - block | (cube) | 2:30 | expected a name (type), found the list '(cube)'
cube - block | ?c - block | 2:30 | '?c' cannot be a name (type)
cube - block | object - block | 2:30 | type 'object' is above all types
k - place | k - plaec | 3:17 | unknown type 'plaec'; declare it in (:types ...) (did you
k - place | k k - place | 3:15 | constant 'k' is declared twice
(free) | free | 4:60 | expected a predicate, found 'free'; write for example
(free) | (not ?x) | 4:61 | 'not' cannot be the name of a predicate
(free) | (free x) | 4:66 | expected a variable, found 'x'; variables are written '?name'
(free) | (free ?x - blok) | 4:71 | unknown type 'blok'
(free) | (free ? - block) | 4:66 | expected a variable, found '?'
(total-cost) - number | (total-cost ?x) - number | 5:13 | 'total-cost' has no parameters
(total-cost) - number | (dist) | 5:20 | function 'dist' is declared twice
(total-cost) - number | - number | 5:13 | '-' must stand between functions
# Actions.
(:action a : | (:action : | 6:10 | expected the name of the action
:precondition | :condition | 7:2 | found ':condition'; check the parentheses
:precondition (at ?x ?p) | :precondition | 7:2 | nothing follows ':precondition'
:precondition (at ?x ?p) | :effect () | 8:2 | a second ':effect' in action 'a'
(?x - block ?p - place) | (?x - block ?x - place) | 6:36 | variable '?x' is declared twice
(?x - block ?p - place) | ?x | 6:24 | expected a list of variables
:precondition (at ?x ?p) | :precondition (at ?x ?q) | 7:23 | unknown variable '?q'
:precondition (at ?x ?p) | :precondition (at ?x q) | 7:23 | unknown object 'q'; declare it
:precondition (at ?x ?p) | :precondition (att ?x ?p) | 7:17 | unknown predicate 'att'
:precondition (at ?x ?p) | :precondition (at ?x) | 7:20 | 'at' takes 2 arguments, not 1
:precondition (at ?x ?p) | :precondition (at ?x ?p ?p) | 7:26 | takes 2 arguments, not 3
:precondition (at ?x ?p) | :precondition (at (k) ?p) | 7:20 | found the list '(k)'
:precondition (at ?x ?p) | :precondition (not) | 7:20 | 'not' takes 1 argument, not 0
:precondition (at ?x ?p) | :precondition (imply (free)) | 7:29 | 'imply' takes 2 arguments
:precondition (at ?x ?p) | :precondition (and free) | 7:21 | found 'free'; write '(free)'
:precondition (at ?x ?p) | :precondition (exists ?z (free)) | 7:24 | a list of variables
:precondition (at ?x ?p) | :precondition (= ?x) | 7:21 | '=' takes 2 arguments, not 1
:precondition (at ?x ?p) | :precondition ((free)) | 7:16 | expected a condition, found
:precondition (at ?x ?p) | :precondition (when (free) (free)) | 7:17 | 'when' cannot stand
:precondition (at ?x ?p) | :precondition (and () ()) | 7:24 | a second empty list
(not (at ?x ?p)) | (not (not (free))) | 8:21 | 'not' cannot stand here
(not (at ?x ?p)) | (or (free) (free)) | 8:16 | 'or' cannot stand here
(not (at ?x ?p)) | (when (free)) | 8:27 | 'when' takes 2 arguments, not 1
(not (at ?x ?p)) | free | 8:15 | expected an effect, found 'free'; write '(free)'
(dist ?p k) | -3 | 8:55 | negative cost -3; costs must be 0 or more
(dist ?p k) | (dits ?p k) | 8:55 | unknown function 'dits'; declare it in (:functions
(dist ?p k) | (dist ?p) | 8:61 | 'dist' takes 2 arguments, not 1
(dist ?p k) | dist | 8:55 | function 'dist' needs arguments
(dist ?p k) | () | 8:55 | expected a cost, found the empty list
(dist ?p k) | 99999999999999999999 | 8:55 | is too large
(:action a | (:action a) (:action a | 6:22 | action 'a' is declared twice
(:types | (:requirements strips) (:types | 2:16 | requirements start with ':'
""")

BAD_PROBLEMS = table("""
(problem p) | (domain p) | 1:9 | this is a domain file where a problem file is expected
(:domain d) |  | 5:32 | the problem has no '(:domain ...)' section
(:domain d) | (:domain) | 1:21 | expected one domain name
(:goal (and (free))) |  | 5:32 | the problem has no '(:goal ...)' section
(:init (on b1 b2) (at c1 here) (= (dist here k) 3)) |  | 5:32 | no '(:init ...)' section
(:goal (and (free))) | (:goal) | 4:7 | ':goal' takes one condition, not 0
(:goal (and (free))) | (:goal (free) (free)) | 4:15 | takes one condition, not 2
(:goal (and (free))) | (:goal (at ?x here)) | 4:12 | unknown variable '?x'
(:goal (and (free))) | (:goal (on b1 b3)) | 4:15 | unknown object 'b3'; declare it in (:ob
(:goal (and (free))) | (:goal (free)) (:goal (free)) | 4:16 | a second ':goal' section
b1 b2 - block | b1 b1 - block | 2:14 | object 'b1' is declared twice
b1 b2 - block | b1 k b2 - block | 2:14 | object 'k' has type block here, but it is a constant
b1 b2 - block | b1 b2 - blocks | 2:19 | unknown type 'blocks'
b1 b2 - block | b1 ?b2 - block | 2:14 | '?b2' cannot be a name (object)
(on b1 b2) | (on b1 b9) | 3:15 | unknown object 'b9'
(on b1 b2) | (on b1) | 3:12 | 'on' takes 2 arguments, not 1
(on b1 b2) | (onn b1 b2) | 3:9 | unknown predicate 'onn'
(on b1 b2) | on | 3:8 | expected an atom, found 'on'
(on b1 b2) | () | 3:8 | expected an atom, found the empty list
(on b1 b2) | (on (b1) b2) | 3:12 | expected a variable or an object, found the list
(on b1 b2) | ((on b1 b2)) | 3:8 | expected an atom, found the list
(on b1 b2) | (and (on b1 b2)) | 3:8 | 'and' in :init; list its atoms directly
(on b1 b2) | (on b1 b2) (not (on b1 b2)) | 3:19 | is both true and false in :init
(on b1 b2) | (not on) | 3:8 | expected '(not (ATOM))'
(on b1 b2) | (= b1 b2) | 3:8 | does not assign a number to a function
(on b1 b2) | (= (total-cost)) | 3:8 | expected '(= (FUNCTION ...) NUMBER)'
(on b1 b2) | (= (dits here k) 1) | 3:11 | unknown function 'dits'; declare it
(on b1 b2) | (= (dist here k) 4) | 3:41 | (dist here k) has two values, 4 and 3
k) 3) | k) x3) | 3:49 | expected a number, found 'x3'
k) 3) | k) 1e999) | 3:49 | expected a number, found '1e999'
k) 3) | k) -3) | 3:49 | negative cost -3
minimize (total-cost) | (total-cost) | 5:10 | malformed metric; write '(:metric minimize
(:objects | (:objcts | 2:2 | unknown section ':objcts'; the sections here are :domain,
(free))) | (free)) | 5:1 | '(:metric' begins inside the section of 4:1
""")

# What breaks a rule but has a clear meaning: read all the same, with a warning.
DUBIOUS_DOMAINS = table("""
cube - block | cube - block cube - block | 2:43 | type 'cube' is declared twice
(free) | (free) (free) | 4:67 | predicate 'free' is declared twice
:precondition (at ?x ?p) | :precondition (at k ?p) | 7:20 | 'k' has type place, but argument 1
""")

DUBIOUS_PROBLEMS = table("""
(:goal (and (free))) | (:goal (on b1 here)) | 4:15 | 'here' has type place, but argument 2
(on b1 b2) | (on b1 here) | 3:15 | 'here' has type place, but argument 2 of 'on' needs type block
(on b1 b2) | (= (dist here b1) 1) | 3:22 | 'b1' has type block, but argument 2 of 'dist'
""")

UNSUPPORTED_DOMAINS = table("""
(:action a | (:derived (free) (and)) (:action a | 6:1 | axioms (derived predicates
(:action a | (:durative-action z) (:action a | 6:1 | durative actions
(:action a | (:constraints (and)) (:action a | 6:1 | trajectory constraints
(total-cost) - number | (boss) - block | 5:22 | (object fluents) are not supported
:precondition (at ?x ?p) | :precondition (> (dist k k) 3) | 7:17 | numeric condition '>'
:precondition (at ?x ?p) | :precondition (= (dist k k) 3) | 7:19 | numeric condition '='
:precondition (at ?x ?p) | :precondition (= ?x 3) | 7:22 | numeric condition '='
:precondition (at ?x ?p) | :precondition (at ?x (dist k k)) | 7:23 | object fluent
:precondition (at ?x ?p) | :precondition (preference z (free)) | 7:17 | preference: not
(not (at ?x ?p)) | (increase (dist k k) 1) | 8:16 | numeric effect 'increase'
(not (at ?x ?p)) | (assign (total-cost) 1) | 8:16 | numeric effect 'assign'
(not (at ?x ?p)) | (decrease (total-cost) 1) | 8:16 | numeric effect 'decrease'
(not (at ?x ?p)) | (oneof (free) (and)) | 8:16 | non-deterministic effect 'oneof'
(not (at ?x ?p)) | (when (free) (increase (total-cost) 1)) | 8:29 | state-dependent cost
(dist ?p k) | (* 2 (dist ?p k)) | 8:55 | arithmetic '*' in an action cost
(dist ?p k) | (total-cost) | 8:55 | depends on 'total-cost'
""")

UNSUPPORTED_PROBLEMS = table("""
(on b1 b2) | (at 5 (on b1 b2)) | 3:8 | timed initial literals
(on b1 b2) | (= (total-cost) b1) | 3:24 | object fluent
(on b1 b2) | (oneof (on b1 b2) (free)) | 3:8 | uncertain initial state
(:metric minimize | (:metric maximize | 5:10 | metric other than 'minimize (total-cost)'
(:metric minimize (total-cost) | (:metric minimize (dist here k) | 5:19 | metric other
(:goal (and (free))) | (:goal (sometime (free))) | 4:9 | trajectory constraint 'sometime'
(:goal (and (free))) | (:goal (free)) (:constraints (and)) | 4:16 | trajectory constraints
""")


def parse_changed(file: str, old: str, new: str) -> Problem:
    """Parse the two texts with a part of one of them replaced."""
    texts = {"domain.pddl": DOMAIN, "problem.pddl": PROBLEM}
    assert texts[file].count(old) == 1
    texts[file] = texts[file].replace(old, new)
    return parse_texts(*texts.values())


def check_refused(
    kind: type[PddlError], file: str, old: str, new: str, place: str, message: str
) -> None:
    with pytest.raises(kind) as caught:
        parse_changed(file, old, new)
    assert type(caught.value) is kind
    assert caught.value.exit_code == {PddlError: 31, UnsupportedPddlError: 34}[kind]
    text = str(caught.value)
    assert text.startswith(f"{file}:{place}: "), text
    assert message in text
    assert "\n" not in text
    assert re.search(r"; \S", text), f"no advice in {text!r}"


Rows = list[tuple[str, ...]]


def each_row(domains: Rows, problems: Rows) -> pytest.MarkDecorator:
    """Runs a test with every row of the two tables and the file that the row is about."""
    rows = [("domain.pddl", *row) for row in domains]
    rows += [("problem.pddl", *row) for row in problems]
    return pytest.mark.parametrize(("file", "old", "new", "place", "message"), rows)


@each_row(BAD_DOMAINS, BAD_PROBLEMS)
def test_bad_files(file: str, old: str, new: str, place: str, message: str) -> None:
    check_refused(PddlError, file, old, new, place, message)


@each_row(UNSUPPORTED_DOMAINS, UNSUPPORTED_PROBLEMS)
def test_unsupported_files(file: str, old: str, new: str, place: str, message: str) -> None:
    check_refused(UnsupportedPddlError, file, old, new, place, message)


@each_row(DUBIOUS_DOMAINS, DUBIOUS_PROBLEMS)
def test_dubious_files(file: str, old: str, new: str, place: str, message: str) -> None:
    with pytest.warns(PddlWarning, match=re.escape(f"{file}:{place}: ")) as caught:
        parse_changed(file, old, new)
    assert message in str(caught[0].message)


def test_place_is_right_with_crlf_tabs_comments_and_non_ascii_text() -> None:
    text = PROBLEM.replace("(:goal", "; déjà ( vu\n\t(:goal").replace("(free)", "(fre)")
    with pytest.raises(PddlError, match=r"problem\.pddl:5:15: unknown predicate 'fre'"):
        parse_texts(DOMAIN, text.replace("\n", "\r\n"))
    with pytest.raises(PddlError, match=r"problem\.pddl:5:15: unknown predicate 'fre'"):
        parse_texts(DOMAIN, text.replace("\n", "\r"))


def test_names_in_messages_are_made_printable_and_short() -> None:
    with pytest.raises(PddlError) as caught:
        parse_texts(DOMAIN, PROBLEM.replace("(free)", f"(\x1b[31m{'x' * 1000})"))
    assert "\\x1b[31mxxx" in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("junk", ["(", "()", ")", "(a)", "a ", "(define ", "(:init", "((()"])
@pytest.mark.parametrize(
    "frame", ["", "(define ", "(define (domain d) ", "(define (domain d) (:types "]
)
def test_masses_of_junk_fail_at_their_start(junk: str, frame: str) -> None:
    """Found before any of it is stored; a hundred times more would not take longer to refuse."""
    with pytest.raises(PddlError) as caught:
        parse_texts(frame + junk * 200_000)
    assert caught.value.line == 1
    if (junk, frame[-7:]) not in (("(a)", "(:types "), ("a ", "(:types ")):
        assert caught.value.column is not None
        assert caught.value.column < 5000


def nested(depth: int) -> str:
    return "(not " * depth + "(free)" + ")" * depth


def test_nesting_is_limited() -> None:
    deepest = MAX_DEPTH - 4  # define, :goal, and, (free)
    parse_texts(DOMAIN, PROBLEM.replace("(free)", nested(deepest)))
    with pytest.raises(PddlError, match=f"lists nested more than {MAX_DEPTH} deep"):
        parse_texts(DOMAIN, PROBLEM.replace("(free)", nested(deepest + 10)))


def test_left_nested_implications_do_not_exhaust_the_stack() -> None:
    depth = MAX_DEPTH - 5
    text = "(imply " * depth + "(free)" + " (free))" * depth
    goal = parse_texts(DOMAIN, PROBLEM.replace("(free)", text)).goal
    assert str(goal).count("(free)") == depth + 1
