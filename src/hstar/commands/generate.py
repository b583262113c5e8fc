"""`hstar generate`: random problems of a well-known domain, one folder per split."""

from __future__ import annotations

import argparse

from hstar.commands.arguments import EPILOG, Commands, UsageError, positive

DESCRIPTION = """\
Write random problems of a domain to DIR/train, DIR/validation and DIR/test. No two splits share a
problem, not even with renamed objects, whatever the sizes and seeds. Write sizes as 5, 5-16 or
2,4,6. Without them, sizes and numbers of problems are those of the literature (see --list).
"""

# The size parameters of all domains, listed here so that other commands need not load the domains.
SIZES = (
    "airplanes",
    "balls",
    "blocks",
    "cars",
    "cities",
    "columns",
    "curbs",
    "floors",
    "instruments",
    "locations",
    "modes",
    "packages",
    "passengers",
    "ratio",
    "rows",
    "satellites",
    "side",
    "stars",
    "stations",
)
LONGEST_RANGE = 10_000


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "generate",
        help="write random problems",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument(
        "domain",
        nargs="?",
        metavar="DOMAIN",
        help="a name from --list, or module:attribute for a Generator of your own",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder to write to")
    parser.add_argument(
        "--split",
        default="all",
        choices=["train", "validation", "test", "all"],
        metavar="SPLIT",
        help="one of train, validation, test, all (default: all)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="another seed gives other problems (default: 0)",
    )
    parser.add_argument(
        "--count",
        type=positive,
        metavar="N",
        help="problems per split, spread evenly over the sizes",
    )
    parser.add_argument("--list", action="store_true", help="list domains and sizes, then exit")
    sizes = parser.add_argument_group("sizes", "see --list for the sizes of each domain")
    for name in SIZES:
        sizes.add_argument(f"--{name}", type=numbers, metavar="RANGE")
    parser.set_defaults(command=run)


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
            raise argparse.ArgumentTypeError(
                f"'{text}' is not a range; write 5, 5-16, 2,4,6 or 0.5,1.0"
            ) from None
    return sorted(values)


def run(options: argparse.Namespace) -> int:
    from hstar.domains import SPLITS, generate

    if options.list:
        print(overview(), end="")
        return 0
    if options.domain is None or options.output is None:
        missing = "DOMAIN" if options.domain is None else "-o DIR"
        raise UsageError(f"expected {missing}; 'hstar generate --list' names the domains")
    given = {name: getattr(options, name) for name in SIZES}
    try:
        written = generate(
            options.domain,
            options.output,
            SPLITS if options.split == "all" else (options.split,),
            options.seed,
            count=options.count,
            ranges={name: values for name, values in given.items() if values is not None},
            progress=True,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    for split in written:
        done = "" if split.written else " (nothing to do: all exist already)"
        print(f"{split.split}: {split.problems} problems in {split.directory}{done}")
        if split.forms < split.problems:
            twins = split.problems - split.forms
            print(f"  {twins} differ from another problem only in the names of objects")
        if split.resized:
            print(f"  {split.resized} have another size, because the one asked for has no more")
    return 0


def overview() -> str:
    """The domains, their sizes, and what each split contains by default."""
    from hstar.domains import DOMAINS

    lines = []
    for generator in DOMAINS.values():
        lines.append(f"{generator.name}: {generator.summary}")
        lines += [f"  --{one.name:<12} {one.meaning}" for one in generator.parameters]
        for split, plan in generator.splits.items():
            sizes = ", ".join(
                f"{one.name} {values_text({size[one.name] for size in plan.sizes})}"
                for one in generator.parameters
            )
            lines.append(f"  {split}: {plan.count} problems; {sizes}")
    return "\n".join(lines) + "\n"


def values_text(values: set[int | float]) -> str:
    """Numbers as the size options take them."""
    ordered = sorted(values)
    if len(ordered) > 2 and ordered == list(range(int(ordered[0]), int(ordered[-1]) + 1)):
        return f"{ordered[0]}-{ordered[-1]}"
    return ",".join(f"{value:g}" for value in ordered)
