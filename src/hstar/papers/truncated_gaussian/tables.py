"""The numbers that the paper prints (published.toml), ours by the same coordinates (metric, domain,
model, column), and the paper's tables with both, the paper's beneath ours.

Ours come from three frames with the columns below: metrics (model "ff" or "lmcut" for the symbolic
baselines), planning (a row per problem) and curves ("model" where there are several). Means and
deviations (of a sample) are over seeds; planning rows are averaged over problems first. The layout
is the paper's: accuracy tables have the metric and "+clip" as rows and N, TN as columns; planning
tables have N, N+clip, TN as columns. The best of each configuration is bold, by the rules of the
captions.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hstar.experiments.report import MISSING, Cell, Table
from hstar.experiments.study import (
    HOLDS,
    Check,
    Claim,
    Conclusion,
    Look,
    Spread,
    judge,
    read_rows,
    read_toml,
)

if TYPE_CHECKING:
    import polars as pl

DOMAINS = ("blocks", "ferry", "gripper", "visitall")
VARIANTS = ("N", "N+clip", "TN")
NAMES = {"ff": "h^FF", "lmcut": "h^LMcut", "hmax": "h^max", "blind": "h^blind", "none": "none"}


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """A configuration: how sigma is found, what the model corrects, and the lower bound."""

    sigma: str  # learn, fixed
    base: str  # ff, none, lmcut
    lower: str = "lmcut"  # lmcut, hmax, blind

    def __str__(self) -> str:
        return f"{self.sigma}/{NAMES[self.base]}"


@dataclass(frozen=True, slots=True)
class Configured:
    """A column of a table: a baseline (`group` None, `variant` its name) or a learned variant."""

    variant: str
    group: ColumnGroup | None = None


@dataclass(frozen=True)
class PublishedTable:
    """`metrics` are the sections of the table: mse, nll, coverage, evaluations. `cells` maps
    (metric, domain, column) to what is printed, None for an empty cell."""

    number: int
    model: str  # nlm, hgn, linear
    caption: str
    metrics: tuple[str, ...]
    columns: tuple[Configured, ...]
    cells: dict[tuple[str, str, Configured], Spread | None]

    @property
    def groups(self) -> tuple[ColumnGroup, ...]:
        return tuple(dict.fromkeys(c.group for c in self.columns if c.group is not None))


LEARN_FF = ColumnGroup("learn", "ff")
GRID = ("learn/ff/lmcut", "learn/none/lmcut", "fixed/ff/lmcut", "fixed/none/lmcut")
METRICS = {1: ("mse",), 2: ("coverage", "evaluations")}  # by the number of sections


def _table(number: int, held: dict[str, Any], numbers: str) -> PublishedTable:
    sections = numbers.strip().split("\n\n")
    metrics = tuple(held.get("metrics", METRICS[len(sections)]))
    groups = [ColumnGroup(*text.split("/")) for text in held.get("groups", GRID)]
    columns = (
        *map(Configured, ["ff"] if "coverage" in metrics else ["ff", "lmcut"]),
        *(Configured(variant, group) for group in groups for variant in VARIANTS),
        *map(Configured, held.get("extra", ())),
    )
    cells = {
        (metric, domain, column): row[column]
        for metric, section in zip(metrics, sections, strict=True)
        for domain, row in read_rows(columns, section).items()
        for column in columns
    }
    about = held.get("model", "nlm"), held["caption"]
    return PublishedTable(number, *about, metrics, columns, cells)


_HELD = read_toml(__file__, "published.toml")
TABLES = {
    int(number): _table(int(number), one, _HELD[str(one.get("numbers_of", number))]["numbers"])
    for number, one in _HELD.items()
}


def published_value(metric: str, domain: str, column: Configured, model: str) -> Spread | None:
    """The paper's number, from the first table that has it."""
    for table in TABLES.values():
        if table.model == model or column.group is None:
            value = table.cells.get((metric, domain, column))
            if value is not None:
                return value
    return None


LOSSES = {"N": "gaussian", "N+clip": "gaussian", "TN": "truncated-gaussian"}
HUGE = 1e5  # beyond, a number is printed with its power of ten

_KEYS = ["domain", "sigma", "base", "lower", "seed"]
METRICS_COLUMNS = [*_KEYS, "model", "loss", "mse", "mse_clip", "nll", "nll_clip"]
PLANNING_COLUMNS = [*_KEYS, "problem", "model", "variant", "solved", "evaluations"]
CURVES_COLUMNS = [*_KEYS, "loss", "step", "val_mse"]


@dataclass(frozen=True)
class Frames:
    """What was measured; either frame may be None or empty. Raises ValueError if a column is
    missing."""

    metrics: pl.DataFrame | None = None
    planning: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        check_columns(self.metrics, METRICS_COLUMNS, "metrics")
        check_columns(self.planning, PLANNING_COLUMNS, "planning")

    def value(self, metric: str, domain: str, column: Configured, model: str) -> Spread | None:
        """Mean and deviation over seeds; None where nothing was measured."""
        planning = metric in ("coverage", "evaluations")
        frame = self.planning if planning else self.metrics
        if frame is None or frame.is_empty() or (metric == "nll" and column.group is None):
            return None
        own = frame.filter(frame["domain"] == domain)
        if column.variant in NAMES:
            own = own.filter(own["model"] == column.variant)
        else:
            name, kind = (
                ("variant", column.variant) if planning else ("loss", LOSSES[column.variant])
            )
            own = own.filter((own["model"] == model) & (own[name] == kind))
        if column.group is not None:
            own = in_group(own, column.group, bound_matters=column.variant != "N")
        clipped = not planning and column.variant == "N+clip"
        known_as = {"coverage": "solved"}.get(metric, f"{metric}_clip" if clipped else metric)
        return summarize(metric, own.drop_nulls(known_as), known_as)


