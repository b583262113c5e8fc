"""The tables of the truncated-gaussian paper from our own runs, the paper's numbers beneath ours.

The layout is the paper's: accuracy tables have the metric and "+clip" as rows and N, TN as columns;
planning tables have N, N+clip, TN as columns. The best of each configuration is bold, by the rules
of the captions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hstar.experiments.report import MISSING, Cell, Table
from hstar.experiments.study import Spread
from hstar.papers.truncated_gaussian.measured import DOMAINS, NAMES, TABLES, Configured, Frames

if TYPE_CHECKING:
    import polars as pl

ROWS = {"mse": "MSE", "nll": "NLL", "coverage": "solved", "evaluations": "evaluations"}
MARGIN = {1: 0.1, 4: 0.1}  # what the captions of these tables ask of a best value; else any
SHOWN = "Mean±deviation over seeds; ours first, the paper's beneath. Bold: best of its group."


def build_tables(
    metrics: pl.DataFrame | None,
    planning: pl.DataFrame | None,
    numbers: Sequence[int] = tuple(TABLES),
) -> list[Table]:
    """Tables by their numbers in the paper. For the frames see `measured`. Raises ValueError if a
    frame lacks a column, KeyError for a number that is no such table."""
    measured = Frames(metrics, planning)
    return [build_table(number, measured) for number in numbers]


def build_table(number: int, measured: Frames) -> Table:
    table = TABLES[number]
    ours = {key: measured.value(*key, table.model) for key in table.cells}
    planning = "coverage" in table.metrics
    several = len({group.lower for group in table.groups}) > 1
    variants = ["N", "N+clip", "TN"] if planning else ["N", "TN"]
    baselines = [c.variant for c in table.columns if c.group is None and c.variant in NAMES]
    extra = [c.variant for c in table.columns if c.group is None and c.variant not in NAMES]
    spans = [("", 2 + len(baselines))]
    for group in table.groups:
        bound = f" (l = {NAMES[group.lower]})" if several else ""
        spans.append((f"{group}{bound}", len(variants)))
    shown = [column for column in table.columns if planning or column.variant != "N+clip"]
    rows: list[list[Cell]] = []
    for metric in table.metrics:
        for domain in DOMAINS:
            cells: dict[Configured, Cell] = {}
            for columns in _competing(table.columns):
                printed, measured_here = (
                    [values[metric, domain, column] for column in columns]
                    for values in (table.cells, ours)
                )
                made = _cells(metric, measured_here, printed, MARGIN.get(number, 0.0))
                cells |= zip(columns, made, strict=True)
            head = Cell(ROWS[metric], below="paper")
            rows.append([Cell(domain), head, *(cells[column] for column in shown)])
            if not planning:  # a second row has N+clip under N
                clipped = [Configured("N+clip", c.group) if c.variant == "N" else c for c in shown]
                below = [cells[c] if c.variant == "N+clip" else Cell("") for c in clipped]
                rows.append([Cell(""), Cell("+clip", below="paper"), *below])
    return Table(
        f"table{number}",
        f"Table {number}: {table.caption}",
        [
            *("domain", "metric", *(NAMES[name] for name in baselines)),
            *(*variants * len(table.groups), *extra),
        ],
        rows,
        SHOWN,
        [*spans, *(("", 1) for _ in extra)],
        measured=sum(value is not None for value in ours.values()),
    )


def _competing(columns: Sequence[Configured]) -> list[list[Configured]]:
    """Columns of which one is the best: those of a configuration or, where its only one stands
    beside another method, all of them."""
    if any(column.variant == "L-GBFS" for column in columns):
        return [list(columns)]
    parts: dict[object, list[Configured]] = {}
    for column in columns:
        parts.setdefault(column.group or column, []).append(column)
    return list(parts.values())


def _cells(
    metric: str, ours: list[Spread | None], theirs: list[Spread | None], margin: float
) -> list[Cell]:
    texts = [[MISSING if v is None else v.shown for v in values] for values in (ours, theirs)]
    best, best_below = (best_of(metric, values, margin) for values in (ours, theirs))
    return list(map(Cell, texts[0], best, texts[1], best_below))


def best_of(metric: str, values: Sequence[Spread | None], margin: float) -> list[bool]:
    """Which of some numbers are the best, as printed, by more than the margin; equals share it."""
    digits = 0 if metric == "evaluations" else 2
    sign = -1 if metric == "coverage" else 1
    rounded = [None if v is None else sign * round(v.mean, digits) for v in values]
    different = sorted({value for value in rounded if value is not None})
    if len(different) < 2 or not different[1] - different[0] > margin:
        return [False] * len(values)
    return [value == different[0] for value in rounded]
