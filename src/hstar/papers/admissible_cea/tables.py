"""The tables of the paper with our numbers, its own, and classical tables beside; its claims; and
mean against bytes: who leads where."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hstar.experiments.report import MISSING, Cell, Table
from hstar.experiments.study import Claim, Look, Row, Spread, Wording
from hstar.papers.admissible_cea.scales import (
    CE,
    CEA,
    CORNERS,
    MB,
    MODELS,
    PHASES,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_5,
)
from hstar.pdb import describe_compression, strongest

if TYPE_CHECKING:
    from hstar.papers.admissible_cea.study import PatternResults

PAPER, HERE = "paper", "here"
NOT_BUILT, NOT_LEARNED = "not built", "not learned"
LABELS = {CEA: "CEA loss", PHASES: "CEA loss in phases", CE: "CE loss"}
WORDS = Wording(__file__)
OF_PAPER = {"order": "mr", "grouping": "div", "levels": [], "symmetric": False}


@dataclass(frozen=True)
class PatternSpace:
    """A pattern database: its `exact` table, where it is built, its `classical` ones, and networks
    by what they are called, as the paper decodes them and certified; the paper's own numbers."""

    name: str
    exact: Row | None
    classical: list[Row]
    likeliest: dict[str, Row]
    certified: dict[str, Row]
    printed: Mapping[str, Any]  # empty for those that it does not have

    @classmethod
    def of(cls, results: PatternResults, name: str) -> PatternSpace:
        networks = results.networks.get(name, {})
        likeliest = {label: one.get("argmax", {}) for label, one in networks.items()}
        certified = {label: one["certified"] for label, one in networks.items() if one["certified"]}
        shipped = results.models.get(name)
        if CEA not in likeliest and shipped and shipped["argmax"]:  # a file's stands for CEA
            likeliest = {CEA: shipped["argmax"], **likeliest}
        for model, one in results.models.items():
            if MODELS[model] == name:
                certified[f"{model}.safetensors"] = one["certified"]
        held = results.tables.get(name), results.classical.get(name, [])
        return cls(name, *held, likeliest, certified, TABLE_2.get(name, {}))

    @property
    def main(self) -> Row | None:
        """The network to compare with: the file of that name, or else CEA trained here."""
        return self.certified.get(f"{self.name}.safetensors") or self.certified.get(CEA)

    @property
    def best(self) -> Row | None:
        """The strongest classical table of the bytes of our network, or of the paper's."""
        if self.main:
            return strongest(self.classical, self.main["bytes"])
        return strongest(self.classical, self.printed["cea"]["size"] * MB if self.printed else 0.0)

    @property
    def as_in_paper(self) -> Row | None:
        """Minima over neighbours in Myrvold and Ruskey's order: of the paper's factor, or otherwise
        of the network's size."""
        own = {**OF_PAPER, "pattern": self.classical[0]["pattern"]} if self.classical else {}
        rows = [row for row in self.classical if row.items() >= own.items()]
        if self.printed:
            return next((row for row in rows if row["factor"] == self.printed["factor"]), None)
        return replace(self, classical=rows).best

    def heuristics(self) -> list[tuple[str, Row | None]]:
        """Networks as the paper decodes them, then certified; None for what is missing."""
        certified: dict[str, Row | None] = {
            f"certified NN, {LABELS.get(label, label)}": row
            for label, row in self.certified.items()
            if not label.startswith("model-")
        }
        if not self.likeliest and not certified:
            return [("networks", None)]
        found = [(f"NN, {title}", self.likeliest.get(label)) for label, title in LABELS.items()]
        return [*found, *(certified or {"certified NN": None}).items()]

    def measures(self) -> dict[str, Row | None]:
        """By the columns of claims.toml. `equal` counts the values that as many states have as the
        paper prints."""
        found: dict[str, Row | None] = {**self.likeliest, "certified": self.main}
        found |= {"classical": self.best, "compressed": self.as_in_paper}
        for label, row in self.certified.items():
            number = label.removeprefix("model-")
            found[f"certified-{number}"] = row
            found[f"classical-{number}"] = strongest(self.classical, row["bytes"])
        if self.exact and self.name in TABLE_1:
            ours, theirs = self.exact["counts"], TABLE_3.get(self.name, ())
            found["here"] = {**self.exact, "equal": sum(map(operator.eq, ours, theirs))}
            counted = {"equal": max(len(ours), len(theirs))} if theirs else {}
            found["printed"] = {**TABLE_1[self.name], **counted}
        return found


