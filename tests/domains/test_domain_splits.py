"""The splits of generated problems: their numbers, and that no problem is in two of them."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from drawn_problems import read
from hypothesis import given
from hypothesis import strategies as st

from hstar.domains import DOMAINS, SPLITS, Drawn, GeneratedProblem, Parameters, draw
from hstar.domains.canonical import canonical_form
from hstar.domains.splits import draw_split, owner

PAPER = ["blocksworld", "ferry", "gripper", "visitall"]
COUNTS = {
    "blocksworld": (456, 132, 132),
    "ferry": (400, 100, 100),
    "gripper": (400, 100, 100),
    "visitall": (420, 102, 102),
}


@pytest.mark.parametrize("name", PAPER)
def test_usual_splits_have_the_numbers_of_the_paper(name: str) -> None:
    plans = [DOMAINS[name].plan(split) for split in SPLITS]
    assert tuple(sum(count for _, count in plan) for plan in plans) == COUNTS[name]


def test_usual_splits_have_the_sizes_of_the_paper() -> None:
    def sizes(name: str, split: str, parameter: str) -> list[int | float]:
        return sorted({size[parameter] for size in DOMAINS[name].splits[split].sizes})

    assert sizes("blocksworld", "train", "blocks") == list(range(5, 17))
    assert sizes("blocksworld", "test", "blocks") == list(range(11, 23))
    for parameter in ("locations", "cars"):
        assert sizes("ferry", "validation", parameter) == [2, 3, 4, 5, 6]
        assert sizes("ferry", "test", parameter) == [10, 15, 20, 25, 30]
    assert sizes("gripper", "train", "balls") == [2, 4, 6, 8, 10]
    assert sizes("gripper", "test", "balls") == [20, 30, 40, 50, 60]
    assert sizes("visitall", "train", "side") == [3, 4, 5]
    assert sizes("visitall", "test", "side") == [6, 7, 8]
    assert sizes("visitall", "test", "ratio") == [0.5, 1.0]


Splits = dict[str, list[tuple[Parameters, Drawn]]]  # the size asked for, and what was drawn


@cache
def usual_splits(name: str) -> Splits:
    """The usual splits of a domain; where nothing runs out, only a part of them."""
    generator = DOMAINS[name]
    count = None if name in ("gripper", "visitall") else 90
    return {
        split: draw_split(generator, split, generator.plan(split, count=count)) for split in SPLITS
    }


@pytest.mark.parametrize("name", DOMAINS)
def test_no_problem_occurs_twice_or_is_solved(name: str) -> None:
    splits = [[problem for _, problem in split] for split in usual_splits(name).values()]
    texts = [read(problem.text) for split in splits for problem in split]
    assert len(set(texts)) == len(texts)
    assert not any(goal <= init for init, goal in texts)
    assert all(len({problem.name for problem in split}) == len(split) for split in splits)


@pytest.mark.parametrize("name", DOMAINS)
def test_no_problem_occurs_in_two_splits_even_renamed(name: str) -> None:
    forms = [{one.canonical for _, one in split} for split in usual_splits(name).values()]
    for some, others in itertools.combinations(forms, 2):
        assert some and others and not some & others


def test_only_exhausted_sizes_are_replaced() -> None:
    gripper, visitall = usual_splits("gripper"), usual_splits("visitall")
    assert tuple(map(len, gripper.values())) == COUNTS["gripper"]
    assert tuple(map(len, visitall.values())) == COUNTS["visitall"]
    for asked, problem in gripper["train"] + gripper["validation"]:
        assert problem.parameters == asked or asked == {"balls": 2}
        assert 2 <= problem.parameters["balls"] <= 10
    for asked, problem in visitall["train"] + visitall["validation"]:
        assert problem.parameters["side"] == asked["side"]
        assert problem.parameters == asked or asked["ratio"] == 1.0
    for asked, problem in gripper["test"] + visitall["test"]:
        assert problem.parameters == asked


def test_exhausted_sizes_give_way_to_larger_ones() -> None:
    gripper = DOMAINS["gripper"]
    drawn = draw_split(gripper, "train", gripper.plan("train", {"balls": [1]}, 30))
    assert len({problem.digest for _, problem in drawn}) == 30
    sizes = Counter(problem.parameters["balls"] for _, problem in drawn)
    assert 0 < sizes[1] <= 4 and set(sizes) <= {1, 3, 5, 7}


def all_gripper_problems(balls: int) -> Iterator[GeneratedProblem]:
    rooms = ("rooma", "roomb")
    names = [f"ball{number}" for number in range(balls)]
    for robot, *places in itertools.product(rooms, repeat=1 + 2 * balls):
        yield GeneratedProblem(
            objects={"": (*rooms, *names)},
            init=(
                ("at-robby", robot),
                *(("at", ball, room) for ball, room in zip(names, places, strict=False)),
            ),
            goal=tuple(
                ("at", ball, room) for ball, room in zip(names, places[balls:], strict=True)
            ),
        )


def renamed(instance: GeneratedProblem, renaming: dict[str, str]) -> GeneratedProblem:
    def rename(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(renaming.get(word, word) for word in words)

    return GeneratedProblem(
        objects={kind: rename(names) for kind, names in instance.objects.items()},
        init=tuple(map(rename, instance.init)),
        goal=tuple(map(rename, instance.goal)),
    )


def test_canonical_forms_are_the_classes_of_renamings() -> None:
    unsolved = [one for one in all_gripper_problems(2) if not one.solved]
    assert len(unsolved) == 24
    classes = set()
    for one in unsolved:
        rooms, balls = ("rooma", "roomb"), ("ball0", "ball1")
        classes.add(
            frozenset(
                renamed(one, dict(zip(rooms + balls, a + b, strict=True))).digest()
                for a in itertools.permutations(rooms)
                for b in itertools.permutations(balls)
            )
        )
    forms = {one.digest(): canonical_form(one) for one in unsolved}
    assert len(set(forms.values())) == len(classes) == 7
    assert all(len({forms[digest] for digest in alike}) == 1 for alike in classes)


@given(st.sampled_from(sorted(DOMAINS)), st.randoms(use_true_random=False))
def test_renaming_and_reordering_keep_the_form(name: str, rng: random.Random) -> None:
    generator = DOMAINS[name]
    instance = generator.sample(generator.splits["train"].sizes[0], rng)
    names = [one for group in instance.objects.values() for one in group]
    new = [f"x{number}" for number in range(len(names))]
    rng.shuffle(new)
    other = renamed(instance, dict(zip(names, new, strict=True)))
    shuffled = GeneratedProblem(
        objects={kind: tuple(sorted(group)) for kind, group in other.objects.items()},
        init=tuple(rng.sample(other.init, len(other.init))),
        goal=tuple(rng.sample(other.goal, len(other.goal))),
    )
    assert canonical_form(shuffled) == canonical_form(instance)
    assert owner(generator, shuffled, canonical_form(shuffled)) == owner(
        generator, instance, canonical_form(instance)
    )


def test_the_owner_does_not_depend_on_what_was_asked_for() -> None:
    """A full grid can come from ratio 1 and from ratio 0.99; it stays in its split."""
    visitall = DOMAINS["visitall"]
    owners: dict[str, set[str]] = {}
    forms: dict[str, str] = {}
    for ratio, split, seed in itertools.product((0.99, 1.0), SPLITS, range(15)):
        drawn = draw(visitall, {"side": 6, "ratio": ratio}, split, seed, 0, forms)
        if drawn is not None:
            owners.setdefault(drawn.canonical, set()).add(split)
    assert all(len(splits) == 1 for splits in owners.values())


def test_problems_as_they_are_drawn_keep_their_sizes_and_may_repeat() -> None:
    """Gripper with two balls has 24 problems, so 80 draws repeat; otherwise larger ones fill in."""
    generator = DOMAINS["gripper"]
    plan = generator.plan("train", {"balls": [2]}, 80)
    drawn = draw_split(generator, "train", plan, apart=False)
    assert [problem.parameters for _, problem in drawn] == [{"balls": 2}] * 80
    assert len({problem.digest for _, problem in drawn}) <= 24
    assert len({problem.canonical for _, problem in drawn}) == 7  # of every split
    apart = draw_split(generator, "train", plan)
    assert {problem.parameters["balls"] for _, problem in apart} != {2}
    again = draw_split(generator, "train", plan, apart=False)
    assert [problem.text for _, problem in again] == [problem.text for _, problem in drawn]
