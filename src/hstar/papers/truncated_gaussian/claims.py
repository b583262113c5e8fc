"""What the truncated-gaussian paper concludes from its tables, put to our numbers and to its own.

A claim is a list of comparisons, one per domain or configuration. It holds if all that were
measured come out as claimed, or more than half where the claim says "most". Where it is about being
at least as accurate, mean squared errors up to 0.1 apart count as equal, the paper's own margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hstar.papers.truncated_gaussian.measured import (
    CURVES_COLUMNS,
    Measured,
    check_columns,
    learning_curves,
    published_value,
)
from hstar.papers.truncated_gaussian.published import (
    BOUNDS,
    DOMAINS,
    FIXED_FF,
    FIXED_NONE,
    FOUR,
    LEARN_FF,
    LEARN_LMCUT,
    LEARN_NONE,
    NAMES,
    Column,
    Value,
)

if TYPE_CHECKING:
    import polars as pl

MARGIN = 0.1
HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "not measured"

Look = Callable[[str, str, Column, str], Value | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim and what became of it: a verdict and the numbers, for us and for the paper."""

    text: str
    verdict: str
    numbers: str
    paper_verdict: str
    paper_numbers: str


@dataclass(frozen=True, slots=True)
class _Check:
    """One comparison; `ok` is None where a number is missing."""

    ok: bool | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    checks: Callable[[Look], Iterator[_Check]]
    most: bool = False


def claims(
    metrics: pl.DataFrame | None,
    planning: pl.DataFrame | None,
    curves: pl.DataFrame | None = None,
) -> list[Claim]:
    """The paper's claims with verdicts. For the frames see `measured`; raises ValueError."""
    measured = Measured(metrics, planning)
    found = []
    for statement in STATEMENTS:
        ours = _judge(list(statement.checks(measured.value)), statement.most)
        theirs = _judge(list(statement.checks(published_value)), statement.most)
        found.append(Claim(statement.text, *ours, *theirs))
    found.append(_convergence(curves))
    return found


def _judge(checks: list[_Check], most: bool) -> tuple[str, str]:
    known = [check for check in checks if check.ok is not None]
    if not known:
        return UNKNOWN, ""
    good = sum(check.ok is True for check in known)
    holds = good * 2 > len(known) if most else good == len(known)
    numbers = "; ".join(("" if check.ok else "NOT ") + check.text for check in known)
    left_out = f" ({len(checks) - len(known)} not measured)" if len(known) < len(checks) else ""
    return HOLDS if holds else FAILS, f"{good} of {len(known)}{left_out}: {numbers}"


def _less(
    look: Look,
    metric: str,
    domain: str,
    left: Column,
    right: Column,
    *,
    slack: float = 0.0,
    model: str = "nlm",
    strict: bool = False,
    where: str = "",
) -> _Check:
    """Is the left number at most (strictly: below) the right one, give or take the slack?"""
    a, b = look(metric, domain, left, model), look(metric, domain, right, model)
    if a is None or b is None:
        return _Check(None)
    ok = a.mean < b.mean + slack if strict else a.mean <= b.mean + slack
    sign = "<" if strict else "≤"
    give = f" + {slack:g}" if slack > 0 else f" - {-slack:g}" if slack < 0 else ""
    return _Check(ok, f"{where or domain} {a.text} {sign} {b.text}{give}")


def _tn_accuracy(look: Look) -> Iterator[_Check]:
    for domain in DOMAINS:
        yield _less(
            look, "mse", domain, Column("TN", LEARN_FF), Column("N", LEARN_FF), slack=MARGIN
        )


def _best_configuration(look: Look) -> Iterator[_Check]:
    best = Column("TN", LEARN_FF)
    for domain in DOMAINS:
        for group in FOUR[1:]:
            where = f"{domain} {LEARN_FF} and {group}:"
            other = Column("TN", group)
            yield _less(look, "mse", domain, best, other, slack=MARGIN, where=where)


def _clip_changes_little(look: Look) -> Iterator[_Check]:
    for domain in DOMAINS:
        plain = look("mse", domain, Column("N", LEARN_FF), "nlm")
        clipped = look("mse", domain, Column("N+clip", LEARN_FF), "nlm")
        if plain is None or clipped is None:
            yield _Check(None)
        else:
            ok = abs(plain.mean - clipped.mean) <= MARGIN
            yield _Check(ok, f"{domain} {plain.text} and {clipped.text}")


