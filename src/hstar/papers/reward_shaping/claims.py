"""What the paper concludes (its questions Q1 to Q5 and section 4.1) and what hstar adds, with
verdicts by our numbers and by the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from hstar.papers.claims import HOLDS, UNKNOWN, Check, Claim, judge
from hstar.papers.reward_shaping.columns import BESIDE_BASE, DEFAULT, LABELS, OWN, ROLLOUTS, SHAPED
from hstar.papers.reward_shaping.measured import (
    COVERAGE,
    GOALS,
    Searches,
    Spread,
    goals_of,
    printed_share,
    searches_of,
)
from hstar.papers.reward_shaping.problems import PRINTED
from hstar.papers.reward_shaping.recipe import Results
from hstar.papers.reward_shaping.scales import EQUAL_TIME, PAPER

Look = Callable[[str, str], Spread | None]  # domain and column -> share of solved problems
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first of each pair of columns solves more than the second, or `equals` count too: in all
    of `domains` (all there are if empty), or in `most`."""

    text: str
    pairs: tuple[Pair, ...]
    domains: tuple[str, ...] = ()
    equals: bool = False
    most: bool = False
    is_printed: bool = True  # whether the paper has such numbers

    def checks(self, look: Look, domains: Iterable[str]) -> list[Check]:
        wanted = [one for one in domains if not self.domains or one in self.domains]
        return [
            _compare(look, domain, pair, self.equals) for domain in wanted for pair in self.pairs
        ]


SHAPED_PAIRS = (("H^add", "h^add"), ("H^FF", "h^FF"))
ABOVE_BLIND = (("H^add", "H^blind"), ("H^FF", "H^blind"))
Q1 = Comparison(
    "Q1: learning without shaping solves more than blind search, on most domains where blind "
    "search solves nothing",
    (("H^blind", "h^blind"),),
    most=True,
)
Q4 = Comparison(
    "Q4: shaping reaches more goals in training, on most domains", ABOVE_BLIND, most=True
)
COVERED = (
    Comparison(
        "Q2: learned heuristics solve no fewer than their bases on blocks and ferry",
        SHAPED_PAIRS,
        ("blocks", "ferry"),
        equals=True,
    ),
    Comparison(
        "Q2: learning makes logistics worse",
        tuple((base, column) for column, base in SHAPED_PAIRS),
        ("logistics",),
    ),
    Comparison(
        "Q3: agents with shaping solve no fewer than the agent without", ABOVE_BLIND, equals=True
    ),
    Comparison(
        "4.1: H^add and H^FF solve more than GBFS-H, on most domains",
        (("H^add", "GBFS-H"), ("H^FF", "GBFS-H")),
        most=True,
    ),
    Comparison(
        "4.1: what solves is look-ahead, not the heuristic: GBFLS-V more than GBFS-H, on most "
        "domains",
        (("GBFLS-V", "GBFS-H"),),
        most=True,
    ),
    Comparison(
        "4.1: STRIPS-HGN solves less than H^add, H^FF and GBFS-H, on most domains",
        (("H^add", "GBFS-HGN"), ("H^FF", "GBFS-HGN"), ("GBFS-H", "GBFS-HGN")),
        most=True,
    ),
    Comparison(
        "hstar's own H solves no fewer than h^FF, on most domains",
        ((OWN, "h^FF"),),
        equals=True,
        most=True,
        is_printed=False,
    ),
    Comparison(
        "own H and h^FF in turns solve no fewer than h^FF and the default planner",
        ((BESIDE_BASE, "h^FF"), (BESIDE_BASE, DEFAULT)),
        equals=True,
        is_printed=False,
    ),
)
EQUAL = (
    Comparison(
        "equal time: rollouts solve no fewer than label + train",
        ((ROLLOUTS, LABELS),),
        equals=True,
        is_printed=False,
    ),
    Comparison(
        "equal time: rollouts solve no fewer than the default planner",
        ((ROLLOUTS, DEFAULT),),
        equals=True,
        is_printed=False,
    ),
)
EASED = ("ferry", "gripper", "miconic", "visitall")  # where Figure 1 shows less effort
GROWN = "blocks"  # Figure 1, right


