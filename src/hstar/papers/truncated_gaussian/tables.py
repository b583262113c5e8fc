"""The numbers that the paper prints (published.toml), ours, and the paper's tables with both, the
paper's beneath ours.

A column is VARIANT:SIGMA/BASE/BOUND, a variant with its configuration (what the model corrects, and
the lower bound), or a baseline or other method alone. Means and deviations (of a sample) are over
seeds; planning rows are averaged over problems first. The layout is the paper's: accuracy tables
have the metric and "+clip" as rows and N, TN as columns; planning tables have N, N+clip, TN as
columns. The best of each configuration is bold, by the rules of the captions.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Any, TypeVar

from hstar.experiments.report import MISSING, Cell, Table, rank_sum_p, shift_interval
from hstar.experiments.study import Claim, Look, Row, Spread, read_rows, read_toml
from hstar.papers.truncated_gaussian.scales import DOMAINS

V = TypeVar("V")
VARIANTS = ("N", "N+clip", "TN")
NAMES = {"ff": "h^FF", "lmcut": "h^LMcut", "hmax": "h^max", "blind": "h^blind", "none": "none"}
GRID = ("learn/ff/lmcut", "learn/none/lmcut", "fixed/ff/lmcut", "fixed/none/lmcut")
LEARN_FF = GRID[0]
METRICS = {1: ("mse",), 2: ("coverage", "evaluations")}  # by the number of sections
MEASURED = {  # loss -> number of a training -> variant
    "gaussian": {"mse": "N", "mse_clip": "N+clip", "nll": "N"},  # clipping has no likelihood
    "truncated-gaussian": {"mse": "TN", "nll": "TN"},
}
HUGE = 1e5  # beyond, a number is printed with its power of ten


@dataclass(frozen=True)
class PublishedTable:
    """`metrics` are the sections of the table: mse, nll, coverage, evaluations. `cells` maps
    (metric, domain, column) to what is printed, None for an empty cell."""

    model: str  # nlm, hgn, linear
    caption: str
    metrics: tuple[str, ...]
    groups: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[tuple[str, str, str], Spread | None]


def _table(held: dict[str, Any], numbers: str) -> PublishedTable:
    sections = numbers.strip().split("\n\n")
    metrics = tuple(held.get("metrics", METRICS[len(sections)]))
    groups = tuple(held.get("groups", GRID))
    columns = (
        *(["ff"] if "coverage" in metrics else ["ff", "lmcut"]),
        *(f"{variant}:{group}" for group in groups for variant in VARIANTS),
        *held.get("extra", ()),
    )
    cells = {
        (metric, domain, column): row[column]
        for metric, section in zip(metrics, sections, strict=True)
        for domain, row in read_rows(columns, section).items()
        for column in columns
    }
    about = held.get("model", "nlm"), held["caption"]
    return PublishedTable(*about, metrics, groups, columns, cells)


_HELD = read_toml(__file__, "published.toml")
TABLES = {
    int(number): _table(one, _HELD[str(one.get("numbers_of", number))]["numbers"])
    for number, one in _HELD.items()
}


def published_value(model: str, metric: str, domain: str, column: str) -> Spread | None:
    """The paper's number, from the first table that has it."""
    tables = (one for one in TABLES.values() if one.model == model or ":" not in column)
    values = (table.cells.get((metric, domain, column)) for table in tables)
    return next((value for value in values if value is not None), None)


