"""The page of an experiment: what was run, the paper's tables and figures, and what holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.experiments.report import Page, cactus, markdown_table, new_figure, scatter
from hstar.experiments.report.plots import COLOURS
from hstar.papers.page import FF, begin_page, planning_table, write_page
from hstar.papers.tables import Table
from hstar.papers.truncated_gaussian.claims import claims
from hstar.papers.truncated_gaussian.measured import CURVES_COLUMNS, check_columns, learning_curves
from hstar.papers.truncated_gaussian.published import DOMAINS, LEARN_FF
from hstar.papers.truncated_gaussian.recipe import Experiment, Results
from hstar.papers.truncated_gaussian.scales import Scale
from hstar.papers.truncated_gaussian.tables import build_tables

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

INTRODUCTION = (
    "A heuristic is learned from optimal plans of small problems and used in greedy best-first "
    "search on larger ones. The learned value is the mean of a Gaussian truncated below at an "
    "admissible heuristic (Núñez-Molina, Asai, Mesejo and Fernández-Olivares, 2024). Training, "
    "validation and test problems are disjoint."
)
ABOUT_LABELS = (
    "Errors are means over the test problems that A* with LM-cut solved within the limits, the "
    "easier ones; the paper's own set is larger because its limit was 30 minutes. Planning uses "
    "all chosen test problems, solved optimally or not."
)
LOSSES = {"gaussian": "Gaussian", "truncated-gaussian": "truncated Gaussian"}
EXPLAINED = ("solved", "unsolvable", "gave up")


def measured_tables(results: Results) -> list[Table]:
    """The paper's tables in which at least one number is ours."""
    tables = build_tables(results.metrics, results.planning)
    return [table for table in tables if table.measured]


def build_page(results: Results, scale: Scale, name: str, command: str, seconds: float) -> Page:
    training = [f"{model} {steps} steps" for model, steps in scale.steps.items()]
    if scale.epochs is not None:
        training.append(f"nlm {scale.epochs} passes over its data")
    facts = [
        f"{len(scale.seeds)} seed(s), training: {', '.join(training)}",
        f"search: at most {scale.max_evaluations} evaluations, but not for the default planner; "
        "in the paper's tables unsolved problems count as that",
    ]
    title = f"Learned heuristics: truncated Gaussians ({name})"
    page = begin_page(title, INTRODUCTION, command, seconds, facts)
    page.add_heading("What the learned heuristic is worth")
    planning_table(results.compared).add_to(page)
    rows, learned = results.compared.rows, results.compared.labels[0]
    better = "Each test problem; below the diagonal the learned heuristic is better."
    page.add_figures(
        [
            (cactus(rows), "Problems solved within a number of evaluations."),
            (cactus(rows, "search_time"), "Problems solved within a number of seconds."),
            (scatter(rows, FF, learned), better),
        ]
    )
    failures = [
        f"{row['domain']} {row['problem']}, {row['model']} {row['variant']}: {row['error']}"
        for row in results.planning.iter_rows(named=True)
        if row["error"] not in EXPLAINED
    ]
    if failures:
        page.add_heading("Runs that failed")
        page.add_text("They count as unsolved above; their numbers say nothing about a heuristic.")
        page.add_list(failures)
    page.add_heading("Learning")
    page.add_figure(figure2(results.curves), "Figure 2 of the paper: error on validation problems.")
    page.add_heading("The paper's tables")
    page.add_text(ABOUT_LABELS)
    page.add_table(*labelled(results, scale))
    for table in measured_tables(results):
        table.add_to(page)
    page.add_heading("The paper's claims")
    page.add_table(*claims_table(results), text=True)
    return page


def figure2(curves: pl.DataFrame) -> Figure:
    """Validation error during training: a panel per domain that there are curves for (all four
    where there are none). For the columns see `measured`; raises ValueError if one is missing."""
    check_columns(curves, CURVES_COLUMNS, "curves")
    present = set() if curves.is_empty() else set(curves["domain"].unique())
    domains = [domain for domain in DOMAINS if domain in present] or list(DOMAINS)
    columns = min(2, len(domains))
    rows = -(-len(domains) // columns)
    figure, panels = new_figure(3.6 * columns, 2.6 * rows, rows, columns)
    for panel in panels[len(domains) :]:
        panel.set_axis_off()
    for axes, domain in zip(panels, domains, strict=False):
        for loss, colour in zip(LOSSES if present else (), COLOURS[1::-1], strict=False):
            own = learning_curves(curves, domain, loss, LEARN_FF)
            for i, seed in enumerate(sorted(own["seed"].unique())):
                line = own.filter(own["seed"] == seed).sort("step")
                points = line["step"].to_list(), line["val_mse"].to_list()
                label = LOSSES[loss] if i == 0 else None
                axes.plot(*points, color=colour, linewidth=0.9, alpha=0.8, label=label)
        axes.set(title=domain, yscale="log", xlabel="training step", ylabel="validation MSE")
    if panels[0].get_legend_handles_labels()[1]:
        panels[0].legend(fontsize=8, frameon=False)
    return figure


def claims_table(results: Results) -> tuple[list[str], list[list[str]]]:
    found = claims(results.metrics, results.planning, results.curves)
    lines = [[c.text, c.verdict, c.numbers, c.paper_verdict] for c in found]
    return ["claim", "here", "numbers", "in the paper"], lines


def labelled(results: Results, scale: Scale) -> tuple[list[str], list[list[str]]]:
    """How many test problems have labels, and how many are planned for by each kind of model."""
    rows = []
    for domain in scale.domains:
        own = results.metrics.filter(results.metrics["domain"] == domain)
        own = own.filter(own["model"] == "ff")
        rows.append([domain, *(str(own[name].sum()) for name in ("problems", "states"))])
    planned = ", ".join(f"{count} ({model})" for model, count in scale.planning.items())
    headers = ["domain", "labelled test problems", "their states"]
    return headers, [*rows, ["planned for", planned, ""]]


def write_results(
    results: Results, experiment: Experiment, scale: str, command: str, seconds: float
) -> list[str]:
    """The frames as Parquet files and the page; returns the names of the latter. Raises OSError."""
    for name in ("metrics", "planning", "curves"):
        with (experiment.directory / f"{name}.parquet").open("wb") as file:
            getattr(results, name).write_parquet(file)
    page = build_page(results, experiment.scale, scale, command, seconds)
    parts = [
        planning_table(results.compared).markdown(),
        ABOUT_LABELS,
        markdown_table(*labelled(results, experiment.scale)),
        *(table.markdown() for table in measured_tables(results)),
        markdown_table(*claims_table(results)),
    ]
    return write_page(experiment.directory, page, parts)


def summary_text(results: Results) -> str:
    """For the terminal: the learned heuristic beside h^FF and the default planner."""
    return planning_table(results.compared).text()
