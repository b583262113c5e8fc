"""`hstar pdb`: pattern databases, and certified networks instead of them."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error, find_space
from hstar.commands.training_options import add_sweep, add_training, training_options
from hstar.pddl.errors import escape
from hstar.runtime.atomic import check_writable
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget

if TYPE_CHECKING:
    from hstar.pdb import PatternDatabase
    from hstar.planning.space import Space
    from hstar.slots.pattern_network import LearnedFile
    from hstar.training.loop import Line

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

LEARN = """\
Learn a network that replaces a pattern database, and certify it: hstar checks every state, stores
those that the network overestimates as exceptions, and checks every state again. FILE is a pattern
database (or a difference to a smaller one) made by 'hstar pdb'. For a database of a planning task,
add its PDDL files. A killed run continues when it is run again. This command is the same as
'hstar train FILE' with a table.
"""

VERIFY = """\
Build the pattern database of a learned file from scratch, compare every state with it, and compare
what is found with the file's certificate. The exit code is 0 if the certificate holds and no state
is overestimated, 1 if not.
"""

SWEEP = """\
Compare a heuristic with a pattern database on every state of it: the mean, and how many states are
overestimated, by their exact value. MODEL is whatever 'hstar solve -H' or 'hstar plan -H' takes,
such as a network from 'hstar pdb learn --bits 0', a certified one, or module:attribute. Nothing is
written into the model.
"""


def add_arguments(commands: Parser) -> None:
    parser = commands.add_command("build", "compute a pattern database", run_build, BUILD)
    parser.add_argument("space", nargs="+", metavar="SPACE", help="a puzzle, or [DOMAIN] PROBLEM")
    parser.add("--pattern PATTERN", "the pieces or variables to keep", required=True)
    parser.add("-o --output FILE", "the database file to write", required=True)
    parser.add("--additive", "for tiles: count only moves of the pattern's tiles")
    about, kinds = "for PDDL: what an operator costs, normal or one", ["normal", "one"]
    parser.add("--cost TYPE", about, choices=kinds, default="normal")
    parser.add_json()
    parser.add_limits()

    about = "make a pattern database smaller"
    parser = commands.add_command("compress", about, run_compress, COMPRESS)
    parser.add_argument("file", metavar="FILE", help="a pattern database")
    parser.add("-o --output FILE", "the database file to write", required=True)
    parser.add("--subtract BASE", "store only the difference to this database")
    parser.add("--order {mr,lex}", "order of the entries before grouping")
    parser.add("--symmetry", "for corners of cube3: one entry per symmetry class", dest="symmetric")
    parser.add("--div K", "replace K neighbouring entries by their minimum")
    parser.add("--mod M", "replace entries with equal index modulo M by their minimum")
    parser.add("--levels VALUES", "2 bits per entry for four values, such as 0,6,7,8; or best")
    parser.add_json()
    parser.add_limits()

    parser = commands.add_command("show", "describe a pattern database, or a learned one", run_show)
    parser.add_argument("file", metavar="FILE", help="a pattern database, or a learned one")
    parser.add_json()

    about = "learn a network that replaces a pattern database"
    parser = commands.add_command("learn", about, learn_table, LEARN)
    _add_source(parser, "a pattern database")
    parser.add("-o --output FILE", "the model file to write (.safetensors)", required=True)
    about = "seed of all random numbers (default: 0)"
    parser.add("--seed N", about, str, dest="seeds", default="0")
    add_training(parser)
    add_sweep(parser, "--sweep-batch")

    about = "compare any heuristic with a pattern database"
    parser = commands.add_command("sweep", about, run_sweep, SWEEP)
    parser.add_argument("model", metavar="MODEL", help="a model file or another heuristic")
    _add_source(parser, "a pattern database")
    parser.add("--device NAME", "where networks run: auto (default), cpu or cuda", default="auto")
    parser.add("--decode NAME", "another decode than that of the model file")
    parser.add("--threads N", "number of threads (default: all cores)")
    parser.add("--plot FILE", "draw the overestimated states (.svg, .pdf or .png)")
    add_sweep(parser, "--batch")
    parser.add_limits()

    about = "check a learned pattern database from scratch"
    parser = commands.add_command("verify", about, run_verify, VERIFY)
    _add_source(parser, "a learned pattern database")
    parser.add("--threads N", "number of threads (default: all cores)")
    add_sweep(parser, "--batch")
    parser.add_limits()


def _add_source(parser: Parser, what: str) -> None:
    parser.add_argument("file", metavar="FILE", help=what)
    parser.add_argument("pddl", nargs="*", metavar="PDDL", help="[DOMAIN] PROBLEM, for a task")


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
        show_learned(options)
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


def learn_table(options: Options) -> int:
    """Train on a table; in integers, the result is swept over every state."""
    from hstar.pdb import read_pdb
    from hstar.slots.pattern_network import read_learned
    from hstar.training.certified.learning import learn
    from hstar.training.certified.sweep import SweepOptions
    from hstar.training.source import TableData
    from hstar.training.train import prepare_table

    check_writable(options.output)
    database = read_pdb(options.file)
    if options.start is None and options.coarser is not None:
        raise UsageError("--coarser changes the network of --start FILE; give one")
    start = None
    if options.start is not None:
        start = read_learned(options.start, need_certificate=False).model.network
    if not options.seeds.isdecimal():
        raise UsageError(f"training on a table takes one seed, not '{options.seeds}'")
    chosen = training_options(options, int(options.seeds), of_table=True)
    if start is not None and not chosen.in_integers:
        raise UsageError("--start goes on from a network in integers; leave out --bits")
    data = TableData(database, _space_of(options, database))
    sweeping = SweepOptions(options.threads or 0, options.sweep_batch, Progress)
    with Progress("learn", chosen.steps) as progress:

        def report(line: Line, steps: int) -> None:
            text = f"loss {line['train_loss']:.4f}"
            if "accuracy" in line:
                text += f", right {line['accuracy']:.4f}, too large {line['overestimates']:.1e}"
            progress.update(line["step"], text)

        with as_usage_error():
            if not chosen.in_integers:
                loop = prepare_table(data, chosen).write(options.output, report)
                print(f"{options.output}: loss {loop.best['train_loss']:.4f}, not certified")
                return 0
            learned = learn(data, options.output, chosen, sweeping, report, start=start)
    assert learned is not None
    certificate = learned.file.certificate or {}
    held = {**_sizes(learned.file, learned.num_bytes), "seconds": round(learned.loop.seconds, 1)}
    lines = [*_certificate_lines(certificate), _size_line(held), f"Time: {held['seconds']}s"]
    options.tell({**held, **certificate}, lines)
    return 0


def run_verify(options: Options) -> int:
    from hstar.training.certified.certificate import verify_file
    from hstar.training.certified.sweep import SweepOptions

    budget = options.start_budget()
    with budget.enforced():
        space = find_space(options.pddl, budget) if options.pddl else None
        sweeping = SweepOptions(options.threads or 0, options.sweep_batch, Progress, budget)
        _, verification = verify_file(options.file, space=space, options=sweeping)
    certificate, holds = verification.certificate, verification.holds
    differences = verification.differences
    lines = _certificate_lines(certificate)
    if differences:
        lines.append(f"The certificate says otherwise of: {', '.join(differences)}.")
    lines.append("The certificate holds." if holds else "The certificate does NOT hold.")
    options.tell({"holds": holds, "differences": differences, **certificate}, lines)
    return 0 if holds else 1


def run_sweep(options: Options) -> int:
    from hstar.pdb import read_pdb
    from hstar.slots.loader import find_heuristic
    from hstar.training.certified.measurement import measure
    from hstar.training.certified.sweep import SweepOptions
    from hstar.training.train import choose_device

    if options.plot:
        from hstar.experiments.report.excess import excess_figure, format_of, write_figure

        with as_usage_error():
            format_of(options.plot)
        check_writable(options.plot)
    budget = options.start_budget()
    with budget.enforced(), as_usage_error():
        database = read_pdb(options.file)
        space = _space_of(options, database)
        sweeping = SweepOptions(options.threads or 0, options.sweep_batch, Progress, budget)
        heuristic = find_heuristic(options.model, options.decode)
        found = measure(heuristic, database, space, choose_device(options.device), sweeping)
    if options.plot:
        name = os.path.basename(options.model)
        figure = excess_figure({name: found.overestimates}, database.layout.space)
        write_figure(figure, options.plot)
    count = sum(pair[2] for pair in found.overestimates)
    lines = [
        f"States: {found.states}; overestimated: {count} ({found.rate:.2e}).",
        f"Mean: {found.mean:.6f} (the table: {database.mean:.6f})",
        "Exact value: states, overestimated",
        *(f"{value:5}: {states}, {over}" for value, states, over in found.by_value),
    ]
    options.tell(found.to_dict(), lines)
    return 0


def _space_of(options: Options, database: PatternDatabase) -> Space:
    if options.pddl:
        return find_space(options.pddl, Budget())
    if database.layout.space == "pddl":
        raise UsageError("a database of a planning task needs its PDDL files")
    return find_space([database.layout.space], Budget())


def show_learned(options: Options) -> None:
    """Print what a learned file holds and what its certificate says, without checking it anew."""
    from hstar.slots.model_file import refusing_malformed
    from hstar.slots.pattern_network import read_learned

    file = read_learned(options.file, need_certificate=False)
    held = {
        **_sizes(file, os.stat(options.file).st_size),
        "network": file.model.network.to_metadata(),
        "decoding": asdict(file.model.decoding),
        "values": list(file.model.values),
        "certificate": file.certificate,
        "notes": file.notes,
    }
    network = held["network"]
    with refusing_malformed(options.file):
        lines = _certificate_lines({} if options.json else file.certificate or {})
    layers = f"Layers: {network['widths']}; bits of weights: {network['bits']}."
    options.tell(held, [*lines, _size_line(held), layers])


def _sizes(file: LearnedFile, num_bytes: int) -> dict[str, Any]:
    exceptions = file.model.exceptions
    return {
        "bytes": num_bytes,
        "parameters": file.model.network.num_parameters,
        "exceptions": sum(one.count for one in exceptions),
        "exception_bytes": sum(len(one.code) for one in exceptions),
    }


def _size_line(held: dict[str, Any]) -> str:
    return (
        f"Size: {held['bytes']} bytes; {held['parameters']} parameters, "
        f"{held['exceptions']} exceptions in {held['exception_bytes']} bytes."
    )


def _certificate_lines(certificate: dict[str, Any]) -> list[str]:
    if not certificate:
        return ["The file has no certificate."]
    exact = certificate["exact_total"] / max(certificate["states"], 1)
    lines = [
        f"Space: {certificate['space']}. Variables: {','.join(map(str, certificate['pattern']))}.",
        f"States: {certificate['states']}; overestimated: {certificate['overestimates']}.",
        f"Mean: {certificate['mean']:.6f} (the table: {exact:.6f})",
        "Value: states",
    ]
    lines += [f"{value:5}: {count}" for value, count in certificate["histogram"]]
    return [escape(line) for line in lines]