@dataclass(frozen=True)
class Measured:
    """Ours: `values` by model (empty where there is but one of a column), metric, domain and
    column; `curves` by domain and column, those of NLM: validation errors by step for each seed.
    `labelled` says of domains how many of their test problems have labels."""

    values: Mapping[tuple[str, ...], Spread]
    curves: Mapping[tuple[str, ...], Sequence[Mapping[int, float]]]
    labelled: Mapping[str, str]

    @classmethod
    def of(cls, metrics: Iterable[Row], planning: Iterable[Row], curves: Iterable[Row]) -> Measured:
        """From a row for each training or baseline, each search and each point of a curve."""
        by_seed: dict[tuple[str, ...], dict[int, list[float]]] = {}
        lines: dict[tuple[str, ...], dict[int, dict[int, float]]] = {}

        def add(row: Row, metric: str, variant: str, number: float | None) -> None:
            model = row["model"] if variant in VARIANTS else ""
            key = model, metric, row["domain"], column_of(variant, row)
            if number is not None:
                by_seed.setdefault(key, {}).setdefault(row["seed"], []).append(number)

        labelled = {}
        for row in metrics:
            if "of" in row:
                labelled[row["domain"]] = f"{row['problems']} of {row['of']} labelled"
            named = MEASURED.get(row["loss"], {}) if "loss" in row else {"mse": row["model"]}
            for name, variant in named.items():
                add(row, name.removesuffix("_clip"), variant, row.get(name))
        for row in planning:
            add(row, "coverage", row["variant"], row["solved"])
            add(row, "evaluations", row["variant"], row["evaluations"])
        for row in curves:
            if row["model"] == "nlm" and row["loss"] in MEASURED:
                key = row["domain"], column_of(MEASURED[row["loss"]]["mse"], row)
                lines.setdefault(key, {}).setdefault(row["seed"], {})[row["step"]] = row["val_mse"]
        values = {
            key: _summarized(key[1], [statistics.fmean(rows) for _, rows in sorted(seeds.items())])
            for key, seeds in by_seed.items()
        }
        drawn = {key: list(seeds.values()) for key, seeds in lines.items()}
        return cls(values, drawn, labelled)

    def value(self, model: str, metric: str, domain: str, column: str) -> Spread | None:
        if metric == "steps":
            return self.steps_ahead(domain, column)
        return look_up(self.values, model if ":" in column else "", metric, domain, column)

    def steps_ahead(self, domain: str, column: str) -> Spread | None:
        """At how many steps of training TN is below N in validation error, or for N not below it,
        means over seeds (Figure 2)."""
        truncated, plain = (_mean_curve(self.curves_of(domain, one)) for one in ("TN", "N"))
        common = truncated.keys() & plain.keys()
        lower = sum(truncated[step] < plain[step] for step in common)
        count = lower if column.startswith("TN") else len(common) - lower
        return Spread(count, shown=f"{count} of {len(common)} steps") if common else None

    def curves_of(self, domain: str, variant: str) -> Sequence[Mapping[int, float]]:
        """Of learn/h^FF, for each seed."""
        return look_up(self.curves, domain, f"{variant}:{LEARN_FF}") or ()


def column_of(variant: str, row: Row) -> str:
    if variant not in VARIANTS:
        return variant
    return f"{variant}:{row['sigma']}/{row['base']}/{row['lower']}"


def look_up(held: Mapping[tuple[str, ...], V], *key: str) -> V | None:
    """What is held for a key that ends in a column. A Gaussian that is not clipped never sees its
    lower bound; where it was trained once and not for each bound again, that one is meant."""
    if key in held or not key[-1].startswith("N:"):
        return held.get(key)
    group = key[-1].rpartition("/")[0]
    others = (one for one in held if one[:-1] == key[:-1] and one[-1].startswith(f"{group}/"))
    nearest = min(others, default=None)
    return None if nearest is None else held[nearest]


def _summarized(metric: str, values: Sequence[float]) -> Spread:
    mean = math.fsum(values) / len(values)
    finite = len(values) > 1 and all(map(math.isfinite, values))
    std = statistics.stdev(values) if finite else None
    return Spread(mean, std, values=tuple(values), shown=format_value(metric, mean, std))


def format_value(metric: str, mean: float, std: float | None) -> str:
    """As the paper prints numbers: no zero before the point, and a plain 1 where all is solved."""
    if not math.isfinite(mean):
        return str(mean)
    if metric == "coverage" and mean in (0, 1):
        return str(int(mean))
    numbers = [mean] if std is None else [mean, std]
    if metric != "evaluations" and abs(mean) >= HUGE:
        power = math.floor(math.log10(abs(mean)))
        return f"({_spread([number / 10**power for number in numbers], 1)})e{power}"
    return _spread(numbers, 0 if metric == "evaluations" else 2)


def _spread(numbers: Sequence[float], digits: int) -> str:
    texts = [f"{number:.{digits}f}" for number in numbers]
    return "±".join(re.sub(r"^(-?)0\.", r"\1.", text) for text in texts)


def claims(measured: Measured) -> list[Claim]:
    def sources(about: str) -> Any:
        return [(_look(one, about or "nlm"), DOMAINS) for one in (measured.value, published_value)]

    return Claim.judged(__file__, sources, _called)


def _look(value: Any, model: str) -> Look:
    """Numbers by the columns of claims.toml, which leave out the usual bound."""

    def look(metric: str, domain: str, column: str) -> Spread | None:
        variant, _, group = column.partition(":")
        full = f":{group}/lmcut" if group.count("/") == 1 else column.removeprefix(variant)
        names = ("N", "TN") if variant == "best" else (variant,)
        values = [value(model, metric or "mse", domain, f"{name}{full}") for name in names]
        return max(filter(None, values), key=lambda one: one.mean, default=None)

    return look


def _called(column: str) -> str:
    """Such as "TN learn/h^FF" for "TN:learn/ff"."""
    variant, _, group = column.partition(":")
    names = [NAMES.get(part, part) for part in group.split("/")]
    return f"{NAMES.get(variant, variant)} {'/'.join(names)}".rstrip()


