"""What was measured and what the paper prints, by domain and column: numbers with their spread."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hstar.experiments.report.tables import MISSING
from hstar.papers.experiment import read_published
from hstar.papers.reward_shaping.columns import COLUMNS
from hstar.papers.reward_shaping.recipe import Results, Row
from hstar.papers.reward_shaping.scales import PAPER

HELD = read_published(__file__)


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, standard deviation (of all values, not of a sample) and largest of some seeds. `values`
    are empty for printed numbers; without seeds there is only the mean."""

    mean: float
    std: float | None = None
    most: float | None = None
    values: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        mean, std = statistics.fmean(values), statistics.pstdev(values)
        return cls(mean, std, max(values), tuple(values))

    @classmethod
    def parse(cls, text: str) -> Spread | None:
        """Of "45", "45±12.2" or "45±12.2(74)", None for "-"."""
        if text == "-":
            return None
        found = re.fullmatch(r"([\d.]+)(?:±([\d.]+))?(?:\(([\d.]+)\))?", text)
        if found is None:
            raise ValueError(f"this is no number with a spread: {text}")
        mean, std, most = (None if one is None else float(one) for one in found.groups())
        return cls(mean or 0.0, std, most)

    @property
    def text(self) -> str:
        shown = f"{self.mean:.4g}" if self.mean < 1000 else f"{self.mean:.0f}"
        if self.std is not None and len(self.values) != 1:
            shown += f" ± {self.std:.3g}"
            shown += f" ({self.most:g})" if self.most is not None else ""
        return shown


def text_of(value: Spread | None) -> str:
    return MISSING if value is None else value.text


def _printed(name: str) -> dict[str, dict[str, Spread | None]]:
    columns: list[str] = HELD[f"{name}_columns"]
    rows = [line.replace("*", "").split() for line in HELD[name].strip().splitlines()]
    return {
        domain: dict(zip(columns, map(Spread.parse, texts), strict=True)) for domain, *texts in rows
    }


COVERAGE = _printed("coverage")  # domain -> column -> solved problems, and "total"
GOALS = _printed("goals")


def printed_share(domain: str, column: str) -> Spread | None:
    """Solved test problems in the paper, as a share."""
    row = COVERAGE.get(domain, {})
    value, total = row.get(column), row.get("total")
    if value is None or total is None:
        return None
    std, most = (one and one / total.mean for one in (value.std, value.most))
    return Spread(value.mean / total.mean, std, most)


def is_better(value: Spread, base: Spread) -> bool:
    """The paper's mark: the base lies below mean - std."""
    return base.mean < value.mean - (value.std or 0.0)


def is_worse(value: Spread, base: Spread) -> bool:
    return base.mean > value.mean + (value.std or 0.0)


class Searches:
    """The searches of a study, by domain and column. Unsolved problems count as the limit."""

    def __init__(self, rows: Iterable[Row], limit: int | None = None) -> None:
        self.limit = limit
        self.by_cell: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            self.by_cell.setdefault((row["domain"], row["column"]), []).append(row)

    @property
    def domains(self) -> list[str]:
        return list(dict.fromkeys(domain for domain, _ in self.by_cell))

    @property
    def columns(self) -> list[str]:
        present = {column for _, column in self.by_cell}
        return [name for name in COLUMNS if name in present]

    def rows(self, domain: str, column: str) -> list[Row]:
        return self.by_cell.get((domain, column), [])

    def tests(self, domain: str, column: str) -> int:
        return len({row["problem"] for row in self.rows(domain, column)})

    def solved(self, domain: str, column: str) -> Spread | None:
        """How many problems each seed solved."""
        rows = self.rows(domain, column)
        seeds = sorted({row["seed"] for row in rows})
        if not seeds:
            return None
        return Spread.of([sum(r["solved"] for r in rows if r["seed"] == seed) for seed in seeds])

    def share(self, domain: str, column: str) -> Spread | None:
        solved, tests = self.solved(domain, column), self.tests(domain, column)
        return None if solved is None else Spread.of([value / tests for value in solved.values])

    def cost(self, row: Row) -> float:
        """Evaluations of a search."""
        return float(row["requested"] if row["solved"] or self.limit is None else self.limit)

    def effort(self, domain: str, column: str, base: str) -> float | None:
        """The geometric mean of evaluations, as a ratio to those of another column on the same
        problems."""
        theirs = {row["problem"]: self.cost(row) for row in self.rows(domain, base)}
        logs = [
            math.log(max(1.0, self.cost(row)) / max(1.0, theirs[row["problem"]]))
            for row in self.rows(domain, column)
            if row["problem"] in theirs
        ]
        return math.exp(statistics.fmean(logs)) if logs else None


def searches_of(results: Results, study: str = PAPER) -> Searches:
    limit = next((s.max_evaluations for s in results.studies if s.name == study), None)
    return Searches(results.searches.get(study, []), limit)


def goals_of(results: Results, domain: str, learner: str) -> Spread | None:
    """Goals reached in training, by seed."""
    values = [float(row["goals"]) for row in trainings_of(results, domain, learner)]
    return Spread.of(values) if values else None


def trainings_of(results: Results, domain: str, learner: str) -> list[dict[str, Any]]:
    """Those that ended well."""
    return [
        row
        for row in results.trainings.get(PAPER, [])
        if (row["domain"], row["learner"], row["error"]) == (domain, learner, "")
    ]
