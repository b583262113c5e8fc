"""Pattern databases of the 3x3x3 cube on one core: time, memory, counts, compression, IDA*.

    python benchmarks/pattern_databases.py [--folder DIR] [--without-seven]

Builds the databases of the admissible-cea paper, each in a process of its own, and compares the
number of states at each distance with the paper's Table 3. Then every kind of compression: the
paper's (the minimum over neighbours) and stronger ones of equal size. Then IDA* with Korf's three
databases. Databases are kept in the folder and not built again if they are there, but then
their times are not measured either. CPU seconds are those of whole processes, start and writing of
files included; on a machine that does other work they say more than the clock.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hstar import search
from hstar.experiments.report import markdown_table
from hstar.pdb import PatternDatabase, PdbHeuristic, compress, read_pdb, subtract
from hstar.planning.puzzle import make_puzzle

# Table 3 of the paper.
TABLE_3: dict[str, list[int]] = {
    "8-corner": [
        *[1, 18, 243, 2874, 28000, 205416, 1168516, 5402628, 20776176, 45391616, 15139616, 64736],
    ],
    "6-edge": [1, 15, 184, 2256, 25909, 266101, 2239790, 12567043, 24415346, 3061105, 170],
    "7-edge": [
        *[1, 15, 191, 2455, 30519, 356462, 3766700, 32719467, 186297009, 274719633, 13042507, 81],
    ],
    "delta": [1076354, 11389507, 21759383, 7581788, 742213, 28240, 428, 7],
}
PATTERNS = {
    "8-corner": "corners",
    "6-edge": "edges:0-5",
    "7-edge": "edges:0-6",
    "4-edge": "edges:0-3",
    "5-edge": "edges:0-4",
    "Korf 1": "edges:1,3,8,9,10,11",
    "Korf 2": "edges:0,2,4,5,6,7",
}
LIMITS = {"8-corner": "8 s", "6-edge": "4 s", "7-edge": "40 s, 1.2 GB"}
SEVEN = "7-edge"

# Database, options of compress(), the mean of the paper's Table 2 where it has one.
COMPRESSIONS: list[tuple[str, dict[str, Any], str]] = [
    ("7-edge", {"div": 70}, "6.83"),
    ("7-edge", {"mod": -70}, ""),
    ("7-edge", {"div": 70, "order": "lex"}, ""),
    ("7-edge", {"div": 35, "order": "lex", "levels": "best"}, ""),
    ("8-corner", {"div": 23}, "6.84"),
    ("8-corner", {"mod": -23}, ""),
    ("8-corner", {"div": 23, "order": "lex"}, ""),
    ("8-corner", {"symmetric": True}, ""),
    ("6-edge", {"div": 11}, "6.68"),
    ("6-edge", {"mod": -11}, ""),
    ("6-edge", {"div": 11, "order": "lex"}, ""),
    ("6-edge", {"div": 6, "order": "lex"}, ""),
    ("6-edge", {"div": 6, "order": "lex", "levels": "best"}, ""),
    ("6-edge", {"div": 5, "order": "lex", "levels": "best"}, ""),
    ("6-edge", {"div": 4, "order": "lex", "levels": "best"}, ""),
    ("6-edge", {"div": 3, "order": "lex", "levels": "best"}, ""),
    ("5-edge", {}, ""),
    ("delta", {"div": 7}, "1.05"),
    ("delta", {"mod": -7}, ""),
    ("delta", {"div": 7, "order": "lex"}, ""),
]


def build(folder: Path, names: list[str]) -> None:
    """The databases in files, and a table of what they took."""
    rows = []
    for name in names:
        path = folder / f"{name.replace(' ', '-')}.pdb"
        if path.exists():
            continue
        command = ["pdb", "build", "cube3", "--pattern", PATTERNS[name], "-o", path, "--json"]
        before = cpu_seconds_of_children()
        done = subprocess.run(
            [sys.executable, "-m", "hstar", *command], check=True, capture_output=True
        )
        cpu = cpu_seconds_of_children() - before
        told = json.loads(done.stdout)
        verdict = "" if name not in TABLE_3 else "no"
        if name in TABLE_3 and told["counts"] == TABLE_3[name]:
            verdict = "exactly"
        rows.append(
            [
                name,
                f"{told['cells']:,}",
                f"{told['mean']:.6f}",
                f"{told['build_time']:.2f}",
                f"{cpu:.2f}",
                f"{told['peak_memory_kb'] / 1e3:.0f}",
                LIMITS.get(name, ""),
                verdict,
            ]
        )
    head = ["database", "states", "mean", "seconds", "CPU seconds", "peak MB", "limit", "Table 3"]
    print(markdown_table(head, rows), end="\n\n")


def cpu_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def load(folder: Path, name: str) -> PatternDatabase:
    if name == "delta":
        return subtract(load(folder, "6-edge"), load(folder, "4-edge"))
    return read_pdb(folder / f"{name.replace(' ', '-')}.pdb")


def compressions(folder: Path, names: list[str]) -> None:
    """Means of compressed databases; sizes count the base of a difference."""
    delta = load(folder, "delta")
    print(f"Delta(6,4) equals Table 3: {delta.histogram[0] == TABLE_3['delta']}", end="\n\n")
    rows = []
    for name, options, paper in COMPRESSIONS:
        if name not in names and name != "delta":
            continue
        source = delta if name == "delta" else load(folder, name)
        chosen = dict(options)
        if "mod" in chosen:  # as many cells as groups of so many neighbours have
            chosen["mod"] = -(source.layout.cells // chosen["mod"])
        small = compress(source, **chosen) if chosen else source
        # Classes have different sizes; over all states, nothing is lost.
        mean = source.mean if small.layout.symmetric else small.mean
        total = mean + (small.base.mean if small.base else 0.0)
        rows.append(
            [
                name,
                describe(options, small),
                f"{small.num_bytes / 1e6:.2f}",
                paper,
                f"{mean:.4f}",
                f"{total:.4f}" if small.base else "",
            ]
        )
    head = ["database", "compression", "MB", "mean (paper)", "mean", "with base"]
    print(markdown_table(head, rows), end="\n\n")


def describe(options: dict[str, Any], small: PatternDatabase) -> str:
    if options.get("symmetric"):
        return "48 symmetries, lossless"
    if not options:
        return "none"
    kind = "mod" if "mod" in options else "div"
    text = f"{kind} {abs(options[kind])}, {small.layout.order}"
    return text + (f", 2 bits {small.layout.levels}" if small.layout.levels else "")


def deepening(folder: Path) -> None:
    """IDA* with corners and two times six edges: nodes are states generated."""
    cube = make_puzzle("cube3")
    heuristic = PdbHeuristic([load(folder, name) for name in ("8-corner", "Korf 1", "Korf 2")])
    search(cube, heuristic, "idastar", state=cube.scramble(3, 0))  # makes the tables of moves
    rows = []
    for moves, seeds in ((10, 20), (11, 20), (12, 20), (13, 10), (14, 4)):
        start = time.process_time()
        found = [
            search(cube, heuristic, "idastar", state=cube.scramble(moves, s)) for s in range(seeds)
        ]
        cpu = time.process_time() - start
        nodes = sum(one.generated for one in found)
        seconds = sum(one.search_time for one in found)
        mean = sum(one.plan_length or 0 for one in found) / seeds
        rows.append(
            [
                str(moves),
                str(seeds),
                f"{mean:.2f}",
                f"{nodes / seeds:,.0f}",
                f"{seconds / seeds:.4f}",
                f"{nodes / seconds / 1e6:.1f}",
                f"{nodes / cpu / 1e6:.1f}",
            ]
        )
    head = [
        "random moves",
        "cubes",
        "mean length",
        "nodes each",
        "seconds each",
        "M nodes/s",
        "M nodes/CPU s",
    ]
    print(markdown_table(head, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to keep the databases")
    parser.add_argument("--without-seven", action="store_true", help="leave the 7-edge one out")
    options = parser.parse_args()
    names = [name for name in PATTERNS if name != SEVEN or not options.without_seven]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        build(folder, names)
        compressions(folder, names)
        deepening(folder)


if __name__ == "__main__":
    main()
