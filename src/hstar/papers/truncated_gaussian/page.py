"""The page of an experiment: what was run, the paper's tables and figures, and what holds."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import numpy as np

from hstar.papers.truncated_gaussian.claims import claims
from hstar.papers.truncated_gaussian.figures import figure2
from hstar.papers.truncated_gaussian.published import TABLES
from hstar.papers.truncated_gaussian.recipe import Results
from hstar.papers.truncated_gaussian.scales import Scale
from hstar.papers.truncated_gaussian.tables import ComparedTable, build_tables
from hstar.papers.truncated_gaussian.variants import OURS
from hstar.report import Page, cactus, markdown_table, scatter, text_table

if TYPE_CHECKING:
    import polars as pl

ABOUT_LABELS = (
    "Errors are means over the test problems that A* with LM-cut solved within the limits, the "
    "easier ones; the paper's own set is larger because its limit was 30 minutes. Planning uses "
    "all chosen test problems, solved optimally or not."
)
OUR_LABEL = "learned (TN)"
FF_LABEL = "h^FF"


def measured_tables(results: Results) -> list[ComparedTable]:
    """The paper's tables in which at least one number is ours."""
    tables = build_tables(results.metrics, results.planning, tuple(TABLES))
    return [table for table in tables if table.measured]


def summary(results: Results) -> tuple[list[str], list[list[str]]]:
    """Headers and rows: what the learned heuristic is worth beside h^FF, by domain."""
    import polars as pl

    headers = ["domain", "heuristic", "solved", "mean evaluations", "median seconds"]
    rows = []
    for (domain,), group in _compared(results).group_by(["domain"], maintain_order=True):
        for label in (FF_LABEL, OUR_LABEL):
            own = group.filter(pl.col("label") == label)
            if own.is_empty():
                continue
            rows.append(
                [
                    str(domain),
                    label,
                    f"{own['solved'].sum()}/{len(own)}",
                    f"{_mean(own['evaluations']):.0f}",
                    f"{_median(own['search_time']):.3f}",
                ]
            )
    return headers, rows


def build_page(results: Results, scale: Scale, name: str, command: str, seconds: float) -> Page:
    page = Page(f"Learned heuristics: truncated Gaussians ({name})")
    page.add_text(
        "A heuristic is learned from optimal plans of small problems and used in greedy best-first "
        "search on larger ones. The learned value is the mean of a Gaussian truncated below at an "
        "admissible heuristic (Núñez-Molina, Asai, Mesejo and Fernández-Olivares, 2024). Training, "
        "validation and test problems are disjoint."
    )
    page.add_list(
        [
            f"command: {command}",
            f"machine: {platform.machine()}, {platform.system()}, Python "
            f"{platform.python_version()}; {seconds:.0f} s in all",
            f"{len(scale.seeds)} seed(s), training: {_training(scale)}",
            f"search: at most {scale.max_evaluations} evaluations; unsolved problems count as that",
        ]
    )
    page.add_heading("What the learned heuristic is worth")
    page.add_table(*summary(results))
    compared = _compared(results)
    page.add_figures(
        [
            (cactus(compared), "Problems solved within a number of evaluations."),
            (
                scatter(compared, FF_LABEL, OUR_LABEL),
                "Each test problem; below the diagonal the learned heuristic is better.",
            ),
        ]
    )
    failures = failed_runs(results)
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
    found = claims(results.metrics, results.planning, results.curves)
    page.add_table(
        ["claim", "here", "numbers", "in the paper"],
        [[c.text, c.verdict, c.numbers, c.paper_verdict] for c in found],
        text=True,
    )
    return page


def labelled(results: Results, scale: Scale) -> tuple[list[str], list[list[str]]]:
    """How many test problems have labels, and how many are planned for by each kind of model."""
    import polars as pl

    rows = []
    for domain in scale.domains:
        own = results.metrics.filter((pl.col("domain") == domain) & (pl.col("model") == "ff"))
        problems, states = (own[name][0] if len(own) else 0 for name in ("problems", "states"))
        rows.append([domain, str(problems), str(states)])
    planned = ", ".join(f"{count} ({model})" for model, count in scale.planning.items())
    return ["domain", "labelled test problems", "their states"], [
        *rows,
        ["planned for", planned, ""],
    ]


def failed_runs(results: Results) -> list[str]:
    """Runs that ended neither with a plan nor at a limit."""
    explained = ("solved", "unsolvable", "gave up")
    return [
        f"{row['domain']} {row['problem']}, {row['model']} {row['variant']}: {row['error']}"
        for row in results.planning.iter_rows(named=True)
        if row["error"] not in explained
    ]


def _training(scale: Scale) -> str:
    parts = [f"{model} {steps} steps" for model, steps in scale.steps.items()]
    if scale.epochs is not None:
        parts.append(f"nlm {scale.epochs} passes over its data")
    return ", ".join(parts)


def markdown(results: Results, scale: Scale) -> str:
    """All tables and claims as Markdown."""
    parts = [markdown_table(*summary(results)), ABOUT_LABELS]
    parts.append(markdown_table(*labelled(results, scale)))
    parts += [table.markdown() for table in measured_tables(results)]
    found = claims(results.metrics, results.planning, results.curves)
    parts.append(
        markdown_table(
            ["claim", "here", "numbers"], [[c.text, c.verdict, c.numbers] for c in found]
        )
    )
    return "\n\n".join(parts) + "\n"


def summary_text(results: Results) -> str:
    return text_table(*summary(results))


def _mean(numbers: pl.Series) -> float:
    return float(np.mean(numbers.to_numpy()))


def _median(numbers: pl.Series) -> float:
    return float(np.median(numbers.drop_nulls().to_numpy()))


def _compared(results: Results) -> pl.DataFrame:
    """The runs of h^FF and of the proposed configuration, as the plots take them."""
    import polars as pl

    ours = (
        (pl.col("model") == OURS.model)
        & (pl.col("variant") == "TN")
        & (pl.col("sigma") == OURS.sigma)
        & (pl.col("base") == OURS.base)
        & (pl.col("lower") == OURS.lower)
    )
    rows = results.planning.filter(ours | (pl.col("model") == "ff"))
    label = pl.when(pl.col("model") == "ff").then(pl.lit(FF_LABEL)).otherwise(pl.lit(OUR_LABEL))
    return rows.with_columns(label.alias("label"), pl.col("solved").alias("coverage"))
