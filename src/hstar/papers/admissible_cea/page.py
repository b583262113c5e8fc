"""The page: the tables, mean against bytes for each space, and Figures 2, 5 and 6 to 9."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hstar.experiments.report import (
    COLOURS,
    Table,
    draw_line,
    excess_figure,
    new_figure,
    panels,
)
from hstar.experiments.study import Claim, Row, planning_table
from hstar.papers.admissible_cea.scales import CE, CEA, FIGURE_OF, MB, PHASES, TABLE_4
from hstar.papers.admissible_cea.tables import (
    WORDS,
    PatternSpace,
    Point,
    build_tables,
    claims,
    compared_spaces,
    frontier,
    frontier_tables,
)
from hstar.pdb import inadmissibility_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hstar.papers.admissible_cea.study import PatternResults

BLUE, ORANGE, GREY = (COLOURS[i] for i in (0, 1, -1))
DELTA = 0.05  # the bound of Figure 2 holds with probability 1 - DELTA
Rows = Sequence[Row]


def planning_tables(results: PatternResults) -> list[Table]:
    return [planning_table(results.compared)] if results.compared else []


def parts(results: PatternResults) -> dict[str, Sequence[Any]]:
    """What planning is worth, mean against bytes of each space, then the paper's tables and
    figures."""
    planning = planning_tables(results)
    spaces = [PatternSpace.of(results, name) for name in compared_spaces(results)]
    points = results.generalisation.items()
    curves = [(figure_2(rows, name), generalisation_text(name, rows)) for name, rows in points]
    return {
        "What the learned heuristics are worth": [WORDS.text("planning"), *planning]
        * bool(planning),
        "Mean against bytes": [part for space in spaces for part in _space(space)],
        "The paper's tables": build_tables(results),
        "Claims": [Claim.table(claims(results), WORDS.text("claims"))],
        "The paper's figures": [
            "## Figure 2: generalisation error",
            tuple(curves),
            WORDS.text("about_figure_2"),
            "## Figure 5: beta and eta during training",
            *_phases(results),
            "## Figures 6 to 9: overestimated states",
            *_overestimates(results),
        ],
    }


def _space(space: PatternSpace) -> Iterator[Any]:
    points = frontier(space)
    yield ((frontier_figure(points, space), WORDS.text("frontier_figure", name=space.name)),)
    yield from frontier_tables(space.name, points)


def trained(results: PatternResults) -> Iterator[str]:
    """A line on every network: size, training, time."""
    for name, networks in results.networks.items():
        for label, one in networks.items():
            yield WORDS.text("trained", name=name, label=label, one=one, **one["options"])


def generalisation_text(name: str, rows: list[Row]) -> str:
    sizes, exponent = sorted({row["samples"] for row in rows}), decay(rows)
    fit = "" if exponent is None else f", fitted exponent {exponent:.2f}"
    errors = (mean_error(rows, size, "state") for size in (sizes[0], sizes[-1]))
    first, last = zip((sizes[0], sizes[-1]), errors, strict=True)
    return WORDS.text("figure_2", name=name, first=first, last=last, fit=fit)


def _phases(results: PatternResults) -> Iterator[Any]:
    curves = {
        name: networks[PHASES]["curve"]
        for name, networks in results.networks.items()
        if PHASES in networks
    }
    if curves:
        yield ((figure_5(curves), WORDS.text("figure_5")),)
    ends = "; ".join(f"{name} {beta:g}, {eta:g}" for name, (beta, eta) in TABLE_4.items())
    ours = "; ".join(f"{name} {c[-1][-2]:g}, {c[-1][-1]:g}" for name, c in curves.items())
    yield WORDS.text("about_figure_5", theirs=ends, ours=ours or "nothing learned yet")


def _overestimates(results: PatternResults) -> Iterator[Any]:
    for name in dict.fromkeys([*compared_spaces(results), *FIGURE_OF]):
        found = PatternSpace.of(results, name).likeliest
        by_loss = {label.upper(): found[label] for label in (CEA, CE) if label in found}
        number = f"Figure {FIGURE_OF[name]}" if name in FIGURE_OF else "As Figures 6 to 9"
        if not by_loss:
            yield f"{number}, {name}: not learned."
            continue
        rates = (f"{k} {one['rate']:.1e} of {one['states']:,} states" for k, one in by_loss.items())
        pairs = {loss: row["overestimates"] for loss, row in by_loss.items()}
        caption = f"{number}, {name}: overestimated {', '.join(rates)}."
        yield ((excess_figure(pairs, name), caption),)
    yield WORDS.text("about_figure_6")


def figure_2(rows: Rows, title: str) -> Figure:
    """Generalisation error by number of training states, with the bound of Theorem 4."""
    figure, (axes,) = new_figure(5.4, 3.6)
    sizes = sorted({row["samples"] for row in rows})
    for kind, colour, label in (
        ("state", BLUE, "excess of the state itself"),
        ("path", ORANGE, "largest on an optimal path"),
    ):
        look: dict[str, Any] = {"marker": "o", "markersize": 4, "color": colour, "label": label}
        draw_line(axes, _errors(rows, kind), **look)
    states, highest = rows[0]["states"], rows[0]["range"]
    bound = [inadmissibility_bound(states, size, highest, DELTA) for size in sizes]
    axes.plot(sizes, bound, linestyle="dashed", color=GREY, label="bound of Theorem 4")
    start = mean_error(rows, sizes[0], "state")
    if start > 0:
        guide = [start * math.sqrt(sizes[0] / size) for size in sizes]
        axes.plot(sizes, guide, linestyle="dotted", color=GREY, label="falling as 1/sqrt(N)")
    axes.set(xscale="log", yscale="log", xlabel="training states N", ylabel="generalisation error")
    axes.set_title(title)
    axes.legend(fontsize=7, frameon=False)
    return figure


def mean_error(rows: Rows, size: int, kind: str) -> float:
    """|mean of all states - mean of the training states|, the mean over seeds; kind state, path."""
    errors: list[float] = [
        abs(row[f"{kind}_whole"] - row[f"{kind}_sample"]) for row in rows if row["samples"] == size
    ]
    return sum(errors) / len(errors)


def decay(rows: Rows) -> float | None:
    """The exponent e of the best fit error = c N^e (the excess of states); None of too few."""
    errors = _errors(rows, "state")
    if len(errors) < 2:
        return None
    sizes, means = np.log(errors).T
    return float(np.polyfit(sizes, means, 1)[0])


def _errors(rows: Rows, kind: str) -> list[tuple[float, float]]:
    """The number of training states and the error, where there is one."""
    sizes = sorted({row["samples"] for row in rows})
    means = [(size, mean_error(rows, size, kind)) for size in sizes]
    return [(size, error) for size, error in means if error > 0]


def figure_5(curves: dict[str, list[list[float]]]) -> Figure:
    """beta and eta over time, a panel per database; a curve has [step, ..., beta, eta]."""

    def draw(axes: Axes, name: str) -> None:
        for place, label, colour in ((-2, "beta", BLUE), (-1, "eta", ORANGE)):
            points = [(line[0], line[place]) for line in curves[name]]
            draw_line(axes, points, drawstyle="steps-pre", label=label, color=colour)
        axes.set(yscale="log", title=name, xlabel="training step")

    return panels(list(curves), draw, len(curves), (3.2, 2.6), 8)


def frontier_figure(points: Sequence[Point], space: PatternSpace) -> Figure:
    """Mean by bytes: classical tables, certified networks, and the paper's where it has them, with
    the mean of the base of a difference."""
    figure, (axes,) = new_figure(5.4, 3.6)
    alone: dict[str, Any] = {"linestyle": "none"}
    networks, classical = (
        [(point.num_bytes, point.mean) for point in points if point.learned is learned]
        for learned in (True, False)
    )
    draw_line(axes, classical, **alone, label="classical tables", marker=".", color=GREY)
    # those that no smaller classical table reaches
    tables = frontier(replace(space, certified={}))
    best = [(point.num_bytes, point.mean) for point in tables if point.leads]
    draw_line(axes, best, drawstyle="steps-post", color=GREY, linewidth=1.0)
    stars: dict[str, Any] = {"marker": "*", "markersize": 9, "color": BLUE}
    draw_line(axes, networks, **alone, label="certified networks", **stars)
    exact = space.exact or {}
    for kind, marker, text in (
        ("cea", "o", "paper, CEA ({:.0e} overestimated)"),
        ("compressed", "s", "paper, compressed"),
    ):
        if space.printed:
            row = space.printed[kind]
            place = [(row["size"] * MB, row["mean"] + exact["total"] - exact["mean"])]
            look = {"marker": marker, "markerfacecolor": "none", "color": ORANGE}
            draw_line(axes, place, **alone, label=text.format(row["rate"]), **look)
    axes.set(xscale="log", xlabel="bytes", ylabel="mean heuristic", title=space.name)
    axes.legend(fontsize=7, loc="lower right", frameon=False)
    return figure
