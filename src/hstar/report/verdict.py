"""How every configuration does against the default planner: what a report says first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hstar.configuration import DEFAULT
from hstar.report.compare import Comparison, geometric_mean, mean_cost

if TYPE_CHECKING:
    import polars as pl

MISSING = (
    "These runs do not include the default planner, the one that 'hstar plan' uses without flags. "
    "Add it with 'hstar bench -H default' to see what a heuristic is worth."
)
HEADERS = ["", "solved", "evaluations", "seconds", "plan cost"]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Of one configuration: solved problems, and means over the problems that both solved
    (geometric for evaluations and seconds)."""

    label: str
    solved: int
    run: int
    evaluations: float | None
    seconds: float | None
    cost: float | None

    def cells(self) -> list[str]:
        shown = [f"{self.solved}/{self.run}"]
        for value, digits in ((self.evaluations, 1), (self.seconds, 4), (self.cost, 2)):
            shown.append("\N{EN DASH}" if value is None else f"{value:.{digits}f}")
        return [self.label, *shown]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One configuration against the default planner, on the problems that both ran on."""

    ours: Numbers
    default: Numbers
    common: int  # problems that both solved

    @property
    def better(self) -> str:
        """The label of the one that solves more, or solves as many in less time."""
        ours, default = self.ours, self.default
        if ours.solved != default.solved:
            return ours.label if ours.solved > default.solved else default.label
        faster = (ours.seconds or 0.0) < (default.seconds or 0.0)
        return ours.label if faster else default.label

    def text(self) -> str:
        ours, default = self.ours, self.default
        text = (
            f"{ours.label} solves {ours.solved} of {ours.run} problems, "
            f"the default planner {default.solved}."
        )
        if ours.seconds is None or default.seconds is None:
            return f"{text} No problem is solved by both."
        ratio = ours.seconds / default.seconds
        speed = f"{ratio:.3g} times the time" if ratio >= 1 else f"{1 / ratio:.3g} times faster"
        text += (
            f" On the {self.common} problems that both solve it takes {ours.seconds:.3g} s against "
            f"{default.seconds:.3g} s ({speed}), {ours.evaluations:.0f} evaluations against "
            f"{default.evaluations:.0f}, and its plans cost {ours.cost:.2f} against "
            f"{default.cost:.2f}."
        )
        if self.better == default.label:
            return f"{text} The default planner is the better choice here."
        return f"{text} It is the better choice here."


def verdicts(found: Comparison) -> list[Verdict]:
    """Each configuration against the default planner; empty where that did not run."""
    defaults = found.rows.filter(found.rows["algorithm"] == DEFAULT)
    if not defaults.height:
        return []
    other = str(defaults["label"][0])
    return [_verdict(found, label, other) for label in found.labels if label != other]


def verdict_text(found: Comparison) -> list[str]:
    """The sentences with which a report begins."""
    if not (found.rows["algorithm"] == DEFAULT).any():
        return [MISSING]
    return [verdict.text() for verdict in verdicts(found)]


def verdict_table(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """Solved problems, evaluations, seconds and plan costs of every configuration; the default
    planner stands last. The means are over the problems that all of them solved."""
    common = found.solved_by_all()
    default = {str(v.default.label) for v in verdicts(found)}
    labels = sorted(found.labels, key=lambda label: label in default)
    return HEADERS, [_numbers(found.own(label), label, common).cells() for label in labels]


def _verdict(found: Comparison, label: str, other: str) -> Verdict:
    both = [found.own(name) for name in (label, other)]
    ran = set(both[0]["instance"]) & set(both[1]["instance"])
    both = [own.filter(own["instance"].is_in(sorted(ran))) for own in both]
    common = set.intersection(*(set(own.filter(own["coverage"] == 1)["instance"]) for own in both))
    ours, default = (
        _numbers(own, name, common) for own, name in zip(both, (label, other), strict=True)
    )
    return Verdict(ours, default, len(common))


def _numbers(own: pl.DataFrame, label: str, common: set[str]) -> Numbers:
    shared = own.filter(own["instance"].is_in(sorted(common)))
    return Numbers(
        label=label,
        solved=int(own["coverage"].sum()),
        run=own.height,
        evaluations=geometric_mean(shared, "evaluations"),
        seconds=geometric_mean(shared, "total_time"),
        cost=mean_cost(shared),
    )
