"""What a paper concludes, put to our numbers and to its own.

A file claims.toml lists claims by their text. Each is a list of cases, "LEFT > RIGHT" or "LEFT >
RIGHT in DOMAIN ..." with two columns; it holds if all cases do in all domains. Before them may
stand "most" (most of them do), "by METRIC ..." (what is compared; where the first is equal the next
decides), "where-none COLUMN" (only domains count in which it has 0), "paper FIGURE" (where the
paper shows what it prints no numbers of) and "about" a study or a kind of model. After the right
one may stand "+ 0.1", "- 0.1" or "/ 2", and after "=" how far apart they may be, "± 0.1" or
"± 20%", which is then 0.1 at least.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hstar.experiments.report import Table
from hstar.experiments.study.published import Spread, read_toml

HOLDS, FAILS, UNTOLD, UNKNOWN = "holds", "does not hold", "cannot be told", "not measured"

Look = Callable[[str, str, str], Spread | None]  # metric, domain, column
Source = tuple[Look, Iterable[str]]  # with the domains there are
Sources = Callable[[str], tuple[Source, Source] | None]  # our numbers and the paper's
Sure = Callable[[str, str], bool]  # whether our numbers of two columns differ by more than chance

ORDERS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
WORDS = {">": "against", ">=": "against", "<=": "≤", "=": "and"}
_CASE = re.compile(r"(.+) (>=|<=|>|<|=) (.+?)(?: ([-+/±]) ([\d.]+%?))?(?: in (.+))?")


def always_sure(_left: str, _right: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim and what became of it: a verdict and the numbers, for us and for the paper."""

    text: str
    verdict: str
    numbers: str
    paper_verdict: str
    paper_numbers: str

    @classmethod
    def judged(
        cls,
        module: str,
        sources: Sources,
        called: Callable[[str], str] | None = None,
        sure: Sure = always_sure,
    ) -> list[Claim]:
        """Those of claims.toml beside a module. `sources` are by what a claim is about; None leaves
        it out. `called` is how columns are shown; where our numbers are not `sure`, a claim cannot
        be told."""
        found = []
        for text, held in read_toml(module, "claims.toml").items():
            matches = {one: _CASE.fullmatch(one) for one in held}
            cases = [match.groups() for match in matches.values() if match]
            words = dict(one.partition(" ")[::2] for one, match in matches.items() if not match)
            both = sources(words.get("about", ""))
            if both is not None:
                sources_of = zip(both, (sure, always_sure), strict=True)
                checks = (list(_checks(cases, words, *one, called, s)) for one, s in sources_of)
                ours, theirs = (judge(one, "most" in words) for one in checks)
                paper = words.get("paper", "")
                found.append(cls(text, *ours, *((HOLDS, paper) if paper else theirs)))
        return found

    @staticmethod
    def listed(claims: Iterable[Claim]) -> str:
        """The verdicts, for a terminal."""
        return "\n".join(f"{one.verdict:<14} {one.text}" for one in claims)

    @staticmethod
    def table(claims: Iterable[Claim], shown: str = "") -> Table:
        rows = [[one.text, one.verdict, one.numbers, one.paper_verdict] for one in claims]
        headers = ["claim", "here", "numbers", "in the paper"]
        return Table("claims", "Claims", headers, rows, shown, is_text=True)


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison; `ok` is None where a number is missing. What is not sure may be chance."""

    ok: bool | None
    text: str = ""
    is_sure: bool = True


def judge(checks: Sequence[Check], most: bool = False) -> tuple[str, str]:
    """The verdict on a claim and the numbers that decide it."""
    known = [check for check in checks if check.ok is not None]
    if not known:
        return UNKNOWN, ""
    good, bad = (sum(one.is_sure and one.ok is ok for one in known) for ok in (True, False))
    holds, fails = good == len(known), bad > 0
    if most:
        holds, fails = good * 2 > len(known), bad * 2 >= len(known)
    marks = {True: "", False: "NOT "}
    texts = [f"{'' if one.is_sure else '? '}{marks[one.ok is True]}{one.text}" for one in known]
    left_out = f" ({len(checks) - len(known)} not measured)" if len(known) < len(checks) else ""
    verdict = HOLDS if holds else FAILS if fails else UNTOLD
    return verdict, f"{good} of {len(known)}{left_out}: {'; '.join(texts)}"


def _checks(
    cases: Sequence[tuple[str, ...]],
    words: Mapping[str, str],
    look: Look,
    domains: Iterable[str],
    called: Callable[[str], str] | None,
    sure: Sure,
) -> Iterator[Check]:
    metrics = words.get("by", "").split(" ")
    if "where-none" in words:
        found = {one: look(metrics[0], one, words["where-none"]) for one in domains}
        domains = [one for one, value in found.items() if value is not None and value.mean == 0]
    for domain in domains:
        for left, order, right, sign, by, where in cases:
            if where and domain not in where.split():
                continue
            both = ([look(one, domain, of) for one in metrics] for of in (left, right))
            a, b = ([value for value in side if value is not None] for side in both)
            if len(a) < len(metrics) or len(b) < len(metrics):
                yield Check(None)
                continue
            texts = [" ".join([s[0].brief, *(f"({w.brief})" for w in s[1:])]) for s in (a, b)]
            names = ""
            if called is None:
                texts = [f"{left} {texts[0]}", f"{right} {texts[1]}"]
            elif len(cases) > 1:
                names = f" {called(left)} and {called(right)}:"
            shown = f" {texts[0]} {WORDS.get(order, order)} {texts[1]}"
            shown += f" {sign} {by}" if sign else ""
            first, second = ([*map(_rated, metrics, side)] for side in (a, b))
            ok, text = _holds(first, second, order, sign, by), f"{domain}{names}{shown}".strip()
            yield Check(ok, text, order == "=" or sure(left, right))


def _holds(
    left: list[float], right: list[float], order: str, sign: str | None, by: str | None
) -> bool:
    share = float((by or "0").rstrip("%"))
    if order == "=":
        margin = max(0.1, share / 100 * right[0]) if str(by).endswith("%") else share
        return abs(left[0] - right[0]) <= margin
    right[0] = right[0] / share if sign == "/" else right[0] + float(f"{sign or '+'}{share}")
    return ORDERS[order](left, right)  # type: ignore[no-any-return]


def _rated(metric: str, value: Spread) -> float:
    """Coverage as printed, in hundredths; fewer evaluations are better."""
    rounded = round(value.mean, 2) if metric == "coverage" else value.mean
    return -rounded if metric == "evaluations" else rounded
