"""`hstar pdb learn` and `hstar pdb verify`: networks instead of tables, certified."""

from __future__ import annotations

import argparse
import json
import os
import re
from typing import TYPE_CHECKING, Any

from hstar.commands.arguments import EPILOG, Commands, UsageError, add_limits, positive
from hstar.commands.spaces import find_space
from hstar.runtime.atomic import check_writable
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget

if TYPE_CHECKING:
    from hstar.certified.learning import Learned
    from hstar.learned.certified_file import LearnedFile
    from hstar.training.rounded import Window

LEARN = """\
Learn a network that replaces a pattern database, and certify it: every state is looked at, those
that the network overestimates are stored as exceptions, and a second look at every state finds
none. FILE is a pattern database (or a difference to a smaller one) made by 'hstar pdb'; for one of
a planning task, add its PDDL files. A killed run goes on where it was when it is started again.
"""

VERIFY = """\
Build the pattern database of a learned file from scratch, compare every state with it, and compare
what is found with the file's certificate. Exit code 0: no state is overestimated and the
certificate holds; 1: not so.
"""


def add_learn(actions: Commands) -> None:
    parser = actions.add_parser(
        "learn",
        help="learn a network that replaces a pattern database",
        description=LEARN,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="a pattern database")
    parser.add_argument("pddl", nargs="*", metavar="PDDL", help="[DOMAIN] PROBLEM of its task")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="a .safetensors file")
    net = parser.add_argument_group("network")
    net.add_argument("--hidden", type=positive, default=200, metavar="N", help="first layer")
    net.add_argument("--width", type=positive, default=100, metavar="N", help="residual blocks")
    net.add_argument("--blocks", type=int, default=2, metavar="N", help="how many of them")
    net.add_argument("--bits", type=int, default=8, metavar="N", help="of a weight, 2 to 8")
    net.add_argument(
        "--start",
        metavar="FILE",
        help="go on from the network of this learned database, in its shape and bits and rounded "
        "from the start; wants a lower --learning-rate, such as 2e-4",
    )
    net.add_argument(
        "--coarser",
        type=float,
        default=1.0,
        metavar="X",
        help="with --start: weights in steps X times as large take fewer bytes",
    )
    training = parser.add_argument_group("training")
    training.add_argument("--loss", choices=["cea", "ce"], default="cea")
    training.add_argument("--beta", type=float, default=1.0, metavar="X", help="of CEA")
    training.add_argument("--eta", type=float, default=0.01, metavar="X", help="of CEA")
    training.add_argument(
        "--pace",
        choices=["fixed", "phases"],
        default="fixed",
        help="phases: lower beta and eta whenever progress stalls",
    )
    training.add_argument(
        "--sampling", choices=["uniform", "proportional", "tempered"], default="uniform"
    )
    training.add_argument("--alpha", type=float, default=0.5, metavar="X", help="of tempered")
    training.add_argument("--steps", type=positive, default=3000, metavar="N")
    training.add_argument("--batch", type=positive, default=4096, metavar="N")
    training.add_argument("--learning-rate", type=float, default=3e-3, metavar="X")
    training.add_argument(
        "--quantize-from", type=float, default=0.6, metavar="X", help="share of steps in floats"
    )
    training.add_argument("--evaluate-every", type=positive, default=250, metavar="N")
    training.add_argument("--seed", type=int, default=0, metavar="N")
    training.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu or cuda")
    training.add_argument("--compile", action="store_true", help="compile the network (GPU)")
    wanted = parser.add_argument_group("result")
    wanted.add_argument(
        "--decoding",
        choices=["strict", "quantile", "argmax"],
        default="strict",
        help="strict: admissible, with exceptions and a certificate",
    )
    wanted.add_argument(
        "--budget", type=size, metavar="SIZE", help="strongest within such a file: 240k, 1.95M"
    )
    wanted.add_argument("--mean", type=float, metavar="X", help="smallest with this mean")
    wanted.add_argument("--tau", type=float, default=0.99, metavar="X", help="of quantile")
    wanted.add_argument("--temperature", type=float, default=1.0, metavar="X")
    wanted.add_argument(
        "--share", type=positive, default=1, metavar="N", help="choose tau by one in N states"
    )
    _add_sweep(parser, "--sweep-batch")
    parser.set_defaults(command=run_learn)


def add_verify(actions: Commands) -> None:
    parser = actions.add_parser(
        "verify",
        help="check a learned pattern database from scratch",
        description=VERIFY,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="a learned pattern database")
    parser.add_argument("pddl", nargs="*", metavar="PDDL", help="[DOMAIN] PROBLEM of its task")
    _add_sweep(parser, "--batch")
    add_limits(parser)
    parser.set_defaults(command=run_verify)


