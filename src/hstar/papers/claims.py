"""What a paper concludes, put to our numbers and to its own. A claim is a list of checks; it holds
if all that have numbers come out as claimed, or most of them where the claim says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "not measured"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim and what became of it: a verdict and the numbers, for us and for the paper."""

    text: str
    verdict: str
    numbers: str
    paper_verdict: str
    paper_numbers: str


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison; `ok` is None where a number is missing."""

    ok: bool | None
    text: str = ""


def judge(checks: Sequence[Check], most: bool = False) -> tuple[str, str]:
    """The verdict on a claim and the numbers that decide it."""
    known = [check for check in checks if check.ok is not None]
    if not known:
        return UNKNOWN, ""
    good = sum(check.ok is True for check in known)
    holds = good * 2 > len(known) if most else good == len(known)
    numbers = "; ".join(("" if check.ok else "NOT ") + check.text for check in known)
    left_out = f" ({len(checks) - len(known)} not measured)" if len(known) < len(checks) else ""
    return HOLDS if holds else FAILS, f"{good} of {len(known)}{left_out}: {numbers}"
