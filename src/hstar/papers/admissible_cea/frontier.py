"""Mean against bytes: certified networks and all classical tables of a space, who leads where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hstar.experiments.report import Cell, Table
from hstar.papers.admissible_cea.scales import MB
from hstar.papers.admissible_cea.tables import certified_heuristics
from hstar.pdb import describe_compression

if TYPE_CHECKING:
    from hstar.papers.admissible_cea.study import PatternResults


@dataclass(frozen=True, slots=True)
class Point:
    """A heuristic that overestimates no state; `mean` counts that of its base."""

    what: str
    learned: bool
    num_bytes: int
    mean: float
    leads: bool = False  # nothing that is no larger has a larger mean


def frontier(results: PatternResults, name: str) -> list[Point]:
    """All heuristics of a space by size, with those marked that nothing smaller or equal beats."""
    classical, certified = results.classical.get(name, []), certified_heuristics(results, name)
    rows = [(describe_compression(row), False, row) for row in classical]
    rows += [(f"network {kind}", True, row) for kind, row in certified.items()]
    points = [Point(what, learned, row["bytes"], row["total"]) for what, learned, row in rows]
    marked, best = [], float("-inf")
    for point in sorted(points, key=lambda point: (point.num_bytes, -point.mean)):
        marked.append(replace(point, leads=point.mean > best))
        best = max(best, point.mean)
    return marked


def leading_table(results: PatternResults, name: str) -> Table:
    """Those that lead, and every network."""
    points = frontier(results, name)
    shown = (
        f"{verdict(points)} All of them overestimate no state. Files of networks are counted as a "
        "whole; classical tables without any header, and their maps of symmetry classes, which are "
        "computed when they are loaded, not at all."
    )
    leading = [point for point in points if point.leads or point.learned]
    return _table(f"leading-{name}", f"{name}: mean against bytes", leading, shown)


def whole_table(results: PatternResults, name: str) -> Table:
    """Every heuristic of a space."""
    points = frontier(results, name)
    title = f"{name}: all {len(points)} heuristics"
    return _table(f"frontier-{name}", title, points, folded=title)


def _table(name: str, title: str, points: list[Point], shown: str = "", folded: str = "") -> Table:
    rows = [
        [
            point.what,
            f"{point.num_bytes:,}",
            Cell(f"{point.mean:.4f}", bold=point.leads),
            "learned" if point.learned else "classical",
            "yes" if point.leads else "no",
        ]
        for point in points
    ]
    headers = ["heuristic", "bytes", "mean", "kind", "leads at its size"]
    return Table(name, title, headers, rows, shown, folded=folded)


def verdict(points: list[Point]) -> str:
    """Who leads where, in a sentence."""
    networks = [point for point in points if point.learned]
    if not networks:
        return "No network has been certified for this space."
    leading = [point for point in networks if point.leads]
    parts, ahead = [], []
    if leading:
        sizes = f"{leading[0].num_bytes / MB:.3f} to {leading[-1].num_bytes / MB:.3f} MB"
        parts.append(f"{len(leading)} of {len(networks)} networks lead at their size ({sizes}).")
    classical = [point for point in points if point.leads and not point.learned]
    for point in networks:
        better = [c for c in classical if c.num_bytes <= point.num_bytes and c.mean >= point.mean]
        if better and not point.leads:
            ahead.append(f"{point.what} ({better[-1].what}, {better[-1].mean:.3f})")
    if ahead:
        parts.append(f"A classical table is ahead of {'; '.join(ahead)}.")
    beaten = len(networks) - len(leading) - len(ahead)
    if beaten:
        parts.append(f"{beaten} are beaten by smaller networks.")
    return " ".join(parts)
