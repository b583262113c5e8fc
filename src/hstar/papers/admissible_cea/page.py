"""The page of the admissible-cea recipe: tables, figures, and mean against bytes for each space."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hstar.experiments.report import Page
from hstar.papers.admissible_cea import figures
from hstar.papers.admissible_cea.frontier import frontier, leading_table, whole_table
from hstar.papers.admissible_cea.published import FIGURE_OF, TABLE_4
from hstar.papers.admissible_cea.recipe import Experiment, Results, Row
from hstar.papers.admissible_cea.scales import CE, CEA, PHASES
from hstar.papers.admissible_cea.tables import build_tables, likeliest_heuristics
from hstar.papers.page import begin_page, planning_table, write_page
from hstar.papers.tables import Table
from hstar.runtime.atomic import write_atomically

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


def main_tables(results: Results) -> list[Table]:
    """The paper's, then mean against bytes of each space, then planning."""
    leading = [leading_table(results, name) for name in spaces(results)]
    return [*build_tables(results), *leading, *planning_tables(results)]


def planning_tables(results: Results) -> list[Table]:
    return [planning_table(results.compared)] if results.compared else []


def spaces(results: Results) -> list[str]:
    """Those with classical tables to compare with."""
    return [name for name, rows in results.classical.items() if rows]


def build_page(results: Results, scale: str, command: str, seconds: float) -> Page:
    title = f"Admissible learned heuristics: pattern databases and the CEA loss ({scale})"
    page = begin_page(title, INTRODUCTION, command, seconds, trained(results))
    for table in planning_tables(results):
        page.add_heading("What the learned heuristics are worth")
        page.add_text(ABOUT_PLANNING)
        table.add_to(page)
    page.add_heading("Mean against bytes")
    for name in spaces(results):
        base = results.tables[name]["total"] - results.tables[name]["mean"]
        figure = figures.frontier_figure(frontier(results, name), name, base)
        page.add_figure(figure, f"{name}: mean by size.")
        leading_table(results, name).add_to(page)
        whole_table(results, name).add_to(page)
    page.add_heading("The paper's tables")
    for table in build_tables(results):
        table.add_to(page)
    page.add_heading("The paper's figures")
    page.add_heading("Figure 2: generalisation error", level=3)
    page.add_figures(
        (figures.figure_2(rows, name), f"{name}: {generalisation_text(rows)}")
        for name, rows in results.generalisation.items()
    )
    page.add_text(ABOUT_FIGURE_2)
    add_phases(page, results)
    add_overestimates(page, results)
    return page


def trained(results: Results) -> Iterator[str]:
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


def add_phases(page: Page, results: Results) -> None:
    curves = {
        name: networks[PHASES]["curve"]
        for name, networks in results.networks.items()
        if PHASES in networks
    }
    page.add_heading("Figure 5: beta and eta during training", level=3)
    if curves:
        page.add_figure(figures.figure_5(curves), "Both are halved when progress stalls.")
    ends = "; ".join(f"{name} {beta:g}, {eta:g}" for name, (beta, eta) in TABLE_4.items())
    ours = "; ".join(f"{name} {c[-1][-2]:g}, {c[-1][-1]:g}" for name, c in curves.items())
    page.add_text(
        f"The paper lowers both by hand whenever progress stalls; its Table 4 has beta, eta: "
        f"{ends}. Here a rule does it, and training ended with: {ours or 'nothing learned yet'}."
    )


def add_overestimates(page: Page, results: Results) -> None:
    page.add_heading("Figures 6 to 9: overestimated states", level=3)
    fewer = []
    for name in dict.fromkeys([*spaces(results), *FIGURE_OF]):
        found = likeliest_heuristics(results, name)
        by_loss = {label.upper(): found[label] for label in (CEA, CE) if label in found}
        number = f"Figure {FIGURE_OF[name]}" if name in FIGURE_OF else "As Figures 6 to 9"
        if not by_loss:
            page.add_text(f"{number}, {name}: not learned.")
            continue
        rates = (f"{k} {one['rate']:.1e} of {one['states']:,} states" for k, one in by_loss.items())
        pairs = {loss: row["overestimates"] for loss, row in by_loss.items()}
        caption = f"{number}, {name}: overestimated {', '.join(rates)}."
        page.add_figure(figures.overestimates(pairs, name), caption)
        if len(by_loss) == 2 and by_loss["CEA"]["rate"]:
            ratio = by_loss["CE"]["rate"] / by_loss["CEA"]["rate"]
            fewer.append(f"{ratio:.1f} times fewer in {name}")
    page.add_text(
        "The paper: with CEA far fewer states are overestimated than with CE, and by less. "
        f"Here, {', '.join(fewer) or 'both losses have not been compared'}."
    )


def write_results(
    results: Results, experiment: Experiment, scale: str, command: str, seconds: float
) -> list[str]:
    """report.html, tables.md, rows.json and a CSV file per table; returns their names. Raises
    OSError."""
    directory, tables = experiment.directory, main_tables(results)
    page = build_page(results, scale, command, seconds)
    names = write_page(directory, page, (table.markdown() for table in tables))
    write_atomically(directory / "rows.json", json.dumps(results.to_dict(), indent=1) + "\n")
    folder = directory / "csv"
    folder.mkdir(exist_ok=True)
    for table in [*tables, *(whole_table(results, name) for name in spaces(results))]:
        write_atomically(folder / f"{table.name}.csv", table.csv())
    return [*names, "rows.json", "csv"]


def summary_text(results: Results) -> str:
    """For the terminal: Table 2, and planning."""
    tables = [build_tables(results)[1], *planning_tables(results)]
    return "\n\n".join(table.text() for table in tables)