def _add_sweep(parser: argparse.ArgumentParser, batch: str) -> None:
    parser.add_argument("--threads", type=positive, metavar="N", help="default: all cores")
    parser.add_argument(
        batch,
        dest="sweep_batch",
        type=positive,
        default=4096,
        metavar="N",
        help="states at once; changes no result",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def size(text: str) -> int:
    """Bytes; k and M are 10^3 and 10^6."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kM]?)B?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write for example 240k or 1.95M")
    return round(float(match[1]) * {"": 1, "k": 1e3, "M": 1e6}[match[2]])


def run_learn(options: argparse.Namespace) -> int:
    from hstar.certified.learning import Target, learn
    from hstar.certified.sweep import SweepOptions
    from hstar.learned.certified_file import read_learned
    from hstar.objectives.cea import Loss
    from hstar.pdb import read_pdb
    from hstar.spaces.puzzle import make_puzzle
    from hstar.training.draws import Sampling
    from hstar.training.options import LearnOptions

    check_writable(options.output)
    database = read_pdb(options.file)
    start = None
    if options.start is None and options.coarser != 1:
        raise UsageError("--coarser changes the network of --start FILE; give one")
    if options.start is not None:
        start = read_learned(options.start, need_certificate=False).model.network
    try:
        chosen = LearnOptions(
            loss=Loss(options.loss, options.beta, options.eta),
            sampling=Sampling(options.sampling, options.alpha),
            **{
                name: getattr(options, name)
                for name in (
                    "hidden",
                    "width",
                    "blocks",
                    "bits",
                    "pace",
                    "steps",
                    "batch",
                    "learning_rate",
                    "quantize_from",
                    "coarser",
                    "evaluate_every",
                    "seed",
                    "device",
                    "compile",
                )
            },
        )
        target = Target(
            options.decoding,
            options.budget,
            options.mean,
            options.tau,
            options.temperature,
            options.share,
        )
        if options.pddl:
            space = find_space(options.pddl, Budget())
        elif database.layout.space == "pddl":
            raise UsageError("a database of a planning task needs its PDDL files")
        else:
            space = make_puzzle(database.layout.space)
        with Progress("learn", chosen.steps) as progress:

            def report(window: Window, steps: int) -> None:
                progress.update(
                    window.step,
                    f"loss {window.loss:.4f}, right {window.accuracy:.4f}, "
                    f"too large {window.overestimates:.1e}",
                )

            sweeping = SweepOptions(options.threads or 0, options.sweep_batch, Progress)
            learned = learn(
                database, space, options.output, chosen, target, sweeping, report, start=start
            )
    except (ValueError, FloatingPointError) as error:
        raise UsageError(str(error)) from error
    assert learned is not None
    _report_learned(learned, options.json)
    return 0


def run_verify(options: argparse.Namespace) -> int:
    from hstar.certified.certificate import verify_file
    from hstar.certified.sweep import SweepOptions

    budget = Budget.starting_now(options.overall_time_limit, options.overall_memory_limit)
    with budget.enforced():
        space = find_space(options.pddl, budget) if options.pddl else None
        sweeping = SweepOptions(options.threads or 0, options.sweep_batch, Progress)
        _, verification = verify_file(options.file, space=space, options=sweeping, budget=budget)
    certificate = verification.certificate
    if options.json:
        print(
            json.dumps(
                {
                    "holds": verification.holds,
                    "differences": verification.differences,
                    **certificate.to_dict(),
                }
            )
        )
    else:
        print("\n".join(_certificate_lines(certificate.to_dict())))
        if verification.differences:
            print(f"The certificate says otherwise of: {', '.join(verification.differences)}.")
        print("The certificate holds." if verification.holds else "The certificate does NOT hold.")
    return 0 if verification.holds else 1


def show(path: str, as_json: bool) -> None:
    """Print what a learned file holds and what its certificate says, without checking it anew."""
    from hstar.learned.certified_file import read_learned

    file = read_learned(path, need_certificate=False)
    held = {
        **_sizes(file, os.stat(path).st_size),
        "network": file.model.network.to_metadata(),
        "decoding": file.model.decoding.to_metadata(),
        "values": list(file.model.values),
        "certificate": file.certificate,
        "notes": file.notes,
    }
    if as_json:
        print(json.dumps(held))
        return
    print("\n".join(_certificate_lines(file.certificate or {})))
    print(_size_line(held))
    network = held["network"]
    print(f"Layers: {network['widths']}; bits of weights: {network['bits']}.")


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


def _report_learned(learned: Learned, as_json: bool) -> None:
    held: dict[str, Any] = {
        **_sizes(learned.file, learned.num_bytes),
        "seconds": round(learned.seconds, 1),
        **learned.certificate.to_dict(),
    }
    if as_json:
        print(json.dumps(held))
        return
    print("\n".join(_certificate_lines(learned.certificate.to_dict())))
    print(_size_line(held))
    print(f"Time: {held['seconds']}s")


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
    return lines + [f"{value:5}: {count}" for value, count in certificate["histogram"]]
