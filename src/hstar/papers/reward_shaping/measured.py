"""What was measured and what the paper prints, by domain and column."""

from __future__ import annotations

from dataclasses import replace

from hstar.experiments.study import Look, Row, Searches, Spread, TrialResults, read_rows
from hstar.papers.reward_shaping.learners import COLUMNS
from hstar.papers.reward_shaping.problems import HELD, PRINTED

PAPER, EQUAL_TIME = "paper", "equal-time"  # names of studies
COVERAGE = read_rows(HELD["coverage_columns"], HELD["coverage"])  # solved problems, and "total"
GOALS = read_rows(HELD["goals_columns"], HELD["goals"])


def printed_share(domain: str, column: str) -> Spread | None:
    """Solved test problems in the paper, as a share."""
    row = COVERAGE.get(domain, {})
    value, total = row.get(column), row.get("total")
    if value is None or total is None:
        return None
    std, most = (one and one / total.mean for one in (value.std, value.most))
    return Spread(value.mean / total.mean, std, most)


def is_better(value: Spread, base: Spread) -> bool:
    """The paper's mark: the base lies below mean - std."""
    return base.mean < value.mean - (value.std or 0.0)


def is_worse(value: Spread, base: Spread) -> bool:
    return base.mean > value.mean + (value.std or 0.0)


def searches_of(results: TrialResults, study: str = PAPER) -> Searches:
    limit = next((s.max_evaluations for s in results.studies if s.name == study), None)
    return Searches(results.searches.get(study, []), limit)


def goals_of(results: TrialResults, domain: str, learner: str) -> Spread | None:
    """Goals reached in training, by seed."""
    values = [float(row["goals"]) for row in trainings_of(results, domain, learner)]
    return Spread.of(values) if values else None


def trainings_of(results: TrialResults, domain: str, learner: str) -> list[Row]:
    """Those that ended well."""
    asked = {"domain": domain, "learner": learner, "error": ""}.items()
    return [row for row in results.trainings.get(PAPER, []) if row.items() >= asked]


def large_share(found: Searches, domain: str, column: str, limit: float) -> float | None:
    """Of the problems of the larger sizes, how many are solved within the limit."""
    rows = found.rows(domain, column)
    if not rows:
        return None
    sizes = sorted({row["objects"] for row in rows})
    large = [row for row in rows if row["objects"] >= sizes[len(sizes) // 2]]
    return sum(row["solved"] and found.cost(row) <= limit for row in large) / len(large)


def look_of(results: TrialResults, study: str) -> Look:
    """Our numbers by the metrics of claims.toml."""
    found = searches_of(results, study)

    def look(metric: str, domain: str, column: str) -> Spread | None:
        number: float | None = None
        if metric == "goals":
            return _shown(goals_of(results, domain, column))
        if metric == "effort":
            number = found.effort(domain, column, COLUMNS[column].base or column)
        elif metric == "larger":
            number = large_share(found, domain, column, PRINTED[domain]["threshold"])
            return None if number is None else Spread(number, shown=f"{number:.3f}")
        else:
            return _shown(found.share(domain, column))
        return None if number is None else _shown(Spread(number))

    return look


def printed(metric: str, domain: str, column: str) -> Spread | None:
    """The paper's numbers likewise, as far as there are any."""
    if metric == "goals":
        return _shown(GOALS.get(domain, {}).get(column))
    return _shown(printed_share(domain, column)) if not metric else None


def _shown(value: Spread | None) -> Spread | None:
    return None if value is None else replace(value, shown=f"{value.mean:.4g}")