def build_tables(results: PatternResults) -> list[Table]:
    return [table_1(results), table_2(results), table_3(results), table_5(results)]


def table_1(results: PatternResults) -> Table:
    """Databases: mean, states, size; the paper's beneath ours."""
    rows = []
    for name in dict.fromkeys([*results.tables, *TABLE_1]):
        ours, theirs = [NOT_BUILT, MISSING, MISSING, MISSING], ["", "", "", ""]
        if held := results.tables.get(name):
            ours = WORDS.row("table1", "here", mb=_mb(held["bytes"]), **held)
        if name in TABLE_1:
            theirs = WORDS.row("table1", "paper", **TABLE_1[name])
        rows.append([name, *(Cell(a, below=b) for a, b in zip(ours, theirs, strict=True))])
    return WORDS.table("table1", rows)


def table_2(results: PatternResults) -> Table:
    """Networks against compressed tables, by database."""
    names = dict.fromkeys([*compared_spaces(results), *TABLE_2])
    spaces = [PatternSpace.of(results, name) for name in names]
    return WORDS.table("table2", [row for space in spaces for row in _comparison(space)])


def compared_spaces(results: PatternResults) -> list[str]:
    """Those with classical tables to compare with."""
    return [name for name, rows in results.classical.items() if rows]


def _comparison(space: PatternSpace) -> Iterator[list[str]]:
    """The rows of one database, first the paper's."""
    name, exact = space.name, space.exact

    def row(kind: str, whose: str, mean: str, rate: float, size: float, whole: float) -> list[str]:
        return [kind, name, whose, mean, _rate(rate), _mb(size), f"{whole / size:.1f}x"]

    kinds = {"NN, CEA loss": "cea", "NN, CE loss": "ce", "compressed PDB": "compressed"}
    for kind, column in kinds.items() if space.printed else ():
        one = space.printed[column]
        whole = TABLE_1.get(name, TABLE_1["6-edge"])["size"]  # the difference is of six edges
        yield row(kind, PAPER, f"{one['mean']:.2f}", one["rate"], one["size"] * MB, whole * MB)
    for kind, one in space.heuristics():
        if one is None:
            yield [kind, name, HERE, NOT_LEARNED, *[MISSING] * 3]
        else:
            whole = exact["table_bytes"] if exact else one["states"] / 2  # 4 bits an entry
            yield row(kind, HERE, f"{one['mean']:.3f}", one.get("rate", 0.0), one["bytes"], whole)
    if not exact:
        yield ["classical tables", name, HERE, NOT_BUILT, *[MISSING] * 3]
        return
    found = {"compressed PDB": space.as_in_paper, "strongest classical": space.best}
    for title, one in found.items():
        if one:
            mean = one["total"] - (exact["total"] - exact["mean"])  # without the base's
            kind = f"{title}: {describe_compression(one)}"
            yield row(kind, HERE, f"{mean:.3f}", 0.0, one["bytes"], exact["table_bytes"])


def table_3(results: PatternResults) -> Table:
    """How many states have each value; the paper's beneath ours."""
    bases = ("4-edge", "5-edge")
    held = {name: one["counts"] for name, one in results.tables.items() if name not in bases}

    def cell(h: str, name: str) -> Cell:
        ours, theirs = (
            f"{counts[int(h)]:,}" if int(h) < len(counts) else MISSING
            for counts in (held[name], TABLE_3.get(name, ()))
        )
        return Cell(ours, below=theirs if name in TABLE_3 else "")

    highest = max(map(len, held.values()), default=0)
    return WORDS.grid("table3", map(str, range(highest)), list(held), cell)


