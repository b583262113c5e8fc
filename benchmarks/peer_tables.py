"""What the rows of the speed table share: the tasks they run on, ratios and Markdown."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Bench:
    """What every row needs: where the suites are, how often to repeat, where to write."""

    suite: Path
    folder: Path
    repeat: int
    quick: bool

    def select(self, tasks: list[str]) -> list[tuple[str, Path, Path]]:
        """(name, domain, problem) of the tasks that exist; every third one if quick."""
        found = []
        for name in tasks[:: 3 if self.quick else 1]:
            problem = self.suite / name
            parents = [problem.parent, *problem.parent.parents]
            domains = [p / "domain.pddl" for p in parents if p.is_relative_to(self.suite)]
            domain = next((d for d in domains if d.exists()), None)
            if domain is None or not problem.exists():
                say(f"not in the suite, left out: {name}")
                continue
            found.append((name.removesuffix(".pddl"), domain, problem))
        return found


@dataclass(frozen=True)
class Table:
    title: str
    head: list[str]
    rows: list[list[Any]]
    summary: str

    def markdown(self) -> str:
        lines = [self.head, ["---"] * len(self.head)]
        lines += [[shown(cell) for cell in row] for row in self.rows]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"### {self.title}\n\n{body}\n\n{self.summary}\n"


def shown(cell: Any) -> str:
    """Numbers to four digits, so that columns can be read."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"
    return str(cell)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours and theirs else None


def summarise(what: str, ratios: Iterable[float | None]) -> str:
    known = [r for r in ratios if r is not None]
    if not known:
        return f"{what}: nothing to compare."
    mean = statistics.geometric_mean(known)
    return f"{what}: geometric mean {mean:.2f}, minimum {min(known):.2f}, {len(known)} tasks."


def per_second(count: float | None, seconds: float | None) -> float | None:
    return count / seconds if count and seconds else None


def median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
