"""Names of a package that are imported when they are first used (PEP 562): numpy and torch alone
take longer than a small problem. The package imports them for type checkers only, each "as" itself:

    if TYPE_CHECKING:
        from hstar.planning.task import ground as ground
    __getattr__ = lazy(__name__, __file__)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any


def lazy(package: str, file: str, names: Collection[str] | None = None) -> Callable[[str], Any]:
    """The `__getattr__` of a package, read from the imports of its own file: all, or some names."""

    @cache
    def modules() -> dict[str, str]:
        import ast

        imports = ast.walk(ast.parse(Path(file).read_text(encoding="utf-8")))
        found = (node for node in imports if isinstance(node, ast.ImportFrom))
        return {alias.name: str(node.module) for node in found for alias in node.names}

    def attribute(name: str) -> Any:
        from importlib import import_module

        if name.startswith("__") or name not in (modules() if names is None else names):
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(modules()[name]), name)

    return attribute
