"""Folders of the core include only from folders before them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "cpp"
ORDER = [
    "runtime",
    "lanes",
    "task",
    "grounding",
    "regression",
    "spaces",
    "heuristics",
    "search",
    "teaching",
    "pdb",
    "networks",
    "wl",
    "reinforcement",
    "learned",
    "bindings",
]
# Mathematics on plain arrays: knows nothing of planning.
NEEDS_ONLY = {"lanes": set[str](), "networks": {"runtime", "lanes"}}


def test_the_order_names_every_folder() -> None:
    assert sorted(ORDER) == sorted(path.name for path in CORE.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", ORDER)
def test_includes_point_downwards(folder: str) -> None:
    allowed = NEEDS_ONLY.get(folder, set(ORDER[: ORDER.index(folder)])) | {folder}
    files = [path for path in (CORE / folder).rglob("*") if path.suffix in (".cpp", ".hpp")]
    assert files
    for path in files:
        included = re.findall(r'^\s*#include "([^"/]+)/', path.read_text(), re.MULTILINE)
        assert set(included) <= allowed, path