def in_group(frame: pl.DataFrame, group: ColumnGroup, *, bound_matters: bool) -> pl.DataFrame:
    """The rows of a configuration. A Gaussian that is not clipped never sees its lower bound; where
    it was trained once and not for each bound again, those rows are meant."""
    own = frame.filter((frame["sigma"] == group.sigma) & (frame["base"] == group.base))
    exact = own.filter(own["lower"] == group.lower)
    if bound_matters or exact.height or not own.height:
        return exact
    return own.filter(own["lower"] == own["lower"].sort()[0])


def summarize(metric: str, rows: pl.DataFrame, column: str) -> Spread | None:
    """Mean and deviation of one number per seed, in the order of seeds."""
    import polars as pl

    by_seed = rows.group_by("seed").agg(pl.col(column).cast(pl.Float64).mean()).sort("seed")
    values = by_seed[column].to_list()
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    finite = len(values) > 1 and all(map(math.isfinite, values))
    std = statistics.stdev(values) if finite else None
    return Spread(mean, std, shown=format_value(metric, mean, std))


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


def learning_curves(
    curves: pl.DataFrame, domain: str, loss: str, group: ColumnGroup
) -> pl.DataFrame:
    """The rows of one curve per seed, of NLM where the frame tells models apart."""
    own = curves.filter((curves["domain"] == domain) & (curves["loss"] == loss))
    if "model" in own.columns:
        own = own.filter(own["model"] == "nlm")
    return in_group(own, group, bound_matters=loss != "gaussian")


def check_columns(frame: pl.DataFrame | None, columns: Sequence[str], name: str) -> None:
    """Raises ValueError naming what is missing; a frame without rows may have no columns."""
    missing = [] if frame is None or frame.is_empty() else set(columns) - set(frame.columns)
    if missing:
        raise ValueError(f"the {name} frame has no column {', '.join(sorted(missing))}")


def claims(
    metrics: pl.DataFrame | None,
    planning: pl.DataFrame | None,
    curves: pl.DataFrame | None = None,
) -> list[Claim]:
    """The paper's claims with verdicts. Raises ValueError for a frame that lacks a column."""
    check_columns(curves, CURVES_COLUMNS, "curves")
    measured = Frames(metrics, planning)
    found = []
    for one in read_toml(__file__, "claims.toml").items():
        conclusion = replace(Conclusion.read(*one), name=_called)
        model = conclusion.about or "nlm"
        ours, theirs = (_look(value, model) for value in (measured.value, published_value))
        found.append(conclusion.judged((ours, DOMAINS), (theirs, DOMAINS)))
    verdict = judge([_converges(curves, domain) for domain in DOMAINS])
    text = "TN converges faster than N (validation MSE, learn/h^FF)"
    return [*found, Claim(text, *verdict, HOLDS, "Figure 2")]


def _look(value: Callable[[str, str, Configured, str], Spread | None], model: str) -> Look:
    """Numbers by the columns of claims.toml."""

    def look(metric: str, domain: str, column: str) -> Spread | None:
        variant, _, group = column.partition(":")
        of = ColumnGroup(*group.split("/")) if group else None
        names = ("N", "TN") if variant == "best" else (variant,)
        values = [value(metric or "mse", domain, Configured(one, of), model) for one in names]
        known = [one for one in values if one is not None]
        return max(known, key=lambda one: one.mean) if known else None

    return look


def _called(column: str) -> str:
    """Such as "TN learn/h^FF" for "TN:learn/ff"."""
    variant, _, group = column.partition(":")
    names = [NAMES.get(part, part) for part in group.split("/")]
    return f"{NAMES.get(variant, variant)} {'/'.join(names)}".rstrip()


def _converges(curves: pl.DataFrame | None, domain: str) -> Check:
    """TN below N in validation error at most of the training steps, means over seeds (Figure 2)."""
    if curves is None or curves.is_empty():
        return Check(None)
    means = []
    for loss in ("truncated-gaussian", "gaussian"):
        own = learning_curves(curves, domain, loss, LEARN_FF)
        means.append(dict(own.select("step", "val_mse").group_by("step").mean().iter_rows()))
    common = means[0].keys() & means[1].keys()
    if not common:
        return Check(None)
    lower = sum(means[0][step] < means[1][step] for step in common)
    return Check(lower * 2 > len(common), f"{domain} lower at {lower} of {len(common)} steps")


def _spread(numbers: Sequence[float], digits: int) -> str:
    texts = [f"{number:.{digits}f}" for number in numbers]
    return "±".join(re.sub(r"^(-?)0\.", r"\1.", text) for text in texts)


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