def claims(results: Results) -> list[Claim]:
    """Those of the studies that were run."""
    made = []
    if results.searches.get(PAPER):
        made += paper_claims(results)
    if results.searches.get(EQUAL_TIME):
        found = searches_of(results, EQUAL_TIME)
        made += [_claim(one, one.checks(found.share, found.domains), []) for one in EQUAL]
    return made


def paper_claims(results: Results) -> list[Claim]:
    """In the order of the paper."""
    found = searches_of(results)
    ours: Look = found.share
    goals: Look = partial(goals_of, results)
    domains, printed = found.domains, list(COVERAGE)
    q1 = (Q1.checks(ours, _blind(ours, domains)), Q1.checks(printed_share, PRINTED_BLIND))
    q4 = (Q4.checks(goals, domains), Q4.checks(printed_goals, printed))
    covered = [
        _claim(one, one.checks(ours, domains), one.checks(printed_share, printed))
        for one in COVERED
    ]
    fewer = "Q2: they need fewer evaluations on ferry, gripper, miconic and visitall"
    larger = "Q5: in the larger half of the blocks problems, H solves no fewer than h"
    return [
        _claim(Q1, *q1),
        covered[0],
        Claim(fewer, *judge(list(_eased(found))), HOLDS, "Figure 1"),
        *covered[1:3],
        _claim(Q4, *q4),
        Claim(larger, *judge(list(_grown(found))), HOLDS, "Figure 1"),
        *covered[3:],
    ]


def _claim(one: Comparison, ours: list[Check], printed: list[Check]) -> Claim:
    of_paper = judge(printed, one.most) if one.is_printed else (UNKNOWN, "")
    return Claim(one.text, *judge(ours, one.most), *of_paper)


def printed_goals(domain: str, column: str) -> Spread | None:
    return GOALS.get(domain, {}).get(column)


def _blind(look: Look, domains: Iterable[str]) -> list[str]:
    """Where blind search solves nothing."""
    shares = {domain: look(domain, "h^blind") for domain in domains}
    return [domain for domain, one in shares.items() if one is not None and one.mean == 0]


PRINTED_BLIND = _blind(printed_share, COVERAGE)


def _compare(look: Look, domain: str, pair: Pair, equals: bool) -> Check:
    a, b = (look(domain, column) for column in pair)
    if a is None or b is None:
        return Check(None)
    holds = a.mean >= b.mean if equals else a.mean > b.mean
    return Check(holds, f"{domain} {pair[0]} {a.mean:.4g} against {pair[1]} {b.mean:.4g}")


def _eased(found: Searches) -> Iterator[Check]:
    for domain in found.domains:
        for column in ("H^add", "H^FF") if domain in EASED else ():
            ratio = found.effort(domain, column, SHAPED[column])
            is_less = None if ratio is None else ratio < 1
            yield Check(is_less, f"{domain} {column} {ratio or 0:.3f} times")


def _grown(found: Searches) -> Iterator[Check]:
    limit = PRINTED[GROWN]["threshold"]
    for column, base in SHAPED.items():
        a, b = (large_share(found, GROWN, one, limit) for one in (column, base))
        if a is None or b is None:
            yield Check(None)
        else:
            yield Check(a >= b, f"{column} {a:.3f} against {base} {b:.3f}")


def large_share(found: Searches, domain: str, column: str, limit: int) -> float | None:
    """Of the problems of the larger sizes, how many are solved within the limit."""
    rows = found.rows(domain, column)
    if not rows:
        return None
    sizes = sorted({row["objects"] for row in rows})
    large = [row for row in rows if row["objects"] >= sizes[len(sizes) // 2]]
    return sum(row["solved"] and found.cost(row) <= limit for row in large) / len(large)
