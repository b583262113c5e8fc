"""`hstar solve`: solve a puzzle."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hstar import _core
from hstar.algorithms import SEARCHES
from hstar.commands.arguments import EPILOG, Commands, UsageError, add_limits, positive
from hstar.commands.plan import log_result
from hstar.runtime.resources import Budget, OutOfResources
from hstar.search import SearchResult, search, stopped_before_search

if TYPE_CHECKING:
    from hstar.spaces.puzzle import Puzzle, States

FITTING = [name for name, entry in SEARCHES.items() if "puzzle" in entry.spaces]

DESCRIPTION = """\
Solve a puzzle: cube3, cube2, tiles-RxC, pancake-N or topspin-N-K. A state lists the piece in each
place ("1 0 2 3 4 5 6 7 8"); for cubes, the stickers in each place ("UF UR UB ..."). With admissible
pattern databases, idastar and astar find a shortest solution.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "solve",
        help="solve a puzzle",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument("puzzle", metavar="PUZZLE", help="such as cube3 or tiles-4x4")
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument("--state", metavar="STATE", help="the piece in each place")
    start.add_argument(
        "--moves", metavar="MOVES", help='start from the goal after these moves, such as "R U2 F\'"'
    )
    start.add_argument(
        "--scramble", type=positive, metavar="N", help="start N random moves from the goal"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed of --scramble"
    )
    parser.add_argument(
        "-H",
        "--heuristic",
        default="blind",
        metavar="NAME",
        help="blind, pdb:FILE,FILE (maximum of databases) or pdb:FILE+FILE (sum)",
    )
    parser.add_argument(
        "-s",
        "--search",
        default="idastar",
        choices=FITTING,
        metavar="NAME",
        help=f"one of {', '.join(FITTING)} (default: idastar)",
    )
    parser.add_argument(
        "--weight", type=float, default=3.0, metavar="W", help="weight of h in wastar"
    )
    parser.add_argument(
        "--batch", type=positive, default=1, metavar="K", help="expand the K best states at once"
    )
    parser.add_argument("--max-evaluations", type=positive, metavar="N")
    parser.add_argument("--max-expansions", type=positive, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    add_limits(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    start = _core.monotonic_seconds()
    budget = Budget.starting_now(options.overall_time_limit, options.overall_memory_limit)
    try:
        with budget.enforced():
            result = solve_puzzle(options, budget)
    except OutOfResources as error:
        if options.json:
            print(stopped_before_search(error, _core.monotonic_seconds() - start).to_json())
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error
    if options.json:
        print(result.to_json())
    else:
        log_result(result, options.heuristic)
        seconds = max(result.search_time, 1e-9)
        print(f"Nodes per second: {result.generated / seconds:.0f}")
        print(f"Total with reading files: {_core.monotonic_seconds() - start:.6f}s")
    return result.exit_code


def solve_puzzle(options: argparse.Namespace, budget: Budget) -> SearchResult:
    from hstar.learned.loader import find_heuristic
    from hstar.spaces.puzzle import make_puzzle

    puzzle = make_puzzle(options.puzzle)
    state = start_state(puzzle, options)
    heuristic = find_heuristic(options.heuristic)
    if not options.json:
        print(f"Puzzle: {puzzle.name}.")
        print(f"State: {puzzle.format_state(state)}")
        print(f"Search: {options.search}; heuristic {options.heuristic}.", flush=True)
    return search(
        puzzle,
        heuristic,
        options.search,
        state=state,
        weight=options.weight,
        batch=options.batch,
        max_evaluations=options.max_evaluations,
        max_expansions=options.max_expansions,
        budget=budget,
    )


def start_state(puzzle: Puzzle, options: argparse.Namespace) -> States:
    if options.state is not None:
        return puzzle.parse_state(options.state)
    if options.moves is not None:
        return puzzle.after(puzzle.parse_moves(options.moves))
    return puzzle.scramble(options.scramble, options.seed)
