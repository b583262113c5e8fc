"""Modules import only from those below them, and starting the program loads nothing heavy."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from program import python
from untrained_models import untrained

import hstar
from hstar.planning.task import load_task
from hstar.slots.model_file import write_model
from hstar.slots.objectives import make_objective

PACKAGE = Path(hstar.__file__).parent

# Lowest first. Folders on one line do not know of each other; a new folder takes its place here.
LAYERS: list[set[str]] = [
    {"_core", "pddl"},
    {"runtime"},
    {"planning"},
    {"pdb", "domains"},
    {"slots.teachers"},
    {"slots.features"},
    {"slots.models"},
    {"slots.objectives"},
    {"slots"},  # decodes, model files, learned heuristics
    {"training"},
    {"learning"},
    {"experiments"},
    {"papers"},
    {"commands"},
    {"__init__", "__main__"},
]
PLACED = set().union(*LAYERS)
# What a folder may import of hstar where the layers below it are more than it needs.
ONLY: dict[str, set[str]] = {
    "pddl": set(),
    "runtime": {"_core", "pddl"},
    "domains": {"runtime", "pddl", "planning", "_core"},
}
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "delivery"
MOST_ENTRIES = 14  # of the package
MOST_LINES = 400  # of a file
HEAVY = ["numpy", "torch", "rich", "polars", "asyncio", "multiprocessing"]


def folder_of(names: Sequence[str]) -> str:
    """The place in LAYERS of a module: "slots.models" for all within it, "slots" for its files."""
    return next((f for f in (".".join(names[:2]), names[0]) if f in PLACED), names[0])


def place_of(path: Path) -> str:
    return folder_of(path.relative_to(PACKAGE).with_suffix("").parts)


def imported(path: Path) -> set[str]:
    """Which folders of the package a file imports, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {folder_of(name.split(".")[1:]) for name in names if name.startswith("hstar.")}


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_folder_has_its_place() -> None:
    assert {place_of(path) for path in FILES} | {"_core"} == PLACED


def test_the_package_has_few_entries_and_no_file_is_long() -> None:
    entries = {path.relative_to(PACKAGE).parts[0] for path in FILES} | {"py.typed"}
    assert len(entries) <= MOST_ENTRIES
    found = [path for name in ("tests", "cpp") for path in (ROOT / name).rglob("*.*")]
    files = [*FILES, *(path for path in found if path.suffix in (".py", ".cpp", ".hpp"))]
    assert not [path for path in files if len(path.read_text().splitlines()) > MOST_LINES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    place = place_of(path)
    level = next(i for i, layer in enumerate(LAYERS) if place in layer)
    allowed = ONLY.get(place, set().union(*LAYERS[:level]))
    if place != "__init__":
        assert imported(path) <= allowed | {place}


@pytest.mark.parametrize("path", sorted((PACKAGE / "papers").rglob("*.py")), ids=str)
def test_papers_use_only_what_packages_export(path: Path) -> None:
    """So a paper is written as anyone outside could write it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("hstar."):
            places = str(node.module).split(".")[1:]
            if places[0] != "papers":
                folder = PACKAGE.joinpath(*places)
                assert (folder / "__init__.py").is_file(), f"{node.module} is no package"
                modules = [alias.name for alias in node.names if is_module(folder, alias.name)]
                assert not modules, f"{path} imports the modules {modules}"
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            assert not [name for name in names if name.startswith("hstar.")]


def is_module(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()


@pytest.mark.parametrize("package", [p for p in FILES if p.name == "__init__.py"], ids=str)
def test_names_that_are_imported_late_exist(package: Path) -> None:
    """Those under `if TYPE_CHECKING` of a package that imports them when they are first used."""
    text = package.read_text(encoding="utf-8")
    if "lazy(__name__, __file__)" in text:
        module = importlib.import_module(".".join(package.parent.relative_to(PACKAGE.parent).parts))
        for node in ast.walk(ast.parse(text)):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                if alias.asname == alias.name:
                    assert getattr(module, alias.name) is not None
        with pytest.raises(AttributeError, match="has no attribute 'unheard_of'"):
            _ = module.unheard_of


@pytest.mark.parametrize("module", ["hstar", "hstar.commands.cli"])
def test_nothing_heavy_is_imported(module: str) -> None:
    """`hstar plan` solves small problems in a tenth of a second; numpy alone takes as long."""
    assert loaded_by(f"import {module}") & set(HEAVY) == set()


# What a search with a learned heuristic of the core has no use for. Importing NumPy would take as
# long as all else.
OF_LEARNING = ("numpy", "torch", "polars", "multiprocessing", "hstar.domains", "hstar.training",
               "hstar.slots.teachers", "hstar.learning", "hstar.experiments", "hstar.pdb",
               "hstar.runtime.pool", "hstar.runtime.journal")  # fmt: skip


@pytest.mark.parametrize(("model", "features"), [("linear", "wl"), ("mlp", "facts")])
def test_search_with_a_learned_heuristic_loads_no_learning(
    model: str, features: str, tmp_path: Path
) -> None:
    files = [EXAMPLE / name for name in ("domain.pddl", "problem.pddl")]
    objective = make_objective("squared")
    write_model(
        tmp_path / "m.safetensors",
        untrained(model, load_task(*files), objective, features=features, norm=False).file,
    )
    command = ["plan", str(files[1]), "-H", str(tmp_path / "m.safetensors"), "--quiet"]
    limit = ["--max-evaluations", "100"]
    loaded = loaded_by(f"from hstar.commands import cli; cli.run({[*command, *limit]})")
    assert "hstar.slots.learned_heuristic" in loaded
    assert [name for name in sorted(loaded) if name.startswith(OF_LEARNING)] == []


def loaded_by(program: str) -> set[str]:
    """The modules that a program has loaded at its end."""
    return set(python(f"{program}; import sys; print(*sys.modules)").split())
