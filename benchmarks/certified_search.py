"""Search with certified heuristics finds optimal solutions, and Theorem 3 holds where one is not.

    python benchmarks/certified_search.py tiles|cube2|cube3 [-o ROWS.json] [--folder DIR]

tiles   all 181,440 states of the 8-puzzle, with A* and IDA*: heuristics learned and certified here,
        every length compared with the exact one; then networks that overestimate (argmax), every
        length compared with the bound of Theorem 3.
cube2   the same for the 2x2x2 cube, from random states.
cube3   scrambles of the 3x3x3 cube with IDA*: tables against the certified files in --models.

Exit code 1 if a length or a bound does not hold. What is learned is kept in --folder and not
learned again. One process on one core; values of networks are remembered by pattern while a search
goes on, so states per second are those of search, not those of the network alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import certified_cube
import certified_puzzles
import torch
from provenance import describe_run

from hstar.runtime.atomic import write_atomically


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for part in (certified_puzzles, certified_cube):
        part.add_parsers(commands)
    for command in commands.choices.values():
        command.add_argument("-o", dest="output", type=Path, help="also write the rows here, JSON")
        command.add_argument("--folder", type=Path, help="where to keep tables and networks")
    given = parser.parse_args()
    torch.set_num_threads(1)
    about = describe_run()
    for key, value in about.items():
        print(f"- {key}: {value}")
    print(flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        given.folder = given.folder or Path(temporary)
        given.folder.mkdir(parents=True, exist_ok=True)
        rows, holds = given.run(given)
    if given.output is not None:
        write_atomically(given.output, json.dumps({**about, "rows": rows}, indent=1) + "\n")
    print("\nEverything holds." if holds else "\nNOT everything holds.")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
