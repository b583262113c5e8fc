"""Registries: names, entry points, and attributes of modules."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from hstar.runtime.registry import Registry

COLOURS = Registry("colour", {"red": 1, "green": 2}, "hstar.test_colours")


def test_a_name_is_found_in_the_dict() -> None:
    assert COLOURS.find("red") == 1
    assert list(COLOURS) == ["red", "green"]


def test_an_unknown_name_lists_the_known_ones_and_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown colour 'gren' \(did you mean 'green'\?\)"):
        COLOURS.find("gren")
    with pytest.raises(ValueError, match="choose one of red, green, or module:attribute"):
        COLOURS.find("xyz")


def test_a_module_of_the_current_directory_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_colours.py").write_text("blue = 3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert COLOURS.find("my_colours:blue") == 3
    with pytest.raises(ValueError, match="cannot import the colour 'my_colours:pink'"):
        COLOURS.find("my_colours:pink")
    with pytest.raises(ValueError, match="cannot import the colour 'no_such_module:pink'"):
        COLOURS.find("no_such_module:pink")
    for name, text, fault in (
        ("crashes", "blue = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("misspelt", "blue = = 3\n", r"SyntaxError: invalid syntax \(misspelt.py, line 1\)"),
    ):
        (tmp_path / f"{name}.py").write_text(text)
        with pytest.raises(ValueError, match=f"cannot import the colour '{name}:blue': {fault}"):
            COLOURS.find(f"{name}:blue")


def test_an_entry_point_joins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "paints-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: paints\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hstar.test_paints]\nblue = paints_module:blue\n")
    (tmp_path / "paints_module.py").write_text("blue = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    paints = Registry("paint", {"red": 1}, "hstar.test_paints", lambda name, found: found + 1)
    assert "blue" in {point.name for point in metadata.entry_points(group="hstar.test_paints")}
    assert paints.find("blue") == 4  # adopted
    with pytest.raises(ValueError, match="choose one of red, blue, or"):
        paints.find("black")
