"""Scales and published numbers from the TOML files beside a paper's modules. Numbers, ours and
those that papers print, have a spread over seeds."""

from __future__ import annotations

import re
import statistics
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

_PRINTED = re.compile(r"\(?([\d.]+)(?:±([\d.]+))?(?:\)e(\d))?(?:\(([\d.]+)\))?")


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, standard deviation (of all values, not of a sample) and largest of some seeds. `values`
    are empty for printed numbers; without seeds there is only the mean. `shown` is how a number
    looks that was printed or is to look like those."""

    mean: float
    std: float | None = None
    most: float | None = None
    values: tuple[float, ...] = ()
    shown: str = field(default="", compare=False)

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        mean, std = statistics.fmean(values), statistics.pstdev(values)
        return cls(mean, std, max(values), tuple(values))

    @property
    def brief(self) -> str:
        return self.shown or f"{self.mean:.4g}"

    @property
    def text(self) -> str:
        text = f"{self.mean:.4g}" if self.mean < 1000 else f"{self.mean:.0f}"
        if self.std is not None and len(self.values) != 1:
            text += f" ± {self.std:.3g}"
            text += f" ({self.most:g})" if self.most is not None else ""
        return text


def read_number(text: str) -> Spread | None:
    """Reads "45", ".88±.14", "45±12.2(74)" (the largest), "(8.9±1.8)e8", "3225±?" and "45*" (in
    bold); None for "-" and "?". Raises ValueError."""
    if text in ("-", "?"):
        return None
    text = text.removesuffix("±?")
    found = _PRINTED.fullmatch(text.removesuffix("*"))
    if found is None:
        raise ValueError(f"'{text}' is no number of a paper")
    mean, std, power, most = found.groups()
    scale = 10.0 ** int(power or 0)
    deviation = float(std) * scale if std else None
    return Spread(float(mean) * scale, deviation, float(most) if most else None, shown=text)


def read_rows(columns: Sequence[str], text: str) -> dict[str, dict[str, Spread | None]]:
    """Domain -> column -> what is printed, of lines such as "blocks 36.4 | 68.0 -"."""
    lines = [line.replace("|", " ").split() for line in text.strip().splitlines()]
    return {
        domain: dict(zip(columns, map(read_number, texts), strict=True)) for domain, *texts in lines
    }


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


def choose(what: str, known: Collection[str], wanted: Sequence[str]) -> list[str]:
    """Those that are wanted. Raises ValueError for one that there is not."""
    unknown = [name for name in wanted if name not in known]
    if unknown:
        named = ", ".join(f"'{name}'" for name in unknown)
        raise ValueError(f"unknown {what} {named}; choose one of {', '.join(known)}")
    return list(wanted)
