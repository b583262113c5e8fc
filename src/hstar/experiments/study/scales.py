"""Scales and published numbers from the TOML files beside a paper's modules."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read_toml(module: str, name: str) -> dict[str, Any]:
    """A TOML file beside a module's file."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))


def build(kind: Any, held: Any) -> Any:
    """Plain data as what a type says: dataclasses, in tuples, mappings and optional fields too."""
    if is_dataclass(kind) and isinstance(held, Mapping):
        hints = get_type_hints(kind)
        fields = {name: build(hints[name], value) for name, value in held.items()}
        return kind(**fields)  # type: ignore[operator]
    kinds = [one for one in get_args(kind) if one is not NoneType]
    if get_origin(kind) is tuple:
        return tuple(build(kinds[0], one) for one in held)
    if isinstance(held, Mapping) and len(kinds) == 2:
        return {name: build(kinds[1], one) for name, one in held.items()}
    return build(kinds[0], held) if len(kinds) == 1 and held is not None else held


def named_scale(scales: Mapping[str, T], name: str) -> T:
    """Raises ValueError for a name that there is not."""
    return scales[choose("scale", scales, [name])[0]]


def choose(what: str, known: Collection[str], wanted: Sequence[str]) -> list[str]:
    """Those that are wanted. Raises ValueError for one that there is not."""
    unknown = [name for name in wanted if name not in known]
    if unknown:
        named = ", ".join(f"'{name}'" for name in unknown)
        raise ValueError(f"unknown {what} {named}; choose one of {', '.join(known)}")
    return list(wanted)


def changed_steps(steps: Mapping[str, int], asked: Mapping[str, int] | int) -> dict[str, int]:
    """Steps by kind of learner: one number is for all kinds, named ones for those named."""
    return dict.fromkeys(steps, asked) if isinstance(asked, int) else {**steps, **asked}