def _clip_rescues(look: Look) -> Iterator[_Check]:
    for domain in ("ferry", "gripper"):
        for group in (LEARN_NONE, FIXED_NONE):
            plain = look("mse", domain, Column("N", group), "nlm")
            clipped = look("mse", domain, Column("N+clip", group), "nlm")
            if plain is None or clipped is None:
                yield _Check(None)
            else:
                text = f"{domain} {group} {clipped.text} instead of {plain.text}"
                yield _Check(clipped.mean < plain.mean / 2, text)


def _tn_without_residual(look: Look) -> Iterator[_Check]:
    for domain in DOMAINS:
        yield _less(look, "mse", domain, Column("TN", LEARN_NONE), Column("N+clip", LEARN_NONE))


def _residual_helps(look: Look) -> Iterator[_Check]:
    for variant in ("N", "TN"):
        for domain in DOMAINS:
            left, right = Column(variant, LEARN_FF), Column(variant, LEARN_NONE)
            where = f"{domain} {variant}"
            yield _less(look, "mse", domain, left, right, strict=True, where=where)


def _better_than_ff(look: Look) -> Iterator[_Check]:
    for domain in DOMAINS:
        yield _less(look, "mse", domain, Column("TN", LEARN_FF), Column("ff"), strict=True)


def _sigma_helps_tn(look: Look) -> Iterator[_Check]:
    for domain in DOMAINS:
        for learned, fixed in ((LEARN_FF, FIXED_FF), (LEARN_NONE, FIXED_NONE)):
            left, right = Column("TN", learned), Column("TN", fixed)
            where = f"{domain} {NAMES[learned.base]}"
            yield _less(look, "mse", domain, left, right, strict=True, where=where)


def _sigma_hurts_n(look: Look) -> Iterator[_Check]:
    for domain in DOMAINS:
        for learned, fixed in ((LEARN_FF, FIXED_FF), (LEARN_NONE, FIXED_NONE)):
            left, right = Column("N", fixed), Column("N", learned)
            where = f"{domain} {NAMES[learned.base]} fixed"
            yield _less(look, "mse", domain, left, right, strict=True, where=where)


def _tn_plans_best(look: Look) -> Iterator[_Check]:
    """Solved first, node evaluations where equally many are; as printed, in hundredths."""
    for domain in DOMAINS:
        for variant in ("N", "N+clip"):
            yield _plans_no_worse(look, domain, Column("TN", LEARN_FF), Column(variant, LEARN_FF))


def _better_than_ff_search(look: Look) -> Iterator[_Check]:
    for domain in DOMAINS:
        yield _plans_no_worse(look, domain, Column("TN", LEARN_FF), Column("ff"))


def _plans_no_worse(look: Look, domain: str, left: Column, right: Column) -> _Check:
    a, b = (look("coverage", domain, column, "nlm") for column in (left, right))
    c, d = (look("evaluations", domain, column, "nlm") for column in (left, right))
    if a is None or b is None or c is None or d is None:
        return _Check(None)
    better = (-round(a.mean, 2), c.mean) <= (-round(b.mean, 2), d.mean)
    text = f"{domain} {a.text} ({c.text}) against {right.variant} {b.text} ({d.text})"
    return _Check(better, text)


def _bounds_alike(look: Look) -> Iterator[_Check]:
    reference, *others = (Column("TN", group) for group in BOUNDS)
    for domain in ("blocks", "ferry", "gripper"):
        for column in others:
            a, b = (look("mse", domain, c, "nlm") for c in (reference, column))
            if a is None or b is None or column.group is None:
                yield _Check(None)
            else:
                ok = abs(a.mean - b.mean) <= max(MARGIN, 0.2 * a.mean)
                where = f"{domain} {NAMES[column.group.lower]}"
                yield _Check(ok, f"{where} {b.text} and h^LMcut {a.text}")


def _bound_matters_in_visitall(look: Look) -> Iterator[_Check]:
    reference, *others = (Column("TN", group) for group in BOUNDS)
    for column in others:
        assert column.group is not None
        where = f"h^LMcut and {NAMES[column.group.lower]}:"
        yield _less(
            look, "mse", "visitall", reference, column, slack=-MARGIN, strict=True, where=where
        )


def _residual_base_tn(look: Look) -> Iterator[_Check]:
    ff, lmcut = Column("TN", LEARN_FF), Column("TN", LEARN_LMCUT)
    for domain in DOMAINS:
        left, right = (lmcut, ff) if domain == "visitall" else (ff, lmcut)
        yield _less(look, "mse", domain, left, right, where=_bases(domain, left, right))


