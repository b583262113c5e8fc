"""Numbers with a spread over seeds: ours, and those that papers print."""

from __future__ import annotations

import re
import statistics
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hstar.experiments.report import MISSING

C = TypeVar("C", bound=Hashable)
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
    def text(self) -> str:
        text = f"{self.mean:.4g}" if self.mean < 1000 else f"{self.mean:.0f}"
        if self.std is not None and len(self.values) != 1:
            text += f" ± {self.std:.3g}"
            text += f" ({self.most:g})" if self.most is not None else ""
        return text


def text_of(value: Spread | None) -> str:
    return MISSING if value is None else value.text


def read_number(text: str) -> Spread | None:
    """Reads "45", ".88±.14", "45±12.2(74)" (the largest), "(8.9±1.8)e8" and "3225±?"; None for "-"
    and "?". Raises ValueError."""
    if text in ("-", "?"):
        return None
    text = text.removesuffix("±?")
    found = _PRINTED.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no number of a paper")
    mean, std, power, most = found.groups()
    scale = 10.0 ** int(power or 0)
    deviation = float(std) * scale if std else None
    return Spread(float(mean) * scale, deviation, float(most) if most else None, shown=text)


def read_rows(columns: Sequence[C], text: str) -> dict[str, dict[C, Spread | None]]:
    """Domain -> column -> what is printed, of lines such as "blocks 36.4 | 68.0 -"; a star marks
    bold print and is left out."""
    lines = [line.replace("|", " ").replace("*", "").split() for line in text.strip().splitlines()]
    return {
        domain: dict(zip(columns, map(read_number, texts), strict=True)) for domain, *texts in lines
    }
