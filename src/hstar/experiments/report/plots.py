"""Plots of runs: how many problems are solved within a limit, and one heuristic against another."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: Any = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
INK: str = STYLE["text.color"]  # black on paper and white on a dark screen

# Readable on white and on black, and told apart by most colour-blind readers (Okabe and Ito).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00", "#777777")
DASHES = ("solid", "dashed", "dotted", "dashdot")

NAMES = {"evaluations": "evaluations", "search_time": "search time in seconds"}
SMALLEST = {"evaluations": 1.0, "search_time": 1e-4}  # logarithms need something above zero


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """A figure in inches and its panels row by row, in the style of all reports."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def panels(
    names: Sequence[str],
    draw: Callable[[Axes, str], None],
    in_row: int,
    size: tuple[float, float],
    fontsize: float,
) -> Figure:
    """A panel of this size for each name, with one legend."""
    columns = min(in_row, max(1, len(names)))
    rows = max(1, -(-len(names) // columns))
    figure, axes = new_figure(size[0] * columns, size[1] * rows, rows, columns)
    for one in axes[len(names) :]:
        one.set_axis_off()
    for one, name in zip(axes, names, strict=False):
        draw(one, name)
    if axes[0].get_legend_handles_labels()[1]:
        axes[0].legend(fontsize=fontsize, frameon=False)
    return figure


def draw_line(axes: Axes, points: Iterable[Sequence[float]], **look: Any) -> None:
    """Points (x, y), joined or as the look says."""
    held = list(points)
    axes.plot([x for x, _ in held], [y for _, y in held], **look)


def cactus(rows: pl.DataFrame, column: str = "evaluations") -> Figure:
    """How many problems each heuristic has solved (y) within so many evaluations or seconds (x).

    `rows` are those of a Comparison. The line of a label with several runs of a problem, such as
    seeds, is their mean.
    """
    figure, (axes,) = new_figure(5.4, 3.6)
    solved: dict[str, list[float]] = {}
    share: dict[str, float] = {}  # what a run counts: 1 / runs per problem
    for (label,), own in rows.group_by("label", maintain_order=True):
        share[label] = own["instance"].n_unique() / max(own.height, 1)
        reached = own.filter(own["coverage"] == 1)[column]
        solved[label] = sorted(max(float(value), SMALLEST[column]) for value in reached)
    end = max((values[-1] for values in solved.values() if values), default=1.0)
    for i, (label, values) in enumerate(solved.items()):
        counts = [(k + 1) * share[label] for k in range(len(values))]
        total = counts[-1] if counts else 0.0
        axes.step(
            [*values, end],
            [*counts, total],
            where="post",
            label=f"{_plain(label)} ({total:.4g})",
            color=COLOURS[i % len(COLOURS)],
            linestyle=DASHES[i // len(COLOURS) % len(DASHES)],
            linewidth=1.4,
        )
    axes.set(xscale="log", xlabel=NAMES[column], ylabel="problems solved")
    axes.set_ylim(bottom=0)
    _legend(axes, len(solved))
    return figure


def scatter(rows: pl.DataFrame, first: str, second: str, column: str = "evaluations") -> Figure:
    """Each problem as a point: the first heuristic's number (x) against the second's (y).

    Below the diagonal the second is better. Unsolved problems lie on a line at the edge; what
    neither solved is left out. The axes say how often each was better. `rows` are as for `cactus`.
    Several runs of a problem are paired in their order, or each with the only other.
    """
    figure, (axes,) = new_figure(4.4, 4.2)
    points = _paired(rows, first, second, column)
    known = [value for _, *point in points for value in point if value < math.inf]
    low, high = min(known, default=1.0) / 1.5, max(known, default=10.0) * 1.5
    unsolved = high * (high / low) ** 0.08
    edge = unsolved * (high / low) ** 0.04
    domains = list(dict.fromkeys(domain for domain, _, _ in points))
    for i, domain in enumerate(domains):
        axes.plot(
            [min(x, unsolved) for name, x, _ in points if name == domain],
            [min(y, unsolved) for name, _, y in points if name == domain],
            linestyle="none",
            marker="ox+sD^v*"[i % 8],
            markersize=4,
            color=COLOURS[i % len(COLOURS)],
            label=_plain(domain),
            clip_on=False,
        )
    axes.set(xscale="log", yscale="log", xlim=(low, edge), ylim=(low, edge))
    axes.plot([low, high], [low, high], color=INK, linewidth=0.8, alpha=0.6)
    for draw in (axes.axvline, axes.axhline):
        draw(unsolved, color=INK, linewidth=0.6, linestyle="dotted")
    wins = sum(x < y for _, x, y in points), sum(y < x for _, x, y in points)
    axes.set_xlabel(f"{_plain(first)}: {NAMES[column]}\nbetter on {wins[0]}; dotted line: unsolved")
    axes.set_ylabel(f"{_plain(second)}: {NAMES[column]}\nbetter on {wins[1]}")
    axes.set_aspect("equal")
    _legend(axes, len(domains))
    return figure


def _plain(name: str) -> str:
    """A name as text: matplotlib takes what stands between dollars for a formula."""
    return name.replace("$", r"\$")


def _legend(axes: Axes, entries: int) -> None:
    if entries:
        size = 8 if entries <= 8 else 6
        axes.legend(fontsize=size, labelcolor=INK, frameon=False)


def _paired(
    rows: pl.DataFrame, first: str, second: str, column: str
) -> list[tuple[str, float, float]]:
    """(domain, x, y) for each problem that both ran on and one solved; inf where not solved."""
    found: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for domain, instance, label, coverage, value in rows.select(
        "domain", "instance", "label", "coverage", column
    ).iter_rows():
        if label in (first, second):
            number = max(float(value), SMALLEST[column]) if coverage else math.inf
            found.setdefault((domain, instance), ([], []))[label == second].append(number)
    points = []
    for (domain, _), (x, y) in found.items():
        x, y = x * len(y) if len(x) == 1 else x, y * len(x) if len(y) == 1 else y
        points += [(domain, *pair) for pair in zip(x, y, strict=False) if min(pair) < math.inf]
    return points