def _residual_base_n(look: Look) -> Iterator[_Check]:
    ff, lmcut = Column("N", LEARN_FF), Column("N", LEARN_LMCUT)
    for domain in DOMAINS:
        left, right = (ff, lmcut) if domain == "gripper" else (lmcut, ff)
        yield _less(look, "mse", domain, left, right, where=_bases(domain, left, right))


def _linear_likelihood(look: Look) -> Iterator[_Check]:
    for group in FOUR:
        for domain in DOMAINS:
            left, right = Column("TN", group), Column("N", group)
            where = f"{domain} {group}"
            yield _less(look, "nll", domain, left, right, model="linear", where=where)


def _hgn_beats_ranking(look: Look) -> Iterator[_Check]:
    ranking = Column("L-GBFS")
    for domain in DOMAINS:
        variants = [look("coverage", domain, Column(v, LEARN_FF), "hgn") for v in ("N", "TN")]
        known = [value for value in variants if value is not None]
        other = look("coverage", domain, ranking, "hgn")
        if not known or other is None:
            yield _Check(None)
        else:
            best = max(known, key=lambda value: value.mean)
            yield _Check(best.mean >= other.mean, f"{domain} {best.text} against {other.text}")


def _bases(domain: str, left: Column, right: Column) -> str:
    assert left.group is not None and right.group is not None
    return f"{domain} {NAMES[left.group.base]} and {NAMES[right.group.base]}:"


STATEMENTS: tuple[_Statement, ...] = (
    _Statement("TN is at least as accurate as N (learn/h^FF)", _tn_accuracy),
    _Statement("learn/h^FF is the most accurate configuration of TN", _best_configuration),
    _Statement("clipping changes N little (learn/h^FF)", _clip_changes_little),
    _Statement("without a residual N fails in ferry and gripper, clipping helps", _clip_rescues),
    _Statement("TN is more accurate than N+clip without a residual", _tn_without_residual),
    _Statement("the residual makes both more accurate", _residual_helps),
    _Statement("TN is more accurate than h^FF itself (learn/h^FF)", _better_than_ff),
    _Statement("learning sigma makes TN more accurate in most cases", _sigma_helps_tn, most=True),
    _Statement("learning sigma makes N less accurate in most cases", _sigma_hurts_n, most=True),
    _Statement("TN solves no fewer problems than N and N+clip (learn/h^FF)", _tn_plans_best),
    _Statement("TN solves more problems than GBFS with h^FF", _better_than_ff_search),
    _Statement("the lower bound matters little to TN except in visitall", _bounds_alike),
    _Statement("in visitall TN is better with h^LMcut as bound", _bound_matters_in_visitall),
    _Statement("TN prefers the residual h^FF to h^LMcut except in visitall", _residual_base_tn),
    _Statement("N prefers the residual h^LMcut to h^FF except in gripper", _residual_base_n),
    _Statement(
        "linear TN is at least as likely (NLL) as N in most cases", _linear_likelihood, most=True
    ),
    _Statement(
        "STRIPS-HGN solves more problems than with the ranking loss in most domains",
        _hgn_beats_ranking,
        most=True,
    ),
)


def _convergence(curves: pl.DataFrame | None) -> Claim:
    """TN below N in validation error at most of the training steps, means over seeds (Figure 2)."""
    check_columns(curves, CURVES_COLUMNS, "curves")
    checks = []
    for domain in DOMAINS:
        shares = None if curves is None or curves.is_empty() else _share_below(curves, domain)
        if shares is None:
            checks.append(_Check(None))
        else:
            below, steps = shares
            text = f"{domain} lower at {below} of {steps} steps"
            checks.append(_Check(below * 2 > steps, text))
    verdict, numbers = _judge(checks, most=False)
    text = "TN converges faster than N (validation MSE, learn/h^FF)"
    return Claim(text, verdict, numbers, HOLDS, "Figure 2")


def _share_below(curves: pl.DataFrame, domain: str) -> tuple[int, int] | None:
    """(steps at which the mean of TN is below that of N, steps both have)."""
    means = []
    for loss in ("truncated-gaussian", "gaussian"):
        own = learning_curves(curves, domain, loss, LEARN_FF)
        means.append(dict(own.select("step", "val_mse").group_by("step").mean().iter_rows()))
    common = means[0].keys() & means[1].keys()
    if not common:
        return None
    return sum(means[0][step] < means[1][step] for step in common), len(common)
