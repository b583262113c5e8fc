"""What the paper concludes from Table 1, and what hstar adds, with verdicts."""

from __future__ import annotations

from collections.abc import Callable

from hstar.papers.claims import Check, Claim, judge
from hstar.papers.regression_sampling.columns import DEFAULT
from hstar.papers.regression_sampling.recipe import Results
from hstar.papers.regression_sampling.scales import Study
from hstar.papers.regression_sampling.tables import AVERAGES, mean_of_domains

Look = Callable[[str], float | None]

CLAIMS = (  # text, the better column, the others
    ("RSL solves more than the other published networks", "RSL", ("Boot", "AVI", "TSL")),
    ("N-RSL solves more than the other published networks", "N-RSL", ("Boot", "AVI", "TSL")),
    ("novelty helps: N-RSL solves more than RSL", "N-RSL", ("RSL",)),
    ("RSL solves more than h^FF", "RSL", ("FF",)),
    ("LAMA solves more than all networks", "LAMA", ("RSL", "N-RSL", "Boot", "AVI", "TSL")),
    ("hstar learn solves more than N-RSL", "learn", ("N-RSL",)),
    ("hstar learn alone solves more than the default planner", "learn", (DEFAULT,)),
    ("hstar plan --learn solves more than hstar plan, in equal time", "plan --learn", (DEFAULT,)),
)


def claims(results: Results, study: Study) -> list[Claim]:
    """Verdicts by the means of the domains, ours and the paper's."""
    looks: tuple[Look, Look] = (
        lambda planner: mean_of_domains(results.runs[study.name], planner),
        AVERAGES.get,
    )
    found = []
    for text, better, others in CLAIMS:
        verdicts = [judge([_check(look, better, other) for other in others]) for look in looks]
        found.append(Claim(text, *verdicts[0], *verdicts[1]))
    return found


def _check(look: Look, better: str, other: str) -> Check:
    a, b = look(better), look(other)
    if a is None or b is None:
        return Check(None)
    return Check(a > b, f"{better} {a:.1f} against {other} {b:.1f}")
