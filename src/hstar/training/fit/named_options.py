"""Options of a fit that acts, by name and perhaps as text, over the settings that it has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

Settings = TypeVar("Settings", bound=Any)


def with_options(
    settings: Settings,
    given: Mapping[str, Any],
    teacher: str,
    more: Collection[str] = (),
    without: Collection[str] = (),
) -> Settings:
    """Settings with other values for some fields. `more` are options that are no fields, `without`
    are fields that are no options. Raises ValueError."""
    kinds = {f.name: type(f.default) for f in fields(settings) if f.name not in without}
    named = dict(given)
    for name, value in given.items():
        if name not in kinds:
            known = ", ".join([*more, *kinds])
            raise ValueError(f"{teacher} have no option '{name}'; their options are: {known}")
        if isinstance(value, str):
            named[name] = _value(name, value, kinds[name])
    made: Settings = replace(settings, **named)
    return made


def _value(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text not in ("yes", "no"):
            raise ValueError(f"the option {name} is yes or no, not '{text}'")
        return text == "yes"
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"the option {name} wants a number, not '{text}'") from None
