"""The page: tables, figures, and mean against bytes for each space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hstar.experiments.report import Table
from hstar.experiments.study import Row, planning_table
from hstar.papers.admissible_cea import figures
from hstar.papers.admissible_cea.scales import CE, CEA, FIGURE_OF, PHASES, TABLE_4
from hstar.papers.admissible_cea.tables import (
    build_tables,
    frontier,
    leading_table,
    likeliest_heuristics,
    whole_table,
)

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

if TYPE_CHECKING:
    from hstar.papers.admissible_cea.study import PatternResults


def planning_tables(results: PatternResults) -> list[Table]:
    return [planning_table(results.compared)] if results.compared else []


def spaces(results: PatternResults) -> list[str]:
    """Those with classical tables to compare with."""
    return [name for name, rows in results.classical.items() if rows]


def parts(results: PatternResults) -> dict[str, Sequence[Any]]:
    """What planning is worth, mean against bytes of each space, then the paper's tables and
    figures."""
    planning = planning_tables(results)
    shown = [part for name in spaces(results) for part in _space(results, name)]
    curves = [
        (figures.figure_2(rows, name), f"{name}: {generalisation_text(rows)}")
        for name, rows in results.generalisation.items()
    ]
    return {
        "What the learned heuristics are worth": [ABOUT_PLANNING, *planning] if planning else (),
        "Mean against bytes": shown,
        "The paper's tables": build_tables(results),
        "The paper's figures": [
            "# Figure 2: generalisation error",
            tuple(curves),
            ABOUT_FIGURE_2,
            "# Figure 5: beta and eta during training",
            *_phases(results),
            "# Figures 6 to 9: overestimated states",
            *_overestimates(results),
        ],
    }


def _space(results: PatternResults, name: str) -> Iterator[Any]:
    base = results.tables[name]["total"] - results.tables[name]["mean"]
    figure = figures.frontier_figure(frontier(results, name), name, base)
    yield ((figure, f"{name}: mean by size."),)
    yield leading_table(results, name)
    yield whole_table(results, name)


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
    sizes, exponent = sorted({row["samples"] for row in rows}), figures.decay(rows)
    fit = "" if exponent is None else f", fitted exponent {exponent:.2f}"
    first, last = (figures.mean_error(rows, size, "state") for size in (sizes[0], sizes[-1]))
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
        yield ((figures.figure_5(curves), "Both are halved when progress stalls."),)
    ends = "; ".join(f"{name} {beta:g}, {eta:g}" for name, (beta, eta) in TABLE_4.items())
    ours = "; ".join(f"{name} {c[-1][-2]:g}, {c[-1][-1]:g}" for name, c in curves.items())
    yield (
        f"The paper lowers both by hand whenever progress stalls; its Table 4 has beta, eta: "
        f"{ends}. Here a rule does it, and training ended with: {ours or 'nothing learned yet'}."
    )


def _overestimates(results: PatternResults) -> Iterator[Any]:
    fewer = []
    for name in dict.fromkeys([*spaces(results), *FIGURE_OF]):
        found = likeliest_heuristics(results, name)
        by_loss = {label.upper(): found[label] for label in (CEA, CE) if label in found}
        number = f"Figure {FIGURE_OF[name]}" if name in FIGURE_OF else "As Figures 6 to 9"
        if not by_loss:
            yield f"{number}, {name}: not learned."
            continue
        rates = (f"{k} {one['rate']:.1e} of {one['states']:,} states" for k, one in by_loss.items())
        pairs = {loss: row["overestimates"] for loss, row in by_loss.items()}
        caption = f"{number}, {name}: overestimated {', '.join(rates)}."
        yield ((figures.overestimates(pairs, name), caption),)
        if len(by_loss) == 2 and by_loss["CEA"]["rate"]:
            ratio = by_loss["CE"]["rate"] / by_loss["CEA"]["rate"]
            fewer.append(f"{ratio:.1f} times fewer in {name}")
    yield (
        "The paper: with CEA far fewer states are overestimated than with CE, and by less. "
        f"Here, {', '.join(fewer) or 'both losses have not been compared'}."
    )
