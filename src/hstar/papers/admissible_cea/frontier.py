"""Mean against bytes: certified networks and all classical tables of a space, who leads where."""

from __future__ import annotations

from dataclasses import dataclass

from hstar.papers.admissible_cea.classical import describe
from hstar.papers.admissible_cea.published import MB
from hstar.papers.admissible_cea.recipe import Results
from hstar.papers.admissible_cea.tables import Table, certified_heuristics
from hstar.report import Cell


@dataclass(frozen=True, slots=True)
class Point:
    """A heuristic that overestimates no state; `mean` counts that of its base."""

    what: str
    learned: bool
    num_bytes: int
    mean: float
    leads: bool = False  # nothing that is no larger has a larger mean


def frontier(results: Results, name: str) -> list[Point]:
    """All heuristics of a space by size, with those marked that nothing smaller or equal beats."""
    points = [
        Point(describe(row), False, row["bytes"], row["total"])
        for row in results.classical.get(name, [])
    ]
    points += [
        Point(f"network {kind}", True, row["bytes"], row["total"])
        for kind, row in certified_heuristics(results, name).items()
    ]
    points.sort(key=lambda point: (point.num_bytes, -point.mean))
    marked, best = [], float("-inf")
    for point in points:
        leads = point.mean > best
        best = max(best, point.mean)
        marked.append(Point(point.what, point.learned, point.num_bytes, point.mean, leads))
    return marked


HEADERS = ["heuristic", "bytes", "mean", "kind", "leads at its size"]


def leading_table(results: Results, name: str) -> Table:
    """Those that lead, and every network."""
    points = frontier(results, name)
    return Table(
        f"leading-{name}",
        f"{name}: mean against bytes",
        HEADERS,
        [_row(point) for point in points if point.leads or point.learned],
        f"{verdict(points)} All of them overestimate no state. Files of networks are counted as a "
        "whole; classical tables without any header, and their maps of symmetry classes, which are "
        "computed when they are loaded, not at all.",
    )


def whole_table(results: Results, name: str) -> Table:
    """Every heuristic of a space."""
    points = frontier(results, name)
    title = f"{name}: all {len(points)} heuristics"
    return Table(f"frontier-{name}", title, HEADERS, list(map(_row, points)), "", title)


def _row(point: Point) -> list[Cell | str]:
    return [
        point.what,
        f"{point.num_bytes:,}",
        Cell(f"{point.mean:.4f}", bold=point.leads),
        "learned" if point.learned else "classical",
        "yes" if point.leads else "no",
    ]


def verdict(points: list[Point]) -> str:
    """Who leads where, in a sentence."""
    networks = [point for point in points if point.learned]
    if not networks:
        return "No network has been certified for this space."
    leading = [point for point in networks if point.leads]
    beaten = [point for point in networks if not point.leads]
    parts = []
    if leading:
        sizes = f"{leading[0].num_bytes / MB:.3f} to {leading[-1].num_bytes / MB:.3f} MB"
        parts.append(f"{len(leading)} of {len(networks)} networks lead at their size ({sizes}).")
    if beaten:
        classical = [point for point in points if point.leads and not point.learned]
        ahead = []
        for point in beaten:
            better = [
                c for c in classical if c.num_bytes <= point.num_bytes and c.mean >= point.mean
            ]
            if better:
                ahead.append(f"{point.what} ({better[-1].what}, {better[-1].mean:.3f})")
        if ahead:
            parts.append(f"A classical table is ahead of {'; '.join(ahead)}.")
        if len(ahead) < len(beaten):
            parts.append(f"{len(beaten) - len(ahead)} are beaten by smaller networks.")
    return " ".join(parts)
