"""Modules import only from those below them, and starting the program loads nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from program import SECONDS, environment

import hstar

PACKAGE = Path(hstar.__file__).parent

# Lowest first. Modules on one line do not know of each other; a new module takes its place here.
LAYERS: list[set[str]] = [
    {"_core", "pddl", "version"},
    {"runtime"},
    {"spaces"},
    {"heuristics", "algorithms", "result"},
    {"search"},
    {"pdb", "domains"},
    {"teachers"},
    {"features"},
    {"models"},
    {"objectives"},
    {"learned"},
    {"training"},
    {"certified"},
    {"reinforcement"},
    {"configuration"},  # reads files of all forms
    {"learning"},
    {"bench"},
    {"report"},
    {"papers"},
    {"commands"},
    {"__init__", "cli"},
]
# What a module may import of hstar where the layers below it are more than it needs.
ONLY: dict[str, set[str]] = {
    "pddl": set(),
    "runtime": {"_core", "pddl"},
    "domains": {"runtime", "pddl", "version"},
}
HEAVY = ["numpy", "torch", "rich", "polars", "asyncio", "multiprocessing"]


def module_of(path: Path) -> str:
    """The module of the package that a file belongs to, "pddl" for all within pddl/."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Which modules of the package a file imports, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            source = node.module or ""
            names |= {f"hstar.{a.name}" for a in node.names} if source == "hstar" else {source}
    return {name.split(".")[1] for name in names if name.startswith("hstar.")}


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_module_has_its_place() -> None:
    placed = set().union(*LAYERS)
    assert {module_of(path) for path in FILES} | {"_core"} == placed


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    module = module_of(path)
    level = next(i for i, layer in enumerate(LAYERS) if module in layer)
    allowed = ONLY.get(module, set().union(*LAYERS[:level]))
    assert imported(path) <= allowed | {module}


@pytest.mark.parametrize("module", ["hstar", "hstar.cli"])
def test_nothing_heavy_is_imported(module: str) -> None:
    """`hstar plan` solves small problems in a tenth of a second; numpy alone takes as long."""
    program = f"import {module}, sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout == "[]\n"
