"""The searches of a study as numbers: solved problems and evaluations, by domain and column."""

from __future__ import annotations

from collections.abc import Iterable

from hstar.experiments.bench import EXPLAINED
from hstar.experiments.study.published import Spread
from hstar.experiments.study.run import Row
from hstar.experiments.study.trials import TrialResults
from hstar.learning import mean_ratio


class Searches:
    """The searches of a study, by domain and column. Unsolved problems count as the limit."""

    def __init__(self, rows: Iterable[Row], limit: int | None = None) -> None:
        self.limit = limit
        self.by_cell: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            self.by_cell.setdefault((row["domain"], row["column"]), []).append(row)

    @property
    def domains(self) -> list[str]:
        return list(dict.fromkeys(domain for domain, _ in self.by_cell))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for _, column in self.by_cell))

    def rows(self, domain: str, column: str) -> list[Row]:
        return self.by_cell.get((domain, column), [])

    def tests(self, domain: str, column: str) -> int:
        return len({(row["subject"], row["problem"]) for row in self.rows(domain, column)})

    def solved(self, domain: str, column: str) -> Spread | None:
        """How many problems each seed solved."""
        rows = self.rows(domain, column)
        seeds = sorted({row["seed"] for row in rows})
        if not seeds:
            return None
        return Spread.of([sum(r["solved"] for r in rows if r["seed"] == seed) for seed in seeds])

    def share(self, domain: str, column: str) -> Spread | None:
        solved, tests = self.solved(domain, column), self.tests(domain, column)
        return None if solved is None else Spread.of([value / tests for value in solved.values])

    def cost(self, row: Row) -> float:
        """Evaluations of a search."""
        return float(row["requested"] if row["solved"] or self.limit is None else self.limit)

    def effort(self, domain: str, column: str, base: str) -> float | None:
        """The geometric mean of evaluations, as a ratio to those of another column on the same
        problems."""
        theirs = {row["problem"]: self.cost(row) for row in self.rows(domain, base)}
        rows = [row for row in self.rows(domain, column) if row["problem"] in theirs]
        return mean_ratio([(self.cost(row), theirs[row["problem"]]) for row in rows], 1.0)


def failures(results: TrialResults) -> list[str]:
    """Trainings and searches that ended in a way that says nothing about the method."""
    found = [
        f"{name}: {row['domain']} {row['learner']} (seed {row['seed']}) was not learned: "
        f"{row['error']}"
        for name, rows in results.trainings.items()
        for row in rows
        if row["error"]
    ]
    return found + [
        f"{name}: {row['domain']} {row['problem']} {row['column']}: {row['status']}"
        for name, rows in results.searches.items()
        for row in rows
        if row["status"] not in EXPLAINED
    ]
