"""`hstar generate`: random problems of a well-known domain, one folder per split."""

from __future__ import annotations

from pathlib import Path

from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error, input_files, value
from hstar.domains import DOMAINS, SPLITS, generate
from hstar.pddl.errors import count, escape

HELP = "write random problems"
DESCRIPTION = """\
Write random problems of a domain to DIR/train, DIR/validation and DIR/test. No two splits share a
problem, not even with renamed objects, whatever the sizes and seeds; with --as-drawn they may.
Write sizes as 5, 5-16 or 2,4,6. Without them, sizes and numbers of problems are those of the
literature (see --list).

With --walks N PROBLEM, write at most N problems to DIR that differ from PROBLEM only in the initial
state: it is where a random walk from the initial state of PROBLEM ends.
"""

SIZES = sorted({one.name for domain in DOMAINS.values() for one in domain.parameters})
LONGEST_RANGE = 10_000
MOST_WALKS = 10**8


def add_arguments(parser: Parser) -> None:
    about = "a name from --list, or module:attribute for your own Generator; a problem with --walks"
    parser.add_argument("domain", nargs="?", metavar="DOMAIN|PROBLEM", help=about)
    parser.add("-o --output DIR", "the folder to write to")
    splits = ["train", "validation", "test", "all"]
    parser.add("--split SPLIT", f"one of {', '.join(splits)}", choices=splits, default="all")
    parser.add("--seed N", "random seed of the problems (default: 0)", int, default=0)
    parser.add("--count N", "number of problems per split, spread evenly over the sizes")
    parser.add("--as-drawn", "take problems as they are drawn; they may repeat, also across splits")
    parser.add("--list", "list domains and sizes, then exit")
    parser.add("--walks N", "number of new initial states of PROBLEM")
    parser.add("--steps N", "length of each random walk", default=200)
    sizes = parser.add_argument_group("sizes", "see --list for the sizes of each domain")
    for name in SIZES:
        parser.add(f"--{name} RANGE", type=numbers, to=sizes)


@value
def numbers(text: str) -> list[int | float]:
    """The numbers of "5", "5-16", "2,4,6" or "0.5,1.0", each once, in ascending order."""
    values: set[int | float] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            if dash:
                low, high = int(first), int(last)
                if not low <= high < low + LONGEST_RANGE:
                    raise ValueError
                values.update(range(low, high + 1))
            else:
                values.add(int(first) if first.isdigit() else float(first))
        except ValueError:
            message = f"'{text}' is not a range; write 5, 5-16, 2,4,6 or 0.5,1.0"
            raise ValueError(message) from None
    return sorted(values)


def run(options: Options) -> int:
    if options.list:
        print(overview(), end="")
        return 0
    if options.domain is None or options.output is None:
        missing = "DOMAIN" if options.domain is None else "-o DIR"
        raise UsageError(f"expected {missing}; 'hstar generate --list' names the domains")
    if options.walks is not None:
        return write_problems_of_walks(options)
    given = options.values_of(" ".join(SIZES))
    ranges = {name: values for name, values in given.items() if values is not None}
    splits = SPLITS if options.split == "all" else (options.split,)
    what = options.domain, options.output, splits, options.seed
    with as_usage_error():
        apart = not options.as_drawn
        written = generate(*what, count=options.count, ranges=ranges, apart=apart, progress=True)
    for split in written:
        where = escape(str(split.directory))
        done = "" if split.written else " (nothing to do: all exist already)"
        print(f"{split.split}: {count(split.problems, 'problem')} in {where}{done}")
        if split.forms < split.problems:
            twins = split.problems - split.forms
            print(f"  {twins} differ from another problem only in the names of objects")
        if split.resized:
            print(f"  {split.resized} have another size, because the one asked for has no more")
    return 0


def write_problems_of_walks(options: Options) -> int:
    from hstar.domains.walks import write_walks

    if options.split != "all" or any(getattr(options, name) for name in ("count", *SIZES)):
        raise UsageError("--walks takes one problem as it is; leave out --split, --count and sizes")
    if max(options.walks, options.steps) > MOST_WALKS:
        raise UsageError(f"--walks and --steps are at most {MOST_WALKS}")
    domain, problem = input_files([options.domain])
    folder = Path(options.output)
    written = write_walks(domain, problem, folder, options.walks, options.steps, options.seed)
    print(f"{count(written, 'problem')} in {escape(str(folder))}")
    if written < options.walks:
        print(f"  the walks reached only {written} states that are new and satisfy no goal")
    return 0


def overview() -> str:
    lines = []
    for generator in DOMAINS.values():
        lines.append(f"{generator.name}: {generator.summary}")
        lines += [f"  --{one.name:<12} {one.meaning}" for one in generator.parameters]
        for split, plan in generator.splits.items():
            sizes = ", ".join(
                f"{one.name} {values_text({size[one.name] for size in plan.sizes})}"
                for one in generator.parameters
            )
            lines.append(f"  {split}: {count(plan.count, 'problem')}; {sizes}")
    return "\n".join(lines) + "\n"


def values_text(values: set[int | float]) -> str:
    """Numbers as the size options take them."""
    ordered = sorted(values)
    if len(ordered) > 2 and ordered == list(range(int(ordered[0]), int(ordered[-1]) + 1)):
        return f"{ordered[0]}-{ordered[-1]}"
    return ",".join(f"{value:g}" for value in ordered)
