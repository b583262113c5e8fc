"""Copies of heuristics do what the originals do, with the same code."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_tasks import large_search
from untrained_models import untrained

import hstar
from hstar import _core
from hstar.slots.objectives import make_objective

COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    lambda model: pickle.loads(pickle.dumps(model)),
]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("kind", ["nlm", "mlp", "linear"])
def test_a_copied_model_needs_no_torch_either(
    tmp_path: Path, kind: str, copied: Callable[[Any], Any]
) -> None:
    task = hstar.load_task(*large_search(tmp_path, blocks=4))
    model = untrained(kind, task, make_objective("truncated-gaussian"))
    bound, again = model.bind(task), copied(model).bind(task)
    assert isinstance(bound, _core.Heuristic) and isinstance(again, _core.Heuristic)
    state = task.initial_state[None]
    assert np.array_equal(bound.evaluate(state), again.evaluate(state))


@pytest.mark.parametrize("copied", COPIES)
def test_a_copied_native_heuristic(tmp_path: Path, copied: Callable[[Any], Any]) -> None:
    task = hstar.load_task(*large_search(tmp_path, blocks=4))
    heuristic = hstar.make_heuristic(task, "ff", "one")
    again = copied(heuristic)
    assert again.evaluate(task.initial_state) == heuristic.evaluate(task.initial_state)
