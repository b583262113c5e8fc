"""`hstar solve`: solve a puzzle."""

from __future__ import annotations

from importlib import import_module

from hstar import _core
from hstar.commands.arguments import Options, Parser, as_usage_error
from hstar.commands.plan import log_result
from hstar.pddl.errors import escape
from hstar.planning.result import stopped_before_search
from hstar.planning.search import run as search
from hstar.runtime.resources import OutOfResources
from hstar.slots.loader import load_search

HELP = "solve a puzzle"
DESCRIPTION = """\
Solve a puzzle: cube3, cube2, tiles-RxC, pancake-N or topspin-N-K. A state lists the piece in each
place ("1 0 2 3 4 5 6 7 8"); for cubes, the stickers in each place ("UF UR UB ..."). With admissible
pattern databases, idastar and astar find a shortest solution.
"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("puzzle", metavar="PUZZLE", help="a puzzle such as cube3 or tiles-4x4")
    start = parser.add_mutually_exclusive_group(required=True)
    parser.add("--state STATE", "the piece in each place", to=start)
    about = 'start from the goal after these moves, such as "R U2 F\'"'
    parser.add("--moves MOVES", about, to=start)
    parser.add("--scramble N", "start N random moves from the goal", to=start)
    parser.add("--seed N", "random seed of --scramble", int, default=0)
    parser.add_search(leave_out=("seed",))
    parser.set_defaults(heuristic="blind", algorithm="idastar")
    parser.add_json()
    parser.add_limits()


def run(options: Options) -> int:
    from hstar.planning.puzzle import make_puzzle

    start = _core.monotonic_seconds()
    import_module("numpy")  # which ends the process if it does not fit into a limit in force
    budget = options.start_budget()
    try:
        with as_usage_error(), budget.enforced():
            puzzle = make_puzzle(options.puzzle)
            state = puzzle.start(**options.values_of("state moves scramble seed"))
            chosen = load_search(options.specification(leave_out=("seed",)))
            if not options.json:
                print(f"Puzzle: {puzzle.name}.")
                print(f"State: {puzzle.format_state(state)}")
                print(escape(f"Search: {chosen.describe()}."))
            result = search(puzzle, chosen, budget, state)
    except OutOfResources as error:
        if options.json:
            print(stopped_before_search(error, _core.monotonic_seconds() - start).to_json())
        raise
    if options.json:
        print(result.to_json())
    else:
        log_result(result, options.heuristic)
        seconds = max(result.search_time, 1e-9)
        print(f"Nodes per second: {result.generated / seconds:.0f}")
        print(f"Total with reading files: {_core.monotonic_seconds() - start:.6f}s")
    return result.exit_code
