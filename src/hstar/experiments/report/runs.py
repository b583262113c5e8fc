"""The report on a benchmark: what went wrong, what was solved, and at which price."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.experiments.bench.rows import EXPLAINED, Runs, read_runs
from hstar.experiments.report.compare import Comparison, compare, verdict_table, verdict_text
from hstar.experiments.report.page import Figures, Page
from hstar.experiments.report.plots import cactus, scatter
from hstar.experiments.report.tables import MISSING, Cell, Table, number_text, text_table
from hstar.pddl.errors import escape

if TYPE_CHECKING:
    import polars as pl

MOST_PAIRS = 12  # of scatter plots
MEANS = "Evaluations and seconds (geometric means) and plan costs where all of these found a plan."


def write_report(
    inputs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    title: str = "Benchmark",
) -> Comparison:
    """Write an HTML page about the runs in Parquet files. Raises RunsError and OSError."""
    runs = [read_runs(path) for path in inputs]
    names = [escape(Path(path).name) for path in inputs]
    if len(set(names)) < len(names):
        names = [escape(str(path)) for path in inputs]
    found, page = build_page(runs, names, title)
    page.write(output)
    return found


def build_page(
    runs: Sequence[Runs], names: Sequence[str], title: str = "Benchmark"
) -> tuple[Comparison, Page]:
    found = compare(runs, names)
    means = (
        "Mean of the values requested over all problems, unsolved ones counted as the limit. "
        f"Geometric means and plan cost over the {len(found.solved_by_all())} problems that every "
        "heuristic solved."
    )
    limits = {"evaluations": "evaluations", "search_time": "seconds"}
    parts: list[Any] = [
        "# Against the default planner",
        *verdict_text(found),
        Table("", "", *verdict_table(found), MEANS),
        "# Unexplained errors",
        _errors(found),
        "# Coverage",
        Table("", "", *coverage_table(found), "Problems solved; the most in bold."),
        "# Summary",
        Table("", "", *summary_table(found), means),
        "# Solved within a limit",
        tuple(
            (cactus(found.rows, n), f"Problems solved within so many {limits[n]}.") for n in limits
        ),
        *_scatter_plots(found),
        "# Every problem",
        "Evaluations where solved, else how the run ended.",
        *_problems(found),
        "# How it was measured",
        _provenance(runs, names),
    ]
    return found, Page(title, parts)


def summary_text(rows: pl.DataFrame) -> str:
    """The tables about the rows of one benchmark, for a terminal."""
    return comparison_text(compare([Runs(rows, {})]))


def comparison_text(found: Comparison) -> str:
    """The tables of a report for a terminal; errors that need a look come first."""
    parts = [text_table(*coverage_table(found)), text_table(*summary_table(found))]
    parts.append("\n".join(verdict_text(found)))
    odd = unexplained(found.rows)
    if odd.height:
        shown = odd.select("problem", "label", "error", "message").rows()
        parts.insert(0, text_table(["unexplained", "heuristic", "error", "message"], shown))
    return "\n\n".join(parts)


def unexplained(rows: pl.DataFrame) -> pl.DataFrame:
    """Runs that ended in a way a search should not."""
    return rows.filter(~rows["error"].is_in(EXPLAINED))


def coverage_table(found: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """Domains by heuristics, with the number of problems, and a total."""
    rows = []
    for domain in [*found.domains, None]:
        counts = [found.coverage(label, domain) for label in found.labels]
        most = max(solved for solved, _ in counts)
        problems = max(run for _, run in counts)
        best = most if any(solved != most for solved, _ in counts) else None
        cells = [
            Cell(str(solved) if run == problems else f"{solved} of {run}", solved == best)
            for solved, run in counts
        ]
        rows.append([Cell(domain or "total"), Cell(str(problems)), *cells])
    return ["domain", "problems", *found.labels], rows


def summary_table(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """A line per heuristic."""
    rows = []
    for label in found.labels:
        solved, run = found.coverage(label)
        means = (
            (found.mean_requested(label), 1),
            (found.geometric_mean(label, "evaluations"), 1),
            (found.geometric_mean(label, "search_time"), 4),
            (found.mean_cost(label), 2),
        )
        rows.append([label, f"{solved}/{run}", *(number_text(*mean) for mean in means)])
    headers = [
        *("heuristic", "solved", "values requested, mean", "evaluations, geometric"),
        *("search time, geometric", "plan cost, mean"),
    ]
    return headers, rows


def _provenance(runs: Sequence[Runs], names: Sequence[str]) -> Table:
    rows = []
    for part, name in zip(runs, names, strict=True):
        made = part.provenance
        facts: dict[str, Any] = {
            "file": name,
            "runs": part.rows.height,
            "command": made.get("command"),
            "date": made.get("date"),
            **{key.replace("_", " "): value for key, value in made.get("options", {}).items()},
        }
        for limit, unit, size in (("time limit", "s", 1), ("memory limit", "MB", 2**20)):
            if isinstance(facts.get(limit), int | float):
                facts[limit] = f"{facts[limit] / size:g} {unit}"
        for column in ("hstar", "commit", "machine"):
            facts[column] = ", ".join(part.rows[column].unique(maintain_order=True).drop_nulls())
        facts |= {f"search {label}": text for label, text in made.get("searches", {}).items()}
        rows += [[key, value] for key, value in facts.items() if value not in (None, "")]
    return Table("", "", ["setting", ""], rows, is_text=True)


def _errors(found: Comparison) -> Table | str:
    odd = unexplained(found.rows)
    if not odd.height:
        return "None: every run ended with a plan, a proof that there is none, or a limit."
    columns = ["domain", "problem", "label", "error", "exit_code", "message"]
    rows = [["" if v is None else v for v in row] for row in odd.select(columns).iter_rows()]
    headers = ["domain", "problem", "heuristic", "error", "exit code", "message"]
    return Table("", "", headers, rows, f"{odd.height} runs", is_text=True)


def _scatter_plots(found: Comparison) -> Iterator[Figures | str]:
    first, *others = found.labels
    if others:
        yield f"# {first} against the others"
    for other in others[:MOST_PAIRS]:
        yield tuple(
            (scatter(found.rows, first, other, column), f"{first} and {other}: {name}.")
            for column, name in (("evaluations", "evaluations"), ("search_time", "time"))
        )
    if len(others) > MOST_PAIRS:
        yield f"{len(others) - MOST_PAIRS} further pairs are not drawn."


def _problems(found: Comparison) -> Iterator[Table]:
    outcomes: dict[tuple[str, str], str] = {}
    problems: dict[str, dict[str, str]] = {}
    for domain, instance, problem, label, coverage, evaluations, error in found.rows.select(
        "domain", "instance", "problem", "label", "coverage", "evaluations", "error"
    ).iter_rows():
        problems.setdefault(domain, {})[instance] = problem
        outcomes[instance, label] = str(evaluations) if coverage else error
    for domain, names in problems.items():
        rows = [
            [name, *(outcomes.get((instance, label), MISSING) for label in found.labels)]
            for instance, name in names.items()
        ]
        folded = f"{domain}: {len(rows)} problems"
        yield Table("", "", ["problem", *found.labels], rows, folded=folded)
