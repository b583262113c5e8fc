"""Tables of the experiment: coverage beside the paper's, and when learning breaks even."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hstar.experiments.report import Cell
from hstar.experiments.report.tables import MISSING, number_text
from hstar.papers.experiment import read_published
from hstar.papers.regression_sampling.columns import DEFAULT, HSTAR, PLANNERS
from hstar.papers.regression_sampling.recipe import Results, rows_of
from hstar.papers.regression_sampling.scales import Study
from hstar.papers.tables import Table

HELD = read_published(__file__)
COLUMNS: list[str] = HELD["columns"]
PRINTED = {
    line.split()[0]: dict(zip(COLUMNS, map(float, line.split()[1:]), strict=True))
    for line in HELD["coverage"].strip().splitlines()
}
AVERAGES = dict(zip(COLUMNS, HELD["average"], strict=True))
TRAINING = dict(zip(COLUMNS, HELD["training"], strict=False))
PAPER_SUITE = "hard"

Rows = Sequence[dict[str, Any]]


def percent(rows: Rows) -> float | None:
    return 100 * sum(row["solved"] for row in rows) / len(rows) if rows else None


def domains_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["domain"] for row in rows))


def mean_of_domains(rows: Rows, planner: str) -> float | None:
    """The mean of the domains' percentages, as the paper has it."""
    own = [row for row in rows if row["planner"] == planner]
    shares = [percent([r for r in own if r["domain"] == domain]) for domain in domains_of(own)]
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


def coverage_table(results: Results, study: Study) -> Table:
    """Table 1: solved states in percent by domain, and how long learning took. The paper's numbers
    are shown beside those of its own tasks only."""
    is_paper = study.suite == PAPER_SUITE
    rows, planners = results.runs[study.name], results.planners[study.name]
    lines: list[list[Cell | str]] = []
    for domain in domains_of(rows):
        shares = [percent(list(rows_of(list(rows), domain=domain, planner=p))) for p in planners]
        count = sum(row["domain"] == domain for row in rows) // len(planners)
        printed = PRINTED.get(domain, {}) if is_paper else {}
        lines.append([domain, str(count), *_cells(shares, [printed.get(p) for p in planners])])
    means = [mean_of_domains(rows, planner) for planner in planners]
    averages = AVERAGES if is_paper else {}
    lines.append(["mean of the domains", "", *_cells(means, [averages.get(p) for p in planners])])
    lines.append(["learning, hours a task", "", *_training(results, study, planners)])
    shown = (
        f"Solved initial states in percent: {study.limit:g} s a state, {study.learn:g} s of "
        "learning a task for each learner, one core. 'plan' is what hstar plan runs, 'learn' "
        "searches with the network of hstar learn alone, 'plan --learn' learns within the limit."
    )
    if is_paper:
        shown += (
            " Below, the paper's: 6 minutes a state, 50 states of all tasks; 600 minutes for "
            "Boot, AVI and TSL."
        )
    headers = ["domain", "states", *planners]
    return Table(study.name, f"Coverage ({study.name})", headers, lines, shown)


def _cells(ours: Sequence[float | None], printed: Sequence[float | None]) -> list[Cell]:
    best = max((share for share in ours if share is not None), default=None)
    return [
        Cell(
            number_text(share, 1),
            bold=share is not None and share == best and share > 0,
            below="" if paper is None else f"{paper:g}",
        )
        for share, paper in zip(ours, printed, strict=True)
    ]


def _training(results: Results, study: Study, planners: Sequence[str]) -> list[Cell]:
    cells = []
    for planner in planners:
        learner = PLANNERS[planner].learner if planner in PLANNERS else None
        own = [row["seconds"] for row in results.networks[study.name] if row["learner"] == learner]
        text = f"{sum(own) / len(own) / 3600:.4f}" if own else ""
        is_printed = planner in TRAINING and study.suite == PAPER_SUITE
        cells.append(Cell(text, below=f"{TRAINING[planner]:g}" if is_printed else ""))
    return cells


def together_table(results: Results, study: Study) -> Table:
    """The planner that learns and the network alone, state by state against the default planner."""
    rows = list(results.runs[study.name])
    by_state: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_state.setdefault((row["task"], row["state"]), {})[row["planner"]] = row
    lines: list[list[Cell | str]] = []
    for planner in results.planners[study.name]:
        if planner == DEFAULT:
            continue
        pairs = [(s[planner], s[DEFAULT]) for s in by_state.values() if DEFAULT in s]
        both = [(a, b) for a, b in pairs if a["solved"] and b["solved"]]
        lines.append(
            [
                planner,
                str(sum(a["solved"] for a, _ in pairs)),
                str(sum(a["solved"] and not b["solved"] for a, b in pairs)),
                str(sum(b["solved"] and not a["solved"] for a, b in pairs)),
                _ratio([(a["seconds"], b["seconds"]) for a, b in both]),
                _ratio([(a["length"], b["length"]) for a, b in both]),
            ]
        )
    shown = (
        f"Of {len(by_state)} states. 'Seconds' and 'steps' are geometric means of planner / "
        "default planner over the states that both solved."
    )
    headers = ["planner", "solved", "it alone", "default alone", "seconds", "steps"]
    return Table(
        f"{study.name}-default", f"Beside the default planner ({study.name})", headers, lines, shown
    )


def _ratio(pairs: Sequence[tuple[float, float]]) -> str:
    logs = [math.log(max(a, 1e-3) / max(b, 1e-3)) for a, b in pairs]
    return f"{math.exp(sum(logs) / len(logs)):.2f}" if logs else MISSING


def break_even_table(results: Results, study: Study) -> Table:
    """After how many initial states of a task learning has paid, if it does."""
    runs = list(results.runs[study.name])
    lines: list[list[Cell | str]] = []
    for network in rows_of(results.networks[study.name], learner=HSTAR):
        spent = [
            [
                row["seconds"] if row["solved"] else study.limit
                for row in rows_of(runs, task=network["task"], planner=planner)
            ]
            for planner in ("learn", DEFAULT)
        ]
        if not spent[0]:
            continue
        learned, default = (sum(one) / len(one) for one in spent)
        count = network["seconds"] / (default - learned) if default > learned else math.inf
        after = str(math.ceil(count)) if math.isfinite(count) else "never"
        texts = [f"{value:.2f}" for value in (network["seconds"], learned, default)]
        said = "use it" if network.get("pays") else "keep the default"
        lines.append([network["task"], *texts, after, said])
    shown = (
        "Seconds of learning, and per state with the network and with the default planner; a "
        "state that is not solved counts as the limit. The last column is the verdict of hstar "
        "learn, which saw p1 only."
    )
    headers = ["task", "learning", "learned", "default", "breaks even after states", "verdict"]
    title = f"When learning breaks even ({study.name})"
    return Table(f"{study.name}-break-even", title, headers, lines, shown)


def all_tables(results: Results) -> list[Table]:
    tables = []
    for study in results.studies:
        tables.append(coverage_table(results, study))
        if DEFAULT in study.planners:
            tables.append(together_table(results, study))
        if HSTAR in study.learners and DEFAULT in study.planners:
            tables.append(break_even_table(results, study))
    return tables
