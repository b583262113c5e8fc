"""Numbers that compare heuristics fairly: on the same problems, unsolved ones not forgotten; and
the verdict, how every search does against the default planner."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hstar.experiments.bench.rows import Runs
from hstar.experiments.report.tables import number_text
from hstar.planning.result import NOTICEABLE
from hstar.planning.specification import DEFAULT

if TYPE_CHECKING:
    import polars as pl

SHORTEST_TIME = 1e-4  # seconds; below that a clock says little, and logarithms need some bound


@dataclass(frozen=True)
class Comparison:
    """Runs with a `label` per heuristic (column of tables), and an `instance` per problem. `labels`
    and `domains` are in the order of the runs."""

    rows: pl.DataFrame
    labels: list[str]
    domains: list[str]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Comparison:
        """Rows that have a label and an instance each."""
        columns = (rows[name].unique(maintain_order=True) for name in ("label", "domain"))
        return cls(rows, *(column.to_list() for column in columns))

    def coverage(self, label: str, domain: str | None = None) -> tuple[int, int]:
        """(solved, run) of a heuristic in a domain, None for all."""
        own = self.own(label, domain)
        return int(own["coverage"].sum()), own.height

    def mean_requested(self, label: str, domain: str | None = None) -> float | None:
        """Heuristic values requested. Unsolved problems count as the limit; None if there is one
        without such a limit."""
        columns = self.own(label, domain).select("coverage", "requested", "max_evaluations")
        counted = [requested if solved else limit for solved, requested, limit in columns.rows()]
        return sum(counted) / len(counted) if counted and None not in counted else None

    def solved_by_all(self) -> set[str]:
        """Problems that every heuristic solved."""
        solved = self.rows.filter(self.rows["coverage"] == 1).select("instance", "label").unique()
        counts = Counter(solved["instance"])
        return {instance for instance, count in counts.items() if count == len(self.labels)}

    def geometric_mean(self, label: str, column: str) -> float | None:
        """Of counts or times over the problems that all heuristics solved; None without any."""
        smallest = SHORTEST_TIME if column.endswith("time") else 1.0
        logarithms = [math.log(max(value, smallest)) for value in self._common(label, column)]
        return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None

    def mean_cost(self, label: str) -> float | None:
        """Of the plans for problems that all heuristics solved."""
        costs = self._common(label, "cost")
        return sum(costs) / len(costs) if costs else None

    def _common(self, label: str, column: str) -> list[float]:
        own = self.own(label)
        common = own.filter(own["instance"].is_in(sorted(self.solved_by_all())))
        return [float(value) for value in common[column].drop_nulls()]

    def own(self, label: str, domain: str | None = None) -> pl.DataFrame:
        """The rows of a search in a domain, None for all."""
        own = self.rows.filter(self.rows["label"] == label)
        return own if domain is None else own.filter(own["domain"] == domain)


def compare(runs: Sequence[Runs], names: Sequence[str] = ()) -> Comparison:
    """Runs of one or more files, told apart. A label is the heuristic if that is enough, else the
    search, with the heuristic if it does not name it and others have the same, and with the file's
    name (from `names`) if several files ran it on the same problem.
    Problems are the same if domain, suite, file name and content are. A domain that lies in several
    suites is one row of a table per suite."""
    import polars as pl

    tables = []
    for i, part in enumerate(runs):
        name = names[i] if i < len(names) and list(names).count(names[i]) == 1 else f"file {i + 1}"
        tables.append(part.rows.with_columns(pl.lit(name).alias("file")))
    rows = pl.concat(tables)
    distinct = rows.select("heuristic", "algorithm").unique()
    alone = distinct["heuristic"].is_unique().all() and DEFAULT not in distinct["algorithm"]
    shared = [name for name, count in Counter(distinct["algorithm"]).items() if count > 1]
    full = pl.format("{}: {}", "heuristic", "algorithm")
    label = pl.when(pl.col("algorithm").is_in(shared)).then(full).otherwise(pl.col("algorithm"))
    digest = pl.col("digest").fill_null("")
    rows = rows.with_columns(
        (pl.col("heuristic") if alone else label).alias("label"),
        pl.format("{}/{}/{} {}", "domain", "suite", "problem", digest).alias("instance"),
    )
    if rows.select("label", "instance").is_duplicated().any():
        rows = rows.with_columns(pl.format("{} ({})", "label", "file").alias("label"))
    several = pl.col("suite").n_unique().over("domain") > 1
    named = pl.when(several).then(pl.format("{} ({})", "domain", "suite"))
    return Comparison.of(rows.with_columns(domain=named.otherwise(pl.col("domain"))))


WITHOUT_DEFAULT = (
    "These runs do not include the default planner, the one that 'hstar plan' uses without flags. "
    "Add it with 'hstar bench -H default' to see what a heuristic is worth."
)
HEADERS = ["", "solved", "evaluations", "seconds", "plan cost"]


class Numbers(NamedTuple):
    """Of one search: solved problems, and means over the problems that all solved."""

    solved: int
    run: int
    evaluations: float | None
    seconds: float | None
    cost: float | None

    @classmethod
    def of(cls, found: Comparison, label: str) -> Numbers:
        evaluations = found.geometric_mean(label, "evaluations")
        seconds = found.geometric_mean(label, "total_time")
        return cls(*found.coverage(label), evaluations, seconds, found.mean_cost(label))


def verdict_text(found: Comparison) -> list[str]:
    """The sentences with which a report begins: each search against the default planner."""
    default = default_label(found)
    if default is None:
        return [WITHOUT_DEFAULT]
    return [_against(found, label, default) for label in found.labels if label != default]


def verdict_table(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """Solved problems, evaluations, seconds and plan costs of every search, the default
    planner last. The means are over the problems that all of them solved."""
    default, rows = default_label(found), []
    for label in sorted(found.labels, key=lambda label: label == default):
        solved, run, *means = Numbers.of(found, label)
        shown = map(number_text, means, (1, 4, 2))
        rows.append([label, f"{solved}/{run}", *shown])
    return HEADERS, rows


def default_label(found: Comparison) -> str | None:
    """What the default planner is called; None if it did not run."""
    defaults = found.rows.filter(found.rows["algorithm"] == DEFAULT)
    return str(defaults["label"][0]) if defaults.height else None


def _against(found: Comparison, label: str, other: str) -> str:
    """One search against the default planner, on the problems that both ran on."""
    ran = set(found.own(label)["instance"]) & set(found.own(other)["instance"])
    rows = found.rows.filter(found.rows["label"].is_in([label, other]))
    pair = Comparison(rows.filter(rows["instance"].is_in(sorted(ran))), [label, other], [])
    ours, default = Numbers.of(pair, label), Numbers.of(pair, other)
    text = (
        f"{label} solves {ours.solved} of {ours.run} problems, "
        f"the default planner {default.solved}."
    )
    if ours.seconds is None or default.seconds is None:
        return f"{text} No problem is solved by both."
    ratio = ours.seconds / default.seconds
    speed = f"{ratio:.3g} times the time" if ratio >= 1 else f"{1 / ratio:.3g} times faster"
    text += (
        f" On the {len(pair.solved_by_all())} problems that both solve it takes "
        f"{ours.seconds:.3g} s against {default.seconds:.3g} s ({speed}), "
        f"{ours.evaluations:.0f} evaluations against {default.evaluations:.0f}, and its plans cost "
        f"{ours.cost:.2f} against {default.cost:.2f}."
    )
    if ours.solved == default.solved and 1 / NOTICEABLE < ratio < NOTICEABLE:
        return f"{text} Neither is clearly better here."
    wins = (ours.solved, -ours.seconds) > (default.solved, -default.seconds)
    cost, other_cost = (ours.cost, default.cost) if wins else (default.cost, ours.cost)
    is_dearer = cost is not None and other_cost is not None and cost > NOTICEABLE * other_cost
    dearer = ", unless cheap plans matter more" if is_dearer else ""
    return f"{text} {'It' if wins else 'The default planner'} is the better choice here{dearer}."
