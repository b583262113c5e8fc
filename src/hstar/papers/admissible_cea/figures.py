"""The figures of the admissible-cea paper from our runs: 2, 5, 6 to 9, and mean against bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hstar.papers.admissible_cea.frontier import Point
from hstar.papers.admissible_cea.published import MB, TABLE_2
from hstar.report import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#777777"
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
        means = [(size, mean_error(rows, size, kind)) for size in sizes]
        drawn = [(size, error) for size, error in means if error > 0]
        axes.plot(*_columns(drawn), marker="o", markersize=4, color=colour, label=label)
    first = rows[0]
    bound = [
        (size, inadmissibility_error(first["states"], size, first["range"], DELTA))
        for size in sizes
    ]
    axes.plot(*_columns(bound), linestyle="dashed", color=GREY, label="bound of Theorem 4")
    start = mean_error(rows, sizes[0], "state")
    if start > 0:
        guide = [(size, start * math.sqrt(sizes[0] / size)) for size in sizes]
        axes.plot(*_columns(guide), linestyle="dotted", color=GREY, label="falling as 1/sqrt(N)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("training states N")
    axes.set_ylabel("generalisation error")
    axes.set_title(title)
    axes.legend(fontsize=7, frameon=False)
    return figure


def inadmissibility_error(states: int, samples: int, range_: float, delta: float) -> float:
    """Theorem 4: the expected inadmissibility exceeds the mean over N instances by at most
    O~(H sqrt((n + log(1 / delta)) / N)), here with constant 1 and no logarithmic factors.

    By Theorem 3 the same bounds the expected suboptimality of A* with reopening.
    """
    return range_ * math.sqrt((states + math.log(1 / delta)) / samples)


def mean_error(rows: Rows, size: int, kind: str) -> float:
    """|mean of all states - mean of the training states|, the mean over seeds; kind state, path."""
    errors: list[float] = [
        abs(row[f"{kind}_whole"] - row[f"{kind}_sample"]) for row in rows if row["samples"] == size
    ]
    return sum(errors) / len(errors)


def decay(rows: Rows) -> float | None:
    """The exponent e of the best fit error = c N^e (the excess of states); None of too few."""
    sizes = sorted({row["samples"] for row in rows})
    points = [
        (math.log(size), math.log(error))
        for size in sizes
        if (error := mean_error(rows, size, "state")) > 0
    ]
    if len(points) < 2:
        return None
    x = sum(point[0] for point in points) / len(points)
    y = sum(point[1] for point in points) / len(points)
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def figure_5(curves: dict[str, list[list[float]]]) -> Figure:
    """beta and eta over time, a panel per database; a curve has [step, ..., beta, eta]."""
    figure, panels = new_figure(3.2 * len(curves), 2.6, 1, len(curves))
    for axes, (name, curve) in zip(panels, curves.items(), strict=True):
        steps = [line[0] for line in curve]
        for place, label, colour in ((-2, "beta", BLUE), (-1, "eta", ORANGE)):
            axes.step(steps, [line[place] for line in curve], label=label, color=colour)
        axes.set_yscale("log")
        axes.set_title(name)
        axes.set_xlabel("training step")
    panels[0].legend(fontsize=8, frameon=False)
    return figure


def overestimates(by_loss: dict[str, list[list[int]]], title: str) -> Figure:
    """Figures 6 to 9: predictions of overestimated states by exact value, a panel per loss.

    Each list has [exact value, predicted value, states].
    """
    figure, panels = new_figure(3.8 * len(by_loss), 3.0, 1, len(by_loss))
    for axes, (loss, pairs) in zip(panels, by_loss.items(), strict=True):
        _boxes(axes, pairs)
        axes.set_title(f"{title}, {loss}")
        axes.set_xlabel("exact value")
        axes.set_ylabel("predicted value")
    return figure


def _boxes(axes: Axes, pairs: list[list[int]]) -> None:
    exact = sorted({pair[0] for pair in pairs})
    if not exact:
        axes.text(0.5, 0.5, "no state is overestimated", ha="center", transform=axes.transAxes)
        return
    boxes, highest = [], max(pair[1] for pair in pairs)
    for value in exact:
        found = sorted((guess, count) for own, guess, count in pairs if own == value)
        boxes.append(
            {
                "whislo": found[0][0],
                "q1": quantile(found, 0.25),
                "med": quantile(found, 0.5),
                "q3": quantile(found, 0.75),
                "whishi": found[-1][0],
            }
        )
        axes.annotate(
            f"n={sum(count for _, count in found):,}",
            (value, found[-1][0]),
            textcoords="offset points",
            xytext=(0, 4),
            ha="center",
            va="bottom",
            fontsize=5.5,
            rotation=90,
        )
    axes.bxp(
        boxes,
        positions=exact,
        showfliers=False,
        widths=0.6,
        boxprops={"color": BLUE},
        whiskerprops={"color": BLUE},
        capprops={"color": BLUE},
        medianprops={"color": RED},
    )
    axes.plot([exact[0], exact[-1]], [exact[0], exact[-1]], color=GREY, linewidth=0.6)
    axes.set_ylim(exact[0] - 0.5, highest + 0.35 * (highest - exact[0] + 1))
    step = max(1, len(exact) // 10)
    axes.set_xticks(exact[::step], [str(value) for value in exact[::step]])


def quantile(counted: Sequence[tuple[int, int]], share: float) -> int:
    """Of values with counts, ascending: the first at which `share` of all is reached."""
    wanted = share * sum(count for _, count in counted)
    reached = 0
    for value, count in counted:
        reached += count
        if reached >= wanted:
            return value
    raise ValueError("no values")


def frontier_figure(points: Sequence[Point], name: str, base: float = 0.0) -> Figure:
    """Mean by bytes: classical tables, certified networks, and the paper's where it has them.

    `base` is the mean that a difference is to be added to.
    """
    figure, (axes,) = new_figure(5.4, 3.6)
    classical = [(p.num_bytes, p.mean) for p in points if not p.learned]
    networks = [(p.num_bytes, p.mean) for p in points if p.learned]
    style: dict[str, Any] = {"linestyle": "none"}
    axes.plot(*_columns(classical), marker=".", color=GREY, label="classical tables", **style)
    best = [(p.num_bytes, p.mean) for p in leading([p for p in points if not p.learned])]
    axes.step(*_columns(best), where="post", color=GREY, linewidth=1.0)
    axes.plot(
        *_columns(networks),
        marker="*",
        markersize=9,
        color=BLUE,
        label="certified networks",
        **style,
    )
    printed = TABLE_2.get(name)
    if printed:
        for row, marker, label in (
            (printed.cea, "o", f"paper, CEA ({printed.cea.rate:.0e} overestimated)"),
            (printed.compressed, "s", "paper, compressed"),
        ):
            size = row.size * MB
            axes.plot(
                [size],
                [row.mean + base],
                marker=marker,
                markerfacecolor="none",
                color=ORANGE,
                label=label,
                **style,
            )
    axes.set_xscale("log")
    axes.set_xlabel("bytes")
    axes.set_ylabel("mean heuristic")
    axes.set_title(name)
    axes.legend(fontsize=7, loc="lower right", frameon=False)
    return figure


def leading(points: Sequence[Point]) -> list[Point]:
    """Those that nothing of their own kind, no larger, reaches; by size."""
    found: list[Point] = []
    for point in sorted(points, key=lambda one: (one.num_bytes, -one.mean)):
        if not found or point.mean > found[-1].mean:
            found.append(point)
    return found


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
