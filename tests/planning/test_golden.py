"""Behaviour pinned by golden files: expansion orders, heuristic values, puzzles and trainings.

A difference means that results have changed. If that is meant, write the files anew with
tests/support/make_golden.py and say in the commit what changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from first_difference import first_difference
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
