"""The 3x3x3 cube: IDA* with certified networks finds solutions as short as with tables."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hstar import search
from hstar.experiments.report import markdown_table
from hstar.pdb import PatternDatabase, PdbHeuristic, build_pdb, parse_pattern, read_pdb, write_pdb
from hstar.pdb.heuristic import PatternHeuristic
from hstar.planning.puzzle import Puzzle, States, make_puzzle
from hstar.planning.result import SearchResult
from hstar.slots.pattern_network import read_learned

TABLES = {"8-corner": "corners", "6-edge": "edges:0-5", "other 6-edge": "edges:6-11"}
MODELS = ("8-corner", "6-edge", "7-edge", "delta-6-4")
TOGETHER = (("8-corner", "6-edge"), ("8-corner", "7-edge"), ("8-corner", "delta-6-4"), MODELS)
LENGTHS = range(8, 14)

HEAD = [
    *["heuristic", "bytes", "equal lengths", "nodes", "nodes on networks", "seconds"],
    *["nodes/s", "nodes/CPU s"],
]


@dataclass(frozen=True, slots=True)
class Contestant:
    """A maximum of heuristics, and the bytes of their tables or files. One alone generates hundreds
    of times as many nodes, so it gets short scrambles only."""

    name: str
    parts: list[PatternHeuristic]
    num_bytes: int

    @property
    def is_single(self) -> bool:
        return len(self.parts) == 1


def add_parsers(commands: Any) -> None:
    parser = commands.add_parser("cube3", help="the 3x3x3 cube")
    parser.add_argument("--models", type=Path, help="folder with certified files, NAME.safetensors")
    parser.add_argument("--scrambles", type=int, default=200, metavar="N")
    parser.add_argument("--longest", type=int, default=LENGTHS[-1], metavar="N", help="scramble")
    parser.add_argument(
        "--singly", type=int, default=11, metavar="N", help="longest scramble for one alone"
    )
    parser.add_argument(
        "--together",
        action="append",
        metavar="NAME,NAME",
        help="networks whose maximum is tried; once for each (default: "
        + " ".join(",".join(names) for names in TOGETHER)
        + ")",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> tuple[list[dict[str, Any]], bool]:
    cube = make_puzzle("cube3")
    lengths = range(min(LENGTHS[0], given.longest), given.longest + 1)
    scrambled = [lengths[number % len(lengths)] for number in range(given.scrambles)]
    starts = [cube.scramble(length, number) for number, length in enumerate(scrambled)]
    rows: list[dict[str, Any]] = []
    expected: list[int] | None = None
    asked = [tuple(names.split(",")) for names in given.together or []]
    for name in (name for names in asked for name in names):
        if name not in MODELS:
            sys.exit(f"--together: there is no network {name}; choose of {', '.join(MODELS)}")
    if asked and given.models is None:
        sys.exit("--together needs --models FOLDER")
    for contestant in contestants(cube, given.folder, given.models, asked or list(TOGETHER)):
        heuristic = PdbHeuristic(contestant.parts)
        search(cube, heuristic, "idastar", state=cube.scramble(2, 0))  # makes the tables of moves
        before = heuristic.bind(cube).network_states
        clock, cpu = time.monotonic(), time.process_time()
        limit = given.singly if contestant.is_single else lengths[-1]
        taken = [number for number, length in enumerate(scrambled) if length <= limit]
        found = [solved(cube, starts[number], heuristic) for number in taken]
        cpu, clock = time.process_time() - cpu, time.monotonic() - clock
        shortest = [one.plan_length or 0 for one in found]
        expected = expected or shortest
        nodes = sum(one.generated for one in found)
        rows.append(
            {
                "heuristic": contestant.name,
                "bytes": contestant.num_bytes,
                "scrambles": len(taken),
                "equal": sum(
                    length == expected[number]
                    for number, length in zip(taken, shortest, strict=True)
                ),
                "mean_length": sum(shortest) / max(len(shortest), 1),
                "nodes": nodes,
                "evaluated": sum(one.evaluated for one in found),
                "network_states": heuristic.bind(cube).network_states - before,
                "seconds": round(clock, 2),
                "cpu_seconds": round(cpu, 2),
                "nodes_per_second": nodes / clock,
            }
        )
        print(f"- {contestant.name}: {clock:.1f} s", flush=True)
    assert expected is not None
    share = {length: expected.count(length) for length in sorted(set(expected))}
    print(f"\n{len(starts)} scrambles of {lengths[0]} to {lengths[-1]} moves; shortest: {share}\n")
    print(markdown_table(HEAD, [cells(row) for row in rows]))
    return rows, all(row["equal"] == row["scrambles"] for row in rows)


def solved(cube: Puzzle, start: States, heuristic: PdbHeuristic) -> SearchResult:
    result = search(cube, heuristic, "idastar", state=start)
    if not result.solved:
        sys.exit(f"a search ended early: {result.status}")
    return result


def contestants(
    cube: Puzzle, folder: Path, models: Path | None, together: list[tuple[str, ...]]
) -> list[Contestant]:
    """Tables first: they say what is shortest."""
    tables = {name: table_of(cube, name, folder) for name in TABLES}
    result = [joined("tables: all three", list(tables.values()))]
    result += [joined(f"table: {name}", [table]) for name, table in tables.items()]
    if models is None:
        print("- no --models: tables alone")
        return result
    learned = {}
    for name in MODELS:
        path = models / f"{name}.safetensors"
        if path.exists():
            learned[name] = (read_learned(path).model, path.stat().st_size)
        else:
            print(f"- {path.name} is not there and left out")
    for name, (model, size) in learned.items():
        result.append(Contestant(f"network: {name}", [model], size))
    for names in together:
        if all(name in learned for name in names):
            result.append(maximum(learned, names))
    return result


def maximum(learned: dict[str, tuple[Any, int]], names: tuple[str, ...]) -> Contestant:
    size = sum(learned[name][1] for name in names)
    return Contestant(f"networks: {', '.join(names)}", [learned[name][0] for name in names], size)


def joined(name: str, tables: list[PatternDatabase]) -> Contestant:
    return Contestant(name, list(tables), sum(table.num_bytes for table in tables))


def table_of(cube: Puzzle, name: str, folder: Path) -> PatternDatabase:
    path = folder / f"{name.replace(' ', '-')}.pdb"
    if not path.exists():
        write_pdb(path, build_pdb(cube, parse_pattern(cube, TABLES[name])))
    return read_pdb(path)


def cells(row: dict[str, Any]) -> list[str]:
    return [
        row["heuristic"],
        f"{row['bytes']:,}",
        f"{row['equal']} of {row['scrambles']}",
        f"{row['nodes']:,}",
        f"{row['network_states']:,}",
        f"{row['seconds']:.1f}",
        f"{row['nodes_per_second']:,.0f}",
        f"{row['nodes'] / max(row['cpu_seconds'], 1e-3):,.0f}",
    ]
