"""`hstar pdb`: build, compress and show pattern databases."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.commands import certified
from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error, find_space
from hstar.runtime.atomic import check_writable

if TYPE_CHECKING:
    from hstar.pdb import PatternDatabase

HELP = "build, compress, show, learn and verify pattern databases"
BUILD = """\
Build a pattern database: the distance of every abstract state to the goal. SPACE is a puzzle
(cube3, cube2, tiles-RxC, pancake-N, topspin-N-K) or the PDDL files [DOMAIN] PROBLEM.

Patterns of a puzzle: corners, edges:0-5, tiles:1,2,5; only 1,2,5 if there is one sort of piece.
Patterns of a PDDL problem: numbers of variables such as 0,3,7-9; goal for the variables of the
goal; auto:100000 for goals and what they depend on, with at most 100000 abstract states.
"""

COMPRESS = """\
Make a pattern database smaller. Values never rise, so it stays admissible. Options apply in this
order: --subtract, --order and --symmetry, --div or --mod, --levels.
"""


def add_arguments(parser: Parser) -> None:
    for add in (add_build, add_compress, add_show, certified.add_learn, certified.add_verify):
        add(parser)


def add_build(commands: Parser) -> None:
    parser = commands.add_command("build", "compute a pattern database", run_build, BUILD)
    parser.add_argument("space", nargs="+", metavar="SPACE", help="a puzzle, or [DOMAIN] PROBLEM")
    parser.add("--pattern PATTERN", "the pieces or variables to keep", required=True)
    parser.add("-o --output FILE", "the database file to write", required=True)
    parser.add("--additive", "for tiles: count only moves of the pattern's tiles")
    about, kinds = "for PDDL: what an operator costs, normal or one", ["normal", "one"]
    parser.add("--cost TYPE", about, choices=kinds, default="normal")
    parser.add_json()
    parser.add_limits()


def add_compress(commands: Parser) -> None:
    about = "make a pattern database smaller"
    parser = commands.add_command("compress", about, run_compress, COMPRESS)
    parser.add_argument("file", metavar="FILE", help="a pattern database")
    parser.add("-o --output FILE", "the database file to write", required=True)
    parser.add("--subtract BASE", "store only the difference to this database")
    parser.add("--order {mr,lex}", "order of the entries before grouping")
    about = "for corners of cube3: one entry per symmetry class"
    parser.add("--symmetry", about, dest="symmetric")
    parser.add("--div K", "replace K neighbouring entries by their minimum")
    parser.add("--mod M", "replace entries with equal index modulo M by their minimum")
    parser.add("--levels VALUES", "2 bits per entry for four values, such as 0,6,7,8; or best")
    parser.add_json()
    parser.add_limits()


def add_show(commands: Parser) -> None:
    about = "describe a pattern database, or a learned one"
    parser = commands.add_command("show", about, run_show)
    parser.add_argument("file", metavar="FILE", help="a pattern database, or a learned one")
    parser.add_json()


def run_build(options: Options) -> int:
    from hstar.pdb import build_pdb, parse_pattern, write_pdb

    check_writable(options.output)
    budget = options.start_budget()
    with budget.enforced():
        space = find_space(options.space, budget)
        start = _core.monotonic_seconds()
        with as_usage_error():
            pattern = parse_pattern(space, options.pattern)
            database = build_pdb(
                space, pattern, additive=options.additive, cost=options.cost, budget=budget
            )
        seconds = _core.monotonic_seconds() - start
        write_pdb(options.output, database)
    report(options, database, build_time=seconds)
    return 0


def run_compress(options: Options) -> int:
    from hstar.pdb import compress, read_pdb, subtract, write_pdb

    check_writable(options.output)
    budget, how = options.start_budget(), options.values_of("div mod order symmetric")
    with budget.enforced():
        database = read_pdb(options.file)
        with as_usage_error():
            if options.subtract is not None:
                database = subtract(database, read_pdb(options.subtract), budget=budget)
            levels = parse_levels(options.levels)
            database = compress(database, levels=levels, budget=budget, **how)
        write_pdb(options.output, database)
    report(options, database)
    return 0


def run_show(options: Options) -> int:
    from hstar.pdb import read_pdb
    from hstar.planning.heuristics import is_model_file

    if is_model_file(options.file):
        certified.show(options)
    else:
        report(options, read_pdb(options.file))
    return 0


def parse_levels(text: str | None) -> list[int] | str | None:
    if text is None or text == "best":
        return text
    if not all(part.isdecimal() for part in text.split(",")):
        raise UsageError(f"'{text}' is not a list of levels; write for example 0,6,7,8, or best")
    return [int(part) for part in text.split(",")]


def describe(database: PatternDatabase) -> dict[str, Any]:
    """Layout, size, mean and counts of a database and of its base."""
    held = asdict(database.layout)
    del held["fingerprint"]
    counts, unreached = database.histogram
    return {
        **held,
        "bytes": database.num_bytes,
        "mean": database.mean,
        "counts": counts,
        "unreached": unreached,
        "base": None if database.base is None else describe(database.base),
    }


def report(options: Options, database: PatternDatabase, build_time: float | None = None) -> None:
    held = describe(database)
    said, peak = lines(held), _core.peak_resident_bytes() // 1024
    if build_time is not None:
        held |= {"build_time": build_time, "peak_memory_kb": peak}
        said += [f"Build time: {build_time:.3f}s", f"Peak memory: {peak} KB"]
    options.tell(held, said)


def lines(description: dict[str, Any]) -> list[str]:
    pattern = ",".join(map(str, description["pattern"]))
    extras = [f"{description['bits']} bits per entry"]
    if description["grouping"] != "none":
        extras.append(f"minimum over {description['grouping']} {description['number']}")
    if description["order"] != "mr":
        extras.append("lexicographic order")
    extras += [word for word in ("symmetric", "additive") if description[word]]
    if description["levels"]:
        extras.append(f"levels {','.join(map(str, description['levels']))}")
    result = [
        f"Space: {description['space']}. Variables: {pattern}.",
        f"Table: {description['cells']} entries, {', '.join(extras)}.",
        f"Size: {description['bytes'] / 1e6:.3f} MB.",
        f"Mean: {description['mean']:.6f}",
        "Value: entries",
    ]
    result += [f"{h:5}: {count}" for h, count in enumerate(description["counts"]) if count]
    if description["unreached"]:
        result.append(f"unreachable: {description['unreached']}")
    if description["base"] is not None:
        total = description["mean"] + description["base"]["mean"]
        result += [f"Mean with its base: {total:.6f}", "", "Base", *lines(description["base"])]
    return result
