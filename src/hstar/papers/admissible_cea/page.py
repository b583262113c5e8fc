"""The page: the tables, mean against bytes for each space, and Figures 2, 5 and 6 to 9."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hstar.experiments.report import COLOURS, Table, new_figure
from hstar.experiments.study import Row, planning_table
from hstar.papers.admissible_cea.scales import CE, CEA, FIGURE_OF, MB, PHASES, TABLE_4
from hstar.papers.admissible_cea.tables import (
    PatternSpace,
    Point,
    build_tables,
    compared_spaces,
    frontier,
    frontier_tables,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hstar.papers.admissible_cea.study import PatternResults

INTRODUCTION = (
    "Pattern databases are compressed into small networks. The paper trains them with a loss, CEA, "
    "that makes overestimates rare. Here every state is then looked at, those that are still "
    "overestimated are stored as exceptions, and a certificate in the file says that none is left: "
    "rows named 'certified' overestimate no state at all, and their sizes are those of whole "
    "files. Beside them stand the paper's own numbers and the strongest classical table of equal "
    "size: minima over groups in two orders, values of 2 bits, smaller patterns, symmetry classes."
)
ABOUT_PLANNING = (
    "A* finds cheapest plans, because neither tables nor certified networks overestimate. h^FF in "
    "greedy search and the default planner look for any plan; they read the same boards as PDDL."
)
ABOUT_FIGURE_2 = (
    "The paper shows, for the 8-corner database, an error that falls with the number N of training "
    "states, about as 1/sqrt(N), as its bound does. Here the excess max(h - h*, 0) of a state "
    "falls likewise, and faster once the training states cover the space. The largest excess on an "
    "optimal path, which Theorem 4 is about, is nearly the same for all states, because all paths "
    "end near the goal, so its error is small at every N. The bound, with constant 1, exceeds the "
    "largest possible value as long as N is below the number of states."
)
BLUE, ORANGE, RED, GREY = (COLOURS[i] for i in (0, 1, 3, -1))
DELTA = 0.05  # the bound of Figure 2 holds with probability 1 - DELTA
Rows = Sequence[Row]


def planning_tables(results: PatternResults) -> list[Table]:
    return [planning_table(results.compared)] if results.compared else []


def parts(results: PatternResults) -> dict[str, Sequence[Any]]:
    """What planning is worth, mean against bytes of each space, then the paper's tables and
    figures."""
    planning = planning_tables(results)
    spaces = [PatternSpace.of(results, name) for name in compared_spaces(results)]
    curves = [
        (figure_2(rows, name), f"{name}: {generalisation_text(rows)}")
        for name, rows in results.generalisation.items()
    ]
    return {
        "What the learned heuristics are worth": [ABOUT_PLANNING, *planning] if planning else (),
        "Mean against bytes": [part for space in spaces for part in _space(space)],
        "The paper's tables": build_tables(results),
        "The paper's figures": [
            "## Figure 2: generalisation error",
            tuple(curves),
            ABOUT_FIGURE_2,
            "## Figure 5: beta and eta during training",
            *_phases(results),
            "## Figures 6 to 9: overestimated states",
            *_overestimates(results),
        ],
    }


def _space(space: PatternSpace) -> Iterator[Any]:
    points = frontier(space)
    yield ((frontier_figure(points, space), f"{space.name}: mean by size."),)
    yield from frontier_tables(space.name, points)


def trained(results: PatternResults) -> Iterator[str]:
    """A line on every network: size, training, time."""
    for name, networks in results.networks.items():
        for label, one in networks.items():
            options = one["options"]
            shape = options["model_options"]
            yield (
                f"{name} {label}: {shape['hidden']}, {shape['width']} x {shape['blocks']} "
                f"blocks, {options['bits']} bits, {options['steps']} steps of {options['batch']}, "
                f"{one['seconds']:.0f} s"
            )


def generalisation_text(rows: list[Row]) -> str:
    sizes, exponent = sorted({row["samples"] for row in rows}), decay(rows)
    fit = "" if exponent is None else f", fitted exponent {exponent:.2f}"
    first, last = (mean_error(rows, size, "state") for size in (sizes[0], sizes[-1]))
    return (
        f"error of the excess {first:.3f} with {sizes[0]:,} training states, {last:.4f} with "
        f"{sizes[-1]:,}{fit}"
    )


def _phases(results: PatternResults) -> Iterator[Any]:
    curves = {
        name: networks[PHASES]["curve"]
        for name, networks in results.networks.items()
        if PHASES in networks
    }
    if curves:
        yield ((figure_5(curves), "Both are halved when progress stalls."),)
    ends = "; ".join(f"{name} {beta:g}, {eta:g}" for name, (beta, eta) in TABLE_4.items())
    ours = "; ".join(f"{name} {c[-1][-2]:g}, {c[-1][-1]:g}" for name, c in curves.items())
    yield (
        f"The paper lowers both by hand whenever progress stalls; its Table 4 has beta, eta: "
        f"{ends}. Here a rule does it, and training ended with: {ours or 'nothing learned yet'}."
    )


def _overestimates(results: PatternResults) -> Iterator[Any]:
    fewer = []
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
        yield ((overestimates(pairs, name), caption),)
        if len(by_loss) == 2 and by_loss["CEA"]["rate"]:
            ratio = by_loss["CE"]["rate"] / by_loss["CEA"]["rate"]
            fewer.append(f"{ratio:.1f} times fewer in {name}")
    yield (
        "The paper: with CEA far fewer states are overestimated than with CE, and by less. "
        f"Here, {', '.join(fewer) or 'both losses have not been compared'}."
    )


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


def frontier_figure(points: Sequence[Point], space: PatternSpace) -> Figure:
    """Mean by bytes: classical tables, certified networks, and the paper's where it has them, with
    the mean of the base of a difference."""
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
    exact = space.exact or {}
    for kind, marker, text in (
        ("cea", "o", "paper, CEA ({:.0e} overestimated)"),
        ("compressed", "s", "paper, compressed"),
    ):
        if space.printed:
            row = space.printed[kind]
            place = [(row["size"] * MB, row["mean"] + exact["total"] - exact["mean"])]
            look: dict[str, Any] = {"marker": marker, "markerfacecolor": "none", "color": ORANGE}
            draw(place, text.format(row["rate"]), **look)
    axes.set(xscale="log", xlabel="bytes", ylabel="mean heuristic", title=space.name)
    axes.legend(fontsize=7, loc="lower right", frameon=False)
    return figure


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
