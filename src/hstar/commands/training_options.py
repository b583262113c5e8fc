"""The options of training, for `hstar train` and `hstar pdb learn` alike."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hstar.commands.arguments import UsageError, positive

if TYPE_CHECKING:
    from hstar.training.options import TrainOptions

OBJECTIVE = ("sigma", "base", "lower", "epsilon", "cap", "beta", "eta", "pace")
DECODE = ("budget", "mean", "tau", "temperature", "share")
TRAINING = (
    "steps",
    "batch",
    "learning_rate",
    "weight_decay",
    "clip",
    "schedule",
    "evaluate_every",
    "patience",
    "bits",
    "quantize_from",
    "coarser",
    "device",
)


def add_training(parser: argparse.ArgumentParser) -> None:
    """Flags without a default here take that of the model or the objective."""
    what = parser.add_argument_group("what to train")
    what.add_argument(
        "-m",
        "--model",
        metavar="NAME",
        help="nlm (labels), mlp (tables), hgn, linear, or module:attribute",
    )
    what.add_argument(
        "-f", "--features", metavar="NAME", help="atoms, hypergraph, relaxed-plans, digits or facts"
    )
    what.add_argument(
        "-l",
        "--objective",
        "--loss",
        metavar="NAME",
        help="gaussian, truncated-gaussian (labels), l-gbfs, l-star, ce, cea (tables)",
    )
    what.add_argument(
        "--decode",
        "--decoding",
        metavar="NAME",
        help="mean, clip, truncated-mean, value, argmax, quantile, or strict (tables): certified, "
        "with exceptions such that no state is overestimated",
    )
    what.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the model, its features or the objective: width, depth, hidden, types, ...",
    )
    objective = parser.add_argument_group("objective")
    objective.add_argument("--sigma", help="'learn' (default) or a positive number")
    objective.add_argument("--base", metavar="H", help="heuristic to correct, or none (default ff)")
    objective.add_argument(
        "--lower", metavar="H", help="lower bound: lmcut (default), hmax, blind or none"
    )
    objective.add_argument(
        "--cap",
        metavar="fit|none|X",
        help="the base is at most X times the lower bound (default: what the labels ask for)",
    )
    objective.add_argument(
        "--epsilon", type=float, metavar="X", help="how far bounds are opened (default 0.1)"
    )
    objective.add_argument("--beta", type=float, metavar="X", help="of cea (default 1)")
    objective.add_argument("--eta", type=float, metavar="X", help="of cea (default 0.01)")
    objective.add_argument(
        "--pace",
        choices=["fixed", "phases"],
        help="of cea: phases lower beta and eta whenever progress stalls (default fixed)",
    )
    how = parser.add_argument_group("training")
    how.add_argument("--steps", type=positive, metavar="N", help="default 4000, tables 3000")
    how.add_argument("--batch", type=positive, metavar="N", help="states a step (256; tables 4096)")
    how.add_argument(
        "--learning-rate", type=float, metavar="X", help="default 0.01; mlp 0.003; hgn 0.001"
    )
    how.add_argument("--weight-decay", type=float, metavar="X", help="default 0.01 for nlm, else 0")
    how.add_argument(
        "--clip", type=float, metavar="X", help="norm of gradients (default 0.1; mlp 0: no bound)"
    )
    how.add_argument("--schedule", metavar="NAME", help="cosine (default) or constant")
    how.add_argument("--evaluate-every", type=positive, metavar="N", help="steps (200; tables 250)")
    how.add_argument(
        "--patience",
        type=int,
        metavar="N",
        help="stop after N evaluations without progress; 0: never (default 8)",
    )
    how.add_argument("--device", metavar="NAME", help="auto (default), cpu or cuda")
    how.add_argument("--threads", type=positive, metavar="N", help="CPU threads (default: all)")
    how.add_argument("--compile", action="store_true", help="compile the network (GPU)")
    table = parser.add_argument_group("training on a table")
    table.add_argument("--hidden", type=positive, metavar="N", help="of mlp: first layer (200)")
    table.add_argument("--width", type=positive, metavar="N", help="of mlp: residual blocks (100)")
    table.add_argument("--blocks", type=int, metavar="N", help="of mlp: how many of them (2)")
    table.add_argument(
        "--bits",
        type=int,
        metavar="N",
        help="of a weight, 2 to 8 (default 8); 0: floating point",
    )
    table.add_argument(
        "--quantize-from", type=float, metavar="X", help="share of steps in floats (default 0.6)"
    )
    table.add_argument(
        "--start",
        metavar="FILE",
        help="go on from the network of this file, in its shape and bits and rounded from the "
        "start; needs a lower --learning-rate, such as 2e-4",
    )
    table.add_argument(
        "--coarser",
        type=float,
        metavar="X",
        help="with --start: weights in steps X times as large take fewer bytes (default 1)",
    )
    table.add_argument(
        "--sampling",
        choices=["uniform", "proportional", "tempered"],
        default="uniform",
        help="which states a batch holds (default uniform)",
    )
    table.add_argument("--alpha", type=float, default=0.5, metavar="X", help="of tempered (0.5)")
    table.add_argument(
        "--budget", type=size, metavar="SIZE", help="strict: strongest within 240k, 1.95M, ..."
    )
    table.add_argument("--mean", type=float, metavar="X", help="strict: smallest with this mean")
    table.add_argument("--tau", type=float, metavar="X", help="of quantile (default 0.99)")
    table.add_argument("--temperature", type=float, metavar="X", help="of quantile, strict (1)")
    table.add_argument(
        "--share", type=positive, metavar="N", help="strict: choose by one in N states (default 1)"
    )


def add_sweep(parser: argparse.ArgumentParser, batch: str) -> None:
    parser.add_argument(
        batch,
        dest="sweep_batch",
        type=positive,
        default=4096,
        metavar="N",
        help="states that a sweep computes at once; changes no result (default 4096)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def size(text: str) -> int:
    """Bytes; k and M are 10^3 and 10^6."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kM]?)B?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write for example 240k or 1.95M")
    return round(float(match[1]) * {"": 1, "k": 1e3, "M": 1e6}[match[2]])


