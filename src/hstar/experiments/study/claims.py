"""What a paper concludes, put to our numbers and to its own.

A file claims.toml lists claims by their text. Each is a list of cases, "LEFT > RIGHT" or "LEFT >
RIGHT in DOMAIN ..." with two columns; it holds if all cases do in all domains. Before them may
stand "most" (most of them do), "by METRIC ..." (what is compared; where the first is equal the next
decides), and others that say where it is about. After the right one may stand "+ 0.1", "- 0.1" or
"/ 2", and after "=" how far apart they may be, "± 0.1" or "± 20%", which is then 0.1 at least.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hstar.experiments.report import Table
from hstar.experiments.study.numbers import Spread

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "not measured"

Look = Callable[[str, str, str], Spread | None]  # metric, domain, column

ORDERS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
WORDS = {">": "against", ">=": "against", "<=": "≤", "=": "and"}
_CASE = re.compile(r"(.+) (>=|<=|>|<|=) (.+?)(?: ([-+/±]) ([\d.]+%?))?(?: in (.+))?")


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


@dataclass(frozen=True)
class Conclusion:
    """A claim of claims.toml. `where_none` is a column: only domains count in which it has 0.
    `paper` says where the paper shows what it prints no numbers of. `about` is a study or a kind of
    model."""

    text: str
    cases: Sequence[str]
    most: bool = False
    metrics: Sequence[str] = ("",)
    where_none: str = ""
    paper: str = ""
    about: str = ""
    name: Callable[[str], str] | None = field(default=None, compare=False)

    @classmethod
    def read(cls, text: str, held: Sequence[str]) -> Conclusion:
        cases = [one for one in held if _CASE.fullmatch(one)]
        words = dict(one.partition(" ")[::2] for one in held if one not in cases)
        metrics = words.get("by", "").split(" ")
        where, paper, about = (words.get(one, "") for one in ("where-none", "paper", "about"))
        return cls(text, cases, "most" in words, metrics, where, paper, about)

    def judged(self, ours: tuple[Look, Iterable[str]], theirs: tuple[Look, Iterable[str]]) -> Claim:
        """By our numbers and the paper's, each with the domains there are."""
        own, printed = (judge(list(self.checks(*one)), self.most) for one in (ours, theirs))
        return Claim(self.text, *own, *((HOLDS, self.paper) if self.paper else printed))

    def checks(self, look: Look, domains: Iterable[str]) -> Iterator[Check]:
        if self.where_none:
            found = {one: look(self.metrics[0], one, self.where_none) for one in domains}
            domains = [one for one, value in found.items() if value is not None and value.mean == 0]
        matches = [match.groups() for match in map(_CASE.fullmatch, self.cases) if match]
        for domain in domains:
            for left, order, right, sign, by, where in matches:
                if where and domain not in where.split():
                    continue
                both = ([look(one, domain, of) for one in self.metrics] for of in (left, right))
                a, b = ([value for value in side if value is not None] for side in both)
                if len(a) < len(self.metrics) or len(b) < len(self.metrics):
                    yield Check(None)
                    continue
                texts = [" ".join([s[0].shown, *(f"({w.shown})" for w in s[1:])]) for s in (a, b)]
                names = ""
                if self.name is None:
                    texts = [f"{left} {texts[0]}", f"{right} {texts[1]}"]
                elif len(self.cases) > 1:
                    names = f" {self.name(left)} and {self.name(right)}:"
                shown = f" {texts[0]} {WORDS.get(order, order)} {texts[1]}"
                shown += f" {sign} {by}" if sign else ""
                yield Check(self._holds(a, b, order, sign, by), f"{domain}{names}{shown}".strip())

    def _holds(
        self, a: Sequence[Spread], b: Sequence[Spread], order: str, sign: str | None, by: str | None
    ) -> bool:
        left, right = ([*map(self._rated, self.metrics, side)] for side in (a, b))
        share = float((by or "0").rstrip("%"))
        if order == "=":
            margin = max(0.1, share / 100 * right[0]) if str(by).endswith("%") else share
            return abs(left[0] - right[0]) <= margin
        right[0] = right[0] / share if sign == "/" else right[0] + float(f"{sign or '+'}{share}")
        return ORDERS[order](left, right)  # type: ignore[no-any-return]

    @staticmethod
    def _rated(metric: str, value: Spread) -> float:
        """Coverage as printed, in hundredths; fewer evaluations are better."""
        rounded = round(value.mean, 2) if metric == "coverage" else value.mean
        return -rounded if metric == "evaluations" else rounded


def claims_table(claims: Iterable[Claim], shown: str = "") -> Table:
    rows = [[one.text, one.verdict, one.numbers, one.paper_verdict] for one in claims]
    headers = ["claim", "here", "numbers", "in the paper"]
    return Table("claims", "Claims", headers, rows, shown, is_text=True)
