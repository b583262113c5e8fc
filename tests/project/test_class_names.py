"""Every class of the package has a name of its own: a reader who finds one has found it."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import hstar

PACKAGE = Path(hstar.__file__).parent


def test_no_class_name_exists_twice() -> None:
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []
