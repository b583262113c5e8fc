"""Behaviour pinned by golden files: expansion orders, heuristic values, puzzles and trainings.

A difference means that results have changed. If that is meant, write the files anew with
tests/make_golden.py and say in the commit what changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from golden_cases import FLOATING, FOLDER, SECTIONS
from golden_subject import arithmetic

CASES = [(section, name) for section, (names, _) in SECTIONS.items() for name in names]


@pytest.fixture(autouse=True)
def same_threads_afterwards() -> Iterator[None]:
    """Trainings set one thread, which makes them the same on every machine."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@cache
def golden(section: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{section}.json").read_text())


def first_difference(expected: Any, found: Any, place: tuple[str, ...] = ()) -> str | None:
    """Where two JSON values begin to differ, and how; None if they are equal."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key not in expected or key not in found:
                side = "is new" if key not in expected else "is missing"
                return f"{' / '.join((*place, key))} {side}"
            difference = first_difference(expected[key], found[key], (*place, key))
            if difference:
                return difference
        return None
    if isinstance(expected, list) and isinstance(found, list):
        for i, (one, other) in enumerate(zip(expected, found, strict=False)):
            difference = first_difference(one, other, (*place, f"[{i}]"))
            if difference:
                return difference
        if len(expected) != len(found):
            return f"{' / '.join(place)} has {len(found)} entries, not {len(expected)}"
        return None
    if type(expected) is type(found) and expected == found:
        return None
    return f"{' / '.join(place)} was {expected!r} and is {found!r}"


@pytest.mark.parametrize(("section", "name"), CASES)
def test_as_recorded(section: str, name: str) -> None:
    if section in FLOATING and golden(section)["made with"] != arithmetic():
        pytest.skip(f"recorded with {golden(section)['made with']}; here is {arithmetic()}")
    compute = SECTIONS[section][1]
    found = json.loads(json.dumps(compute(name)))
    difference = first_difference(golden(section)[name], found, (section, name))
    assert difference is None, difference


def test_first_difference_names_the_place() -> None:
    old = {"a": {"plan": ["x", "y"], "cost": 2}}
    assert first_difference(old, json.loads(json.dumps(old))) is None
    assert first_difference(old, {"a": {"plan": ["x", "z"], "cost": 2}}) == (
        "a / plan / [1] was 'y' and is 'z'"
    )
    assert first_difference(old, {"a": {"plan": ["x"], "cost": 2}}) == (
        "a / plan has 1 entries, not 2"
    )
    assert first_difference(old, {"a": {"plan": ["x", "y"]}}) == "a / cost is missing"
    assert first_difference(old, {"a": {"plan": ["x", "y"], "cost": 2.0}}) == (
        "a / cost was 2 and is 2.0"
    )
