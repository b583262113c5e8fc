"""How every search does against the default planner: what a report says first."""

from __future__ import annotations

from typing import NamedTuple

from hstar.experiments.report.compare import Comparison
from hstar.experiments.report.tables import number_text
from hstar.planning.result import NOTICEABLE
from hstar.planning.specification import DEFAULT

MISSING = (
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


def numbers(found: Comparison, label: str) -> Numbers:
    evaluations = found.geometric_mean(label, "evaluations")
    seconds = found.geometric_mean(label, "total_time")
    return Numbers(*found.coverage(label), evaluations, seconds, found.mean_cost(label))


def verdict_text(found: Comparison) -> list[str]:
    """The sentences with which a report begins: each search against the default planner."""
    default = default_label(found)
    if default is None:
        return [MISSING]
    return [_against(found, label, default) for label in found.labels if label != default]


def verdict_table(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """Solved problems, evaluations, seconds and plan costs of every search, the default
    planner last. The means are over the problems that all of them solved."""
    default, rows = default_label(found), []
    for label in sorted(found.labels, key=lambda label: label == default):
        solved, run, *means = numbers(found, label)
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
    ours, default = numbers(pair, label), numbers(pair, other)
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
    costs = (ours.cost, default.cost) if wins else (default.cost, ours.cost)
    dearer = ", unless cheap plans matter more" if _is_dearer(*costs) else ""
    return f"{text} {'It' if wins else 'The default planner'} is the better choice here{dearer}."


def _is_dearer(cost: float | None, other: float | None) -> bool:
    return cost is not None and other is not None and cost > NOTICEABLE * other
