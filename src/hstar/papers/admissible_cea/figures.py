"""The figures of the admissible-cea paper from our runs: 2, 5, 6 to 9, and mean against bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hstar.experiments.report import COLOURS, new_figure
from hstar.papers.admissible_cea.scales import MB, TABLE_2
from hstar.papers.admissible_cea.tables import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, RED, GREY = (COLOURS[i] for i in (0, 1, 3, -1))
DELTA = 0.05  # the bound of Figure 2 holds with probability 1 - DELTA
Rows = Sequence[dict[str, Any]]


def figure_2(rows: Rows, title: str) -> Figure:
    """Generalisation error by number of training states, with the bound of Theorem 4."""
    figure, (axes,) = new_figure(5.4, 3.6)
    sizes = sorted({row["samples"] for row in rows})
    for kind, colour, label in (
        ("state", BLUE, "excess of the state itself"),
        ("path", ORANGE, "largest on an optimal path"),
    ):
        drawn = _columns(_errors(rows, kind))
        axes.plot(*drawn, marker="o", markersize=4, color=colour, label=label)
    states, highest = rows[0]["states"], rows[0]["range"]
    bound = [inadmissibility_error(states, size, highest, DELTA) for size in sizes]
    axes.plot(sizes, bound, linestyle="dashed", color=GREY, label="bound of Theorem 4")
    start = mean_error(rows, sizes[0], "state")
    if start > 0:
        guide = [start * math.sqrt(sizes[0] / size) for size in sizes]
        axes.plot(sizes, guide, linestyle="dotted", color=GREY, label="falling as 1/sqrt(N)")
    axes.set(xscale="log", yscale="log", xlabel="training states N", ylabel="generalisation error")
    axes.set_title(title)
    axes.legend(fontsize=7, frameon=False)
    return figure


def inadmissibility_error(states: int, samples: int, range_: float, delta: float) -> float:
    """Theorem 4: the expected inadmissibility exceeds the mean over N instances by at most O~(H
    sqrt((n + log(1 / delta)) / N)), here with constant 1 and no logarithmic factors. By Theorem 3
    the same bounds the expected suboptimality of A* with reopening."""
    return range_ * math.sqrt((states + math.log(1 / delta)) / samples)


def mean_error(rows: Rows, size: int, kind: str) -> float:
    """|mean of all states - mean of the training states|, the mean over seeds; kind state, path."""
    errors: list[float] = [
        abs(row[f"{kind}_whole"] - row[f"{kind}_sample"]) for row in rows if row["samples"] == size
    ]
    return sum(errors) / len(errors)


def decay(rows: Rows) -> float | None:
    """The exponent e of the best fit error = c N^e (the excess of states); None of too few."""
    sizes, errors = np.log(_columns(_errors(rows, "state")))
    return None if len(sizes) < 2 else float(np.polyfit(sizes, errors, 1)[0])


def _errors(rows: Rows, kind: str) -> list[tuple[float, float]]:
    """The number of training states and the error, where there is one."""
    sizes = sorted({row["samples"] for row in rows})
    means = [(size, mean_error(rows, size, kind)) for size in sizes]
    return [(size, error) for size, error in means if error > 0]


def figure_5(curves: dict[str, list[list[float]]]) -> Figure:
    """beta and eta over time, a panel per database; a curve has [step, ..., beta, eta]."""
    figure, panels = new_figure(3.2 * len(curves), 2.6, 1, len(curves))
    for axes, (name, curve) in zip(panels, curves.items(), strict=True):
        steps = [line[0] for line in curve]
        for place, label, colour in ((-2, "beta", BLUE), (-1, "eta", ORANGE)):
            axes.step(steps, [line[place] for line in curve], label=label, color=colour)
        axes.set(yscale="log", title=name, xlabel="training step")
    panels[0].legend(fontsize=8, frameon=False)
    return figure


def overestimates(by_loss: dict[str, list[list[int]]], title: str) -> Figure:
    """Figures 6 to 9: predictions of overestimated states by exact value, a panel per loss. Each
    list has [exact value, predicted value, states]."""
    figure, panels = new_figure(3.8 * len(by_loss), 3.0, 1, len(by_loss))
    for axes, (loss, pairs) in zip(panels, by_loss.items(), strict=True):
        _boxes(axes, pairs)
        axes.set(title=f"{title}, {loss}", xlabel="exact value", ylabel="predicted value")
    return figure


def _boxes(axes: Axes, pairs: list[list[int]]) -> None:
    exact = sorted({pair[0] for pair in pairs})
    if not exact:
        axes.text(0.5, 0.5, "no state is overestimated", ha="center", transform=axes.transAxes)
        return
    boxes, highest = [], max(pair[1] for pair in pairs)
    shares = {"whislo": 0.0, "q1": 0.25, "med": 0.5, "q3": 0.75, "whishi": 1.0}
    above: dict[str, Any] = {"textcoords": "offset points", "xytext": (0, 4), "rotation": 90}
    for value in exact:
        found = sorted((guess, count) for own, guess, count in pairs if own == value)
        boxes.append({name: quantile(found, share) for name, share in shares.items()})
        text = f"n={sum(count for _, count in found):,}"
        at = (value, found[-1][0])
        axes.annotate(text, at, **above, ha="center", va="bottom", fontsize=5.5)
    colours: Any = {name: {"color": BLUE} for name in ("boxprops", "whiskerprops", "capprops")}
    colours["medianprops"] = {"color": RED}
    axes.bxp(boxes, positions=exact, showfliers=False, widths=0.6, **colours)
    axes.plot([exact[0], exact[-1]], [exact[0], exact[-1]], color=GREY, linewidth=0.6)
    axes.set_ylim(exact[0] - 0.5, highest + 0.35 * (highest - exact[0] + 1))
    step = max(1, len(exact) // 10)
    axes.set_xticks(exact[::step], [str(value) for value in exact[::step]])


def quantile(counted: Sequence[tuple[int, int]], share: float) -> int:
    """Of values with counts, ascending: the first at which `share` of all is reached."""
    reached = np.cumsum([count for _, count in counted])
    return counted[int(np.searchsorted(reached, share * reached[-1]))][0]


def frontier_figure(points: Sequence[Point], name: str, base: float = 0.0) -> Figure:
    """Mean by bytes: classical tables, certified networks, and the paper's where it has them.
    `base` is the mean to add to a difference."""
    figure, (axes,) = new_figure(5.4, 3.6)

    def draw(drawn: Sequence[tuple[float, float]], label: str, **style: Any) -> None:
        axes.plot(*_columns(drawn), linestyle="none", label=label, **style)

    networks, classical = (
        [(point.num_bytes, point.mean) for point in points if point.learned is learned]
        for learned in (True, False)
    )
    draw(classical, "classical tables", marker=".", color=GREY)
    best: list[tuple[float, float]] = []  # those that no smaller classical table reaches
    for size, mean in sorted(classical, key=lambda one: (one[0], -one[1])):
        best += [(size, mean)] if not best or mean > best[-1][1] else []
    axes.step(*_columns(best), where="post", color=GREY, linewidth=1.0)
    draw(networks, "certified networks", marker="*", markersize=9, color=BLUE)
    printed = TABLE_2.get(name)
    if printed:
        for row, marker, label in (
            (printed.cea, "o", f"paper, CEA ({printed.cea.rate:.0e} overestimated)"),
            (printed.compressed, "s", "paper, compressed"),
        ):
            place = [(row.size * MB, row.mean + base)]
            draw(place, label, marker=marker, markerfacecolor="none", color=ORANGE)
    axes.set(xscale="log", xlabel="bytes", ylabel="mean heuristic", title=name)
    axes.legend(fontsize=7, loc="lower right", frameon=False)
    return figure


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