def table_5(results: PatternResults) -> Table:
    """Networks of different sizes."""
    rows = []
    for number, model in enumerate(TABLE_5, start=1):
        shown: Row = {"number": number, "name": CORNERS.name, "rate": _rate(model["rate"])}
        shown |= {"mb": _mb(model["size"] * MB), "model": model}
        rows.append(WORDS.row("table5", "paper", **shown))
    for name, networks in results.networks.items():
        for label, one in networks.items():
            _, is_model, place = label.partition("model-")
            likeliest, certified = one["argmax"], one["certified"] or {}
            size = certified.get("bytes", likeliest["bytes"])
            best = strongest(results.classical.get(name, []), size)
            shown = {"shape": one["options"]["model_options"], "rate": _rate(likeliest["rate"])}
            shown |= {"mb": _mb(likeliest["bytes"])}
            shown |= {"certified_mb": _mb(size) if certified else MISSING}
            shown |= {"number": place, "name": name, "likeliest": likeliest}
            shown |= {
                "certified_mean": f"{certified['mean']:.3f}" if certified else MISSING,
                "classical": f"{best['mean']:.3f}" if best else MISSING,
            }
            if is_model:
                rows.append(WORDS.row("table5", "here", **shown))
    return WORDS.table("table5", rows)


def claims(results: PatternResults) -> list[Claim]:
    """Of the spaces that are studied here, and of those that the paper prints."""
    ours = {name: PatternSpace.of(results, name).measures() for name in results.tables}
    models = {f"model-{number}": one for number, one in enumerate(TABLE_5, start=1)}
    theirs = {**TABLE_2, CORNERS.name: {**TABLE_2[CORNERS.name], **models}}
    return Claim.judged(__file__, lambda _: (_source(ours), _source(theirs)))


def _source(spaces: Mapping[str, Mapping[str, Row | None]]) -> tuple[Look, Iterable[str]]:
    def look(metric: str, name: str, column: str) -> Spread | None:
        value = (spaces[name].get(column) or {}).get(metric or "mean")
        if value is None:
            return None
        text = f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
        return Spread(value, shown=_rate(value) if metric == "rate" else text)

    return look, spaces


def _mb(num_bytes: float) -> str:
    return f"{num_bytes / MB:.{2 if num_bytes >= 1e5 else 4}f}"


def _rate(share: float) -> str:
    return f"{share:.1e}" if share else "0"


@dataclass(frozen=True, slots=True)
class Point:
    """A heuristic that overestimates no state; `mean` counts that of its base."""

    what: str
    learned: bool
    num_bytes: int
    mean: float
    leads: bool  # nothing that is no larger has a larger mean


def frontier(space: PatternSpace) -> list[Point]:
    """All heuristics of a space by size, with those marked that nothing smaller or equal beats."""
    rows = [(describe_compression(row), False, row) for row in space.classical]
    rows += [(f"network {kind}", True, row) for kind, row in space.certified.items()]
    points, best = [], float("-inf")
    for what, learned, row in sorted(rows, key=lambda one: (one[2]["bytes"], -one[2]["total"])):
        points.append(Point(what, learned, row["bytes"], row["total"], row["total"] > best))
        best = max(best, row["total"])
    return points


def frontier_tables(name: str, points: list[Point]) -> list[Table]:
    """Those that lead and every network; and, folded, every heuristic of a space."""
    lines: list[list[Cell | str]] = [
        [
            point.what,
            f"{point.num_bytes:,}",
            Cell(f"{point.mean:.4f}", bold=point.leads),
            "learned" if point.learned else "classical",
            "yes" if point.leads else "no",
        ]
        for point in points
    ]
    pairs = zip(points, lines, strict=True)
    leading = [line for point, line in pairs if point.leads or point.learned]
    return [
        WORDS.table("leading", leading, name=name, verdict=verdict(points)),
        WORDS.table("frontier", lines, name=name, count=len(points)),
    ]


def verdict(points: list[Point]) -> str:
    """Who leads where, in a sentence."""
    networks = [point for point in points if point.learned]
    if not networks:
        return WORDS.text("no_networks")
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