def _mean_curve(curves: Sequence[Mapping[int, float]]) -> dict[int, float]:
    steps = {step for curve in curves for step in curve}
    return {n: statistics.fmean([one[n] for one in curves if n in one]) for n in steps}


ROWS = {"mse": "MSE", "nll": "NLL", "coverage": "solved", "evaluations": "evaluations"}
COMPARED = ("mse", "coverage", "evaluations")
MODELS = ("nlm", "hgn", "linear")
SIGNIFICANT = 0.05
MARGIN = {1: 0.1, 4: 0.1}  # what the captions of these tables ask of a best value; else any
SHOWN = "Mean±deviation over seeds; ours first, the paper's beneath. Bold: best of its group."


def build_table(number: int, measured: Measured) -> Table:
    """A table by its number in the paper."""
    table = TABLES[number]
    ours = {key: measured.value(table.model, *key) for key in table.cells}
    planning = "coverage" in table.metrics
    shown = [one for one in table.columns if planning or not one.startswith("N+clip")]
    parts = [column.partition(":")[::2] for column in shown]  # variant, group
    several = len({group.rpartition("/")[2] for group in table.groups}) > 1
    spans = []
    for group, run in groupby(["", "", *(group for _, group in parts)]):
        sigma, base, lower = group.split("/") if group else ("", "", "")
        bound = f" (l = {NAMES[lower]})" if several and group else ""
        title = f"{sigma}/{NAMES[base]}{bound}" if group else ""
        spans.append((title, len(list(run))))
    rows: list[list[Cell]] = []
    for metric in table.metrics:
        for domain in DOMAINS:
            cells: dict[str, Cell] = {}
            for columns in _competing(table.columns):
                printed, measured_here = (
                    [values[metric, domain, column] for column in columns]
                    for values in (table.cells, ours)
                )
                made = _cells(metric, measured_here, printed, MARGIN.get(number, 0.0))
                cells |= zip(columns, made, strict=True)
            head = Cell(ROWS[metric], below="paper")
            share = "" if planning else measured.labelled.get(domain, "")
            rows.append([Cell(domain, below=share), head, *(cells[column] for column in shown)])
            if not planning:  # a second row has N+clip under N
                clipped = [one.replace("N:", "N+clip:") if one[:2] == "N:" else "" for one in shown]
                below = [cells.get(column, Cell("")) for column in clipped]
                rows.append([Cell(""), Cell("+clip", below="paper"), *below])
    return Table(
        f"table{number}",
        f"Table {number}: {table.caption}",
        ["domain", "metric", *(NAMES.get(variant, variant) for variant, _ in parts)],
        rows,
        SHOWN,
        spans,
        measured=sum(value is not None for value in ours.values()),
    )


def compared_table(measured: Measured) -> Table:
    """TN against N and N+clip: what a rank-sum test over seeds says of each domain and metric."""
    rows: list[list[str]] = []
    for model, group, metric, domain in product(MODELS, GRID, COMPARED, DOMAINS):
        ours = measured.value(model, metric, domain, f"TN:{group}")
        others = [measured.value(model, metric, domain, f"{one}:{group}") for one in VARIANTS[:2]]
        if ours is not None and any(others):
            sigma, base, _ = group.split("/")
            about = [model, f"{sigma}/{NAMES[base]}", domain, ROWS[metric], ours.shown]
            cells = (_compared(metric, ours, other) for other in others)
            rows.append([*about, *(text for pair in cells for text in pair)])
    headers = ["model", "configuration", "domain", "metric", "TN", "N", "TN - N"]
    headers += ["N+clip", "TN - N+clip"]
    return Table("compared", "TN against N and N+clip", headers, rows, is_text=True)


def _compared(metric: str, ours: Spread, other: Spread | None) -> tuple[str, str]:
    """A number, and by how much ours is above it."""
    if other is None:
        return MISSING, MISSING
    difference = ours.mean - other.mean
    if min(len(ours.values), len(other.values)) < 2:
        return other.shown, f"{difference:+.3g}, one seed"
    p = rank_sum_p(ours.values, other.values)
    found = shift_interval(ours.values, other.values)
    within = "" if found is None else f" [{found[0]:+.3g}, {found[1]:+.3g}]"
    is_better = difference > 0 if metric == "coverage" else difference < 0
    verdict = "cannot be told" if p >= SIGNIFICANT else "better" if is_better else "worse"
    return other.shown, f"{difference:+.3g}{within}, p {p:.2g}: {verdict}"


def _competing(columns: Sequence[str]) -> list[list[str]]:
    """Columns of which one is the best: those of a configuration or, where its only one stands
    beside another method, all of them."""
    if "L-GBFS" in columns:
        return [list(columns)]
    parts: dict[str, list[str]] = {}
    for column in columns:
        parts.setdefault(column.rpartition(":")[2], []).append(column)
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
