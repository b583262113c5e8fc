"""What networks see of a state, worked out by hand, and what they must not see."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import oracle
import pytest
import small_domains
from hard_tasks import write_task
from numpy.typing import NDArray
from random_tasks import random_task
from rooms_domain import INIT, OBJECTS, ROOMS, rooms_task

from hstar.pddl import UnsupportedPddlError, parse
from hstar.planning.task import Task, load_task
from hstar.slots.features.atoms import Batch, Encoder, goal_literals
from hstar.slots.features.vocabulary import Vocabulary

Atom = tuple[str, ...]
Entries = dict[Atom, float]


def written_out(encoder: Encoder, batch: Batch, state: int = 0) -> Entries:
    """The entries of a state by name, such as ("goal at", "cup", "hall")."""
    vocabulary = encoder.vocabulary
    names: dict[tuple[int, int], str] = {}
    for predicate, arity in vocabulary.predicates:
        same = [name for name, other in vocabulary.predicates if other == arity]
        names[arity, same.index(predicate)] = predicate
        names[arity, len(same) + same.index(predicate)] = f"goal {predicate}"
    unary = [*vocabulary.types, *(f"constant {name}" for name in vocabulary.constants)]
    first = 2 * sum(arity == 1 for _, arity in vocabulary.predicates)
    names.update({(1, first + i): name for i, name in enumerate(unary)})
    found: Entries = {}
    chosen = slice(batch.starts[state], batch.starts[state + 1])
    for (arity, place), value in zip(batch.entries[chosen], batch.values[chosen], strict=True):
        index, channel = divmod(int(place), vocabulary.channels[arity])
        objects = []
        for _ in range(arity):
            index, last = divmod(index, int(batch.sizes[state]))
            objects.append(encoder.objects[last])
        assert index == 0
        key = (names[int(arity), channel], *reversed(objects))
        assert key not in found, f"{key} stands there twice"
        found[key] = float(value)
    return found


def walk(task: Task, seed: int, length: int = 10) -> tuple[NDArray[np.int32], list[set[Atom]]]:
    """States along random operators, and all that is true in each by the PDDL alone."""
    rng = random.Random(seed)
    lifted = oracle.from_problem(task.problem)
    states, truths = [task.initial_state], [lifted.init]
    for _ in range(length):
        operators, successors = task.successors(states[-1])
        if len(operators) == 0:
            break
        chosen = rng.randrange(len(operators))
        name = task.operator_name(int(operators[chosen]))
        states.append(successors[chosen])
        truths.append(next(s for n, _, s in lifted.successors(truths[-1]) if n == name))
    return np.stack(states), [set(truth) for truth in truths]


STATIC: Entries = {
    ("door", "cellar", "hall"): 1,
    ("door", "hall", "cellar"): 1,
    ("seen", "cellar"): 1,  # looking changes it, but nothing depends on it: initial truth is kept
    ("room", "hall"): 1,
    ("room", "cellar"): 1,
    ("thing", "cup"): 1,
    ("thing", "key"): 1,  # a tool is a thing
    ("tool", "key"): 1,
    ("constant hall", "hall"): 1,
}


def test_a_state_worked_out_by_hand(tmp_path: Path) -> None:
    task = rooms_task(tmp_path, "(and (at cup hall) (not (at key hall)) (locked cellar))")
    encoder = Encoder(task, Vocabulary.of(task.problem.domain))
    assert encoder.objects == ["hall", "cup", "cellar", "key"]
    goal = {
        ("goal at", "cup", "hall"): 1.0,
        ("goal at", "key", "hall"): -1.0,
        ("goal locked", "cellar"): 1.0,
    }
    always = STATIC | goal
    facts = [task.core.atom_name(fact) for fact in range(task.num_facts)]
    assert not any(name.startswith("seen") for name in facts)
    places = {("at", "cup", "cellar"): 1.0, ("at", "key", "hall"): 1.0, ("locked", "hall"): 1.0}
    assert written_out(encoder, encoder.encode(task.initial_state[None])) == always | places

    def after(*names: str) -> Entries:
        state = task.initial_state
        for name in names:
            operators, successors = task.successors(state)
            state = successors[[task.operator_name(int(o)) for o in operators].index(name)]
        return written_out(encoder, encoder.encode(state[None]))

    assert after("(switch)") == always | places | {("dark",): 1}
    assert after("(switch)", "(switch)") == always | places
    del places["locked", "hall"]
    assert after("(unlock key hall)") == always | places
    del places["at", "cup", "cellar"]
    places["at", "cup", "hall"] = 1
    assert after("(unlock key hall)", "(carry cup cellar hall)") == always | places


def test_a_narrow_encoding_leaves_wide_predicates_out(tmp_path: Path) -> None:
    task = rooms_task(tmp_path, "(and (at cup hall) (not (locked hall)))")
    encoder = Encoder(task, Vocabulary.of(task.problem.domain, breadth=1, types=False))
    assert written_out(encoder, encoder.encode(task.initial_state[None])) == {
        ("seen", "cellar"): 1,
        ("constant hall", "hall"): 1,
        ("locked", "hall"): 1,
        ("goal locked", "hall"): -1,
    }


def test_an_atom_that_matters_only_when_false_is_seen(tmp_path: Path) -> None:
    """No condition wants a room locked, so grounding keeps "not locked" alone."""
    domain = ROOMS.replace("(and (at ?t hall) (locked ?r))", "(at ?t hall)")
    problem = small_domains.problem_text("rooms", OBJECTS, INIT, ["(at cup hall)"])
    task = load_task(*write_task(tmp_path, domain, problem))
    operators, successors = task.successors(task.initial_state)
    names = [task.operator_name(int(operator)) for operator in operators]
    encoder = Encoder(task, Vocabulary.of(task.problem.domain))
    unlocked = encoder.encode(successors[[names.index("(unlock key hall)")]])
    assert ("locked", "hall") in written_out(encoder, encoder.encode(task.initial_state[None]))
    assert ("locked", "hall") not in written_out(encoder, unlocked)


# -- goals


@pytest.mark.parametrize(
    ("goal", "literals"),
    [
        ("(and)", []),
        ("(at cup hall)", [(("at", "cup", "hall"), True)]),
        ("(not (at cup hall))", [(("at", "cup", "hall"), False)]),
        (
            "(and (dark) (and (not (at key hall))))",
            [(("dark",), True), (("at", "key", "hall"), False)],
        ),
        (
            "(forall (?r - room) (not (locked ?r)))",
            [(("locked", "hall"), False), (("locked", "cellar"), False)],
        ),
        (
            "(forall (?t - tool) (and (at ?t hall) (forall (?r - room) (door ?r ?r))))",
            [
                (("at", "key", "hall"), True),
                (("door", "hall", "hall"), True),
                (("door", "cellar", "cellar"), True),
            ],
        ),
        ("(and (dark) (not (= cup key)) (= cup cup))", [(("dark",), True)]),
        (
            "(not (or (dark) (not (at cup hall))))",
            [(("dark",), False), (("at", "cup", "hall"), True)],
        ),
        ("(not (exists (?t - tool) (at ?t hall)))", [(("at", "key", "hall"), False)]),
        ("(exists (?t - tool) (at ?t hall))", [(("at", "key", "hall"), True)]),
        (
            "(forall (?a ?b - thing) (imply (not (= ?a ?b)) (or (= ?a cup) (at ?b hall))))",
            [(("at", "cup", "hall"), True)],
        ),
        ("(or (dark) (= cup cup))", []),
    ],
)
def test_goals_become_literals(
    goal: str, literals: list[tuple[tuple[str, ...], bool]], tmp_path: Path
) -> None:
    problem = small_domains.problem_text("rooms", OBJECTS, INIT, [goal])
    assert list(goal_literals(parse(*write_task(tmp_path, ROOMS, problem)))) == literals


def test_a_goal_about_all_objects_is_seen_for_each(tmp_path: Path) -> None:
    task = rooms_task(tmp_path, "(forall (?t - thing) (not (at ?t hall)))")
    encoder = Encoder(task, Vocabulary.of(task.problem.domain))
    seen = written_out(encoder, encoder.encode(task.initial_state[None]))
    wanted = {key: value for key, value in seen.items() if key[0].startswith("goal")}
    assert wanted == {("goal at", "cup", "hall"): -1, ("goal at", "key", "hall"): -1}


@pytest.mark.parametrize(
    "goal",
    [
        "(or (dark) (at cup hall))",
        "(imply (dark) (at cup hall))",
        "(not (and (dark) (locked hall)))",
        "(exists (?t - thing) (at ?t hall))",
        "(and (dark) (forall (?t - thing) (or (at ?t hall) (dark))))",
    ],
)
def test_a_disjunctive_goal_is_refused(goal: str, tmp_path: Path) -> None:
    task = rooms_task(tmp_path, goal)
    with pytest.raises(UnsupportedPddlError, match=r"problem\.pddl: .*conjunctions of literals"):
        Encoder(task, Vocabulary.of(task.problem.domain))


@pytest.mark.parametrize(
    "goal",
    ["(and (at cup hall) (at cup hall))", "(and (at cup hall) (forall (?t - thing) (at ?t hall)))"],
)
def test_a_goal_that_says_something_twice_says_it_once(goal: str, tmp_path: Path) -> None:
    task = rooms_task(tmp_path, goal)
    encoder = Encoder(task, Vocabulary.of(task.problem.domain))
    entries = [tuple(entry) for entry in encoder.base_entries.tolist()]
    assert len(entries) == len(set(entries))


# -- the objects


def test_objects_that_no_atom_mentions_are_left_out(tmp_path: Path) -> None:
    goal = "(at cup hall)"
    task = rooms_task(tmp_path, goal, objects="spare - thing attic - room " + OBJECTS)
    encoder = Encoder(task, Vocabulary.of(task.problem.domain))
    assert encoder.objects == ["hall", "cup", "cellar", "key"]  # the constant stays in any case
    plain = rooms_task(tmp_path, goal)
    expected = Encoder(plain, encoder.vocabulary)
    assert written_out(encoder, encoder.encode(task.initial_state[None])) == written_out(
        expected, expected.encode(plain.initial_state[None])
    )

    # One atom about it, however static, is enough.
    task = rooms_task(tmp_path, goal, "attic - room " + OBJECTS, [*INIT, "(door attic attic)"])
    assert Encoder(task, encoder.vocabulary).objects == ["hall", "attic", "cup", "cellar", "key"]


# -- inputs and what is true


@pytest.mark.parametrize("name", sorted(small_domains.ALL))
def test_inputs_say_what_is_true(name: str, tmp_path: Path) -> None:
    for seed in range(3):
        domain, problem = small_domains.ALL[name](random.Random(seed))
        check_inputs_against_truth(load_task(*write_task(tmp_path, domain, problem)), seed)


def test_inputs_say_what_is_true_in_random_tasks(tmp_path: Path) -> None:
    tried = 0
    for seed in range(60):
        drawn = random_task(seed)
        task = load_task(*write_task(tmp_path, drawn.domain, drawn.problem))
        if task.goal_is_false:  # such as wanting something both true and false
            continue
        try:
            list(goal_literals(task.problem))
        except UnsupportedPddlError:
            continue
        tried += check_inputs_against_truth(task, seed)
    assert tried > 200


def check_inputs_against_truth(task: Task, seed: int) -> int:
    """Returns how many states it tried."""
    encoder = Encoder(task, Vocabulary.of(task.problem.domain))
    states, truths = walk(task, seed)
    inputs = encoder.encode(states)
    facts = [task.core.atom_name(fact).removeprefix("not ") for fact in range(task.num_facts)]
    tracked = {oracle.parse_atom(name) for name in facts if not name.startswith("<")}
    initial = set(task.problem.init)
    for number, truth in enumerate(truths):
        entries = written_out(encoder, inputs, number)
        seen = {key for key in entries if key[0] in task.problem.domain.predicates}
        assert seen & tracked == truth & tracked
        assert seen - tracked == initial - tracked
    return len(states)


def arrays(batch: Batch) -> list[NDArray[np.generic]]:
    return [batch.sizes, batch.starts, batch.entries, batch.values]


def test_batches_are_put_together_and_taken_apart(tmp_path: Path) -> None:
    parts = []
    for seed in range(3):
        task = load_task(*write_task(tmp_path, *small_domains.blocks(random.Random(seed))))
        vocabulary = Vocabulary.of(task.problem.domain)
        parts += [Encoder(task, vocabulary).encode(walk(task, seed, length=4)[0])]
    whole = Batch.concatenate(parts)
    assert len(whole) == 15
    assert whole.sizes.tolist() == [size for part in parts for size in part.sizes]
    states = [whole.select(np.array([row])) for row in range(len(whole))]
    assert len({part.entries.tobytes() for part in states}) > 10
    rows = [7, 0, 14, 7, 3]
    chosen = whole.select(np.array(rows))
    again = Batch.concatenate([states[row] for row in rows])
    for one, other in zip(arrays(chosen), arrays(again), strict=True):
        assert one.tolist() == other.tolist()
    assert len(Batch.concatenate([])) == len(whole.select(np.zeros(0, dtype=np.int64))) == 0
