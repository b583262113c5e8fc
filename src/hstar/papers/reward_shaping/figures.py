"""Figures 1, 3, 4 and 5: evaluations against the base, solved problems by size, goals by step."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Any

from hstar.experiments.report import COLOURS, Figures, panels, scatter
from hstar.experiments.study import Searches, TrialResults
from hstar.papers.reward_shaping.learners import BASES, BESIDE_BASE, COLUMNS, OWN, PRINTED, SHAPED
from hstar.papers.reward_shaping.tables import searches_of, trainings_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHAPE = (4, (2.8, 2.3), 6)  # panels in a row, size, size of letters
GRID = 100  # steps at which cumulative goals are drawn
ABOUT_RATES = (
    "Share of test problems solved (y) by number of objects (x), seeds together. A problem counts "
    "as solved if it took at most the evaluations in the title."
)
ABOUT_GOALS = (
    "Goals reached in training (y) up to a step (x), the mean of seeds; a problem may be solved "
    "more than once."
)


def figures(results: TrialResults) -> list[Figures]:
    """Those of the paper, in rows."""
    return [
        tuple(evaluation_figures(results)),
        ((rate_figure(results), f"Figures 1 (right) and 3. {ABOUT_RATES}"),),
        ((goals_figure(results), f"Figures 4 and 5. {ABOUT_GOALS}"),),
    ]


def evaluation_figures(results: TrialResults) -> list[tuple[Figure, str]]:
    """Figure 1, left: a plot for each learned column, all domains."""
    import polars as pl

    found = searches_of(results)
    rows = pl.DataFrame(
        [
            {
                "label": column,
                "domain": domain,
                "problem": row["problem"],
                "coverage": int(row["solved"]),
                "evaluations": found.cost(row),
            }
            for (domain, column), own in found.by_cell.items()
            for row in own
        ]
    )
    pairs = [(column, COLUMNS[column].base) for column in found.columns]
    return [
        (scatter(rows, base, column), f"Figure 1, left: {column} against {base}; a point per seed.")
        for column, base in pairs
        if base in found.columns and base is not None
    ]


def rates(found: Searches, domain: str, column: str, limit: int) -> list[tuple[int, float]]:
    """Number of objects and share of problems of that size solved within the limit."""
    by_size: dict[int, list[bool]] = {}
    for row in found.rows(domain, column):
        is_solved = row["solved"] and found.cost(row) <= limit
        by_size.setdefault(row["objects"], []).append(is_solved)
    return [(size, sum(one) / len(one)) for size, one in sorted(by_size.items())]


def rate_figure(results: TrialResults) -> Figure:
    """Figure 3, and for blocks Figure 1, right."""
    found = searches_of(results)

    def draw(axes: Axes, domain: str) -> None:
        limit = PRINTED.get(domain, {}).get("threshold", found.limit)
        limit = min(limit, found.limit or limit)
        shown = [*zip(BASES, ["dashed"] * 3, strict=True), *((c, "solid") for c in SHAPED)]
        shown += [(OWN, "solid"), (BESIDE_BASE, "dotted")]
        numbers = [*range(3), *range(3), 3, 3]
        for (column, style), number in zip(shown, numbers, strict=True):
            points = rates(found, domain, column, limit)
            if points:
                x, y = zip(*points, strict=True)
                look: Any = {"color": COLOURS[number], "linestyle": style, "linewidth": 1.0}
                axes.plot(x, y, marker=".", markersize=4, label=column, **look)
        axes.set(title=f"{domain} ({limit})", xlabel="objects", ylabel="solved", ylim=(-0.03, 1.03))

    return panels(found.domains, draw, *SHAPE)


def goal_curve(goal_steps: list[list[int]], steps: int) -> list[tuple[int, float]]:
    """Step and goals reached until then, the mean of trainings; goals are in order."""
    grid = sorted({round(i * steps / GRID) for i in range(GRID + 1)})
    ordered = [sorted(one) for one in goal_steps]
    return [
        (step, sum(bisect.bisect_right(one, step) for one in ordered) / len(ordered))
        for step in grid
    ]


def goals_figure(results: TrialResults) -> Figure:
    """Figures 4 and 5."""

    def draw(axes: Axes, domain: str) -> None:
        for number, column in enumerate(SHAPED):
            rows = trainings_of(results, domain, column)
            if rows:
                curve = goal_curve([row["goal_steps"] for row in rows], rows[0]["steps"])
                x, y = zip(*curve, strict=True)
                axes.plot(x, y, color=COLOURS[number], label=column, linewidth=1.0)
        axes.set(title=domain, xlabel="training step", ylabel="goals reached")

    return panels(list(results.problems), draw, *SHAPE)
