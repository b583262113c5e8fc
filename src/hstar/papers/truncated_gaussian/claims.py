"""What the truncated-gaussian paper concludes from its tables (claims.toml), with verdicts. Where a
claim asks for equal accuracy, squared errors up to 0.1 apart are equal, the paper's own margin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hstar.papers.claims import HOLDS, Check, Claim, judge
from hstar.papers.experiment import read_published
from hstar.papers.truncated_gaussian import measured
from hstar.papers.truncated_gaussian.published import DOMAINS, LEARN_FF, NAMES, Column, Group, Value

if TYPE_CHECKING:
    import polars as pl

MARGIN = 0.1

Look = Callable[[str, str, Column, str], Value | None]
Means = Sequence[float]  # one for each metric of a claim


COMPARISONS: dict[str, tuple[Callable[[Means, Means], bool], str]] = {
    "not above": (lambda a, b: a[0] <= b[0], "{} ≤ {}"),
    "not above by the margin": (lambda a, b: a[0] <= b[0] + MARGIN, "{} ≤ {} + 0.1"),
    "below": (lambda a, b: a[0] < b[0], "{} < {}"),
    "below by the margin": (lambda a, b: a[0] < b[0] - MARGIN, "{} < {} - 0.1"),
    "below half": (lambda a, b: a[0] < b[0] / 2, "{} instead of {}"),
    "within the margin": (lambda a, b: abs(a[0] - b[0]) <= MARGIN, "{} and {}"),
    "within a fifth": (lambda a, b: abs(a[0] - b[0]) <= max(MARGIN, 0.2 * b[0]), "{} and {}"),
    # Coverage as printed, in hundredths; where equal, node evaluations (if given) decide.
    "solves no fewer": (
        lambda a, b: (-round(a[0], 2), *a[1:]) <= (-round(b[0], 2), *b[1:]),
        "{} against {}",
    ),
}


def claims(
    metrics: pl.DataFrame | None,
    planning: pl.DataFrame | None,
    curves: pl.DataFrame | None = None,
) -> list[Claim]:
    """The paper's claims with verdicts. For the frames see `measured`; raises ValueError."""
    looks: list[Look] = [measured.Measured(metrics, planning).value, measured.published_value]
    measured.check_columns(curves, measured.CURVES_COLUMNS, "curves")
    found = []
    for claim in read_published(__file__, "claims.toml")["claims"]:
        verdicts = [judge(list(_checks(claim, look)), claim.get("most", False)) for look in looks]
        found.append(Claim(claim["text"], *verdicts[0], *verdicts[1]))
    verdict = judge([_converges(curves, domain) for domain in DOMAINS])
    text = "TN converges faster than N (validation MSE, learn/h^FF)"
    return [*found, Claim(text, *verdict, HOLDS, "Figure 2")]


def _checks(claim: dict[str, Any], look: Look) -> Iterator[Check]:
    compare, words = COMPARISONS[claim["compare"]]
    for case in claim["cases"]:
        left, right, *where = case.split()
        for domain in where[1:] or DOMAINS:
            both = [_values(claim, look, domain, column) for column in (left, right)]
            if not all(both):
                yield Check(None)
                continue
            ours, theirs = ([value.mean for value in values] for values in both)
            texts = [" ".join([v[0].text, *(f"({w.text})" for w in v[1:])]) for v in both]
            names = f" {_called(left)} and {_called(right)}:" if len(claim["cases"]) > 1 else ""
            yield Check(compare(ours, theirs), f"{domain}{names} {words.format(*texts)}")


def _values(claim: dict[str, Any], look: Look, domain: str, column: str) -> list[Value]:
    """The numbers of a column for each metric of the claim, none if one is missing."""
    variant, _, group = column.partition(":")
    of = Group(*group.split("/")) if group else None
    columns = [Column(one, of) for one in (("N", "TN") if variant == "best" else (variant,))]
    found = []
    for metric in claim.get("metrics", ["mse"]):
        values = [look(metric, domain, one, claim.get("model", "nlm")) for one in columns]
        known = [value for value in values if value is not None]
        if not known:
            return []
        found.append(max(known, key=lambda value: value.mean))
    return found


def _called(column: str) -> str:
    """Such as "TN learn/h^FF" for "TN:learn/ff"."""
    variant, _, group = column.partition(":")
    names = [NAMES.get(part, part) for part in group.split("/")]
    return f"{NAMES.get(variant, variant)} {'/'.join(names)}".rstrip()


def _converges(curves: pl.DataFrame | None, domain: str) -> Check:
    """TN below N in validation error at most of the training steps, means over seeds (Figure 2)."""
    if curves is None or curves.is_empty():
        return Check(None)
    means = []
    for loss in ("truncated-gaussian", "gaussian"):
        own = measured.learning_curves(curves, domain, loss, LEARN_FF)
        means.append(dict(own.select("step", "val_mse").group_by("step").mean().iter_rows()))
    common = means[0].keys() & means[1].keys()
    if not common:
        return Check(None)
    lower = sum(means[0][step] < means[1][step] for step in common)
    return Check(lower * 2 > len(common), f"{domain} lower at {lower} of {len(common)} steps")