def training_options(given: argparse.Namespace, seed: int, of_table: bool) -> TrainOptions:
    """What the flags say. Raises UsageError for pieces that do not fit together."""
    from hstar.objectives import OBJECTIVES, make_objective
    from hstar.training.draws import Sampling
    from hstar.training.options import TrainOptions, default_options

    model = given.model or ("mlp" if of_table else "nlm")
    name = given.objective or ("cea" if of_table else "truncated-gaussian")
    try:
        named = dict(_option(text) for text in given.option)
        known = [one.name for one in fields(OBJECTIVES.find(name))]
        of_objective = {key: named.pop(key) for key in list(named) if key in known}
        chosen = {**of_objective, **_objective_options(given)}
        if of_table:  # states of a pattern have neither
            chosen = {key: "none" for key in ("base", "lower") if key in known} | chosen
        objective = make_objective(name, **chosen)
        decode = given.decode
        if decode is None and of_table and objective.form == "logits" and given.bits != 0:
            decode = "strict"
        options = {
            **default_options(model, objective, of_table),
            **_given(given, TRAINING),
        }
        if of_table and objective.form != "logits" and given.bits is None:
            options["bits"] = 0
        return TrainOptions(
            **{
                **options,
                "model": model,
                "features": given.features,
                "objective": objective,
                "decode": decode,
                "model_options": {
                    **named,
                    **_given(given, ("hidden", "width", "blocks")),
                },
                "decode_options": _given(given, DECODE),
                "sampling": Sampling(given.sampling, given.alpha),
                "seed": seed,
                "compile": given.compile,
            }
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _given(options: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _objective_options(given: argparse.Namespace) -> dict[str, Any]:
    chosen = _given(given, OBJECTIVE)
    for name, words in (("sigma", {"learn": None}), ("cap", {"fit": "fit", "none": None})):
        if name not in chosen:
            continue
        text = chosen[name]
        try:
            chosen[name] = words[text] if text in words else float(text)
        except ValueError:
            known = " or ".join(f"'{word}'" for word in words)
            raise UsageError(f"--{name} must be {known} or a number, not '{text}'") from None
    return chosen


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--option takes NAME=VALUE, not '{text}'")
    try:
        return name, json.loads(value.lower())
    except ValueError:
        return name, value
