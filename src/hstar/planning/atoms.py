"""The names of atoms, as the core writes them: "on(a, b)"."""

from __future__ import annotations


def atom_name(predicate: str, *arguments: str) -> str:
    return f"{predicate}({', '.join(arguments)})"


def parse_atom(name: str) -> tuple[str, ...] | None:
    """("on", "a", "b") from "on(a, b)"; None for a negated atom or "<none of those>"."""
    if name.startswith(("not ", "<")):
        return None
    predicate, _, inside = name.removesuffix(")").partition("(")
    return (predicate, *(inside.split(", ") if inside else ()))
