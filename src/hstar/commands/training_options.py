"""The options of training, for `hstar train` and `hstar pdb learn` alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error, positive, value
from hstar.slots.features import FEATURES
from hstar.slots.models import MODELS
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.training.options import TABLE_DEFAULTS, Sampling, TrainOptions, default_options

Flags = Sequence[tuple[Any, ...]]  # what `add` takes of each: usage, help, type

WHAT: Flags = (
    (
        "-m --model NAME",
        f"{', '.join(MODELS)}, or module:attribute (default: nlm for labels, mlp for tables)",
    ),
    ("-f --features NAME", f"{', '.join(FEATURES)} (default: what the model reads)"),
    (
        "-l --objective --loss NAME",
        f"{', '.join(OBJECTIVES)} (default: truncated-gaussian for labels, cea for tables)",
    ),
    (
        "--decode --decoding NAME",
        "mean, clip, truncated-mean, value, floor, argmax, quantile, or strict (tables): "
        "certified, with exceptions such that no state is overestimated",
    ),
)
OBJECTIVE: Flags = (
    ("--sigma SIGMA", "'learn' (default) or a positive number"),
    (
        "--base H",
        "heuristic that the model corrects: built-in, pdb:FILE, a model file, module:attribute, or "
        "none (default: ff); search needs its file too",
    ),
    (
        "--lower H",
        "lower bound of h*: lmcut (default), hmax, blind, none, or one from a file or of your own, "
        "as for the base",
    ),
    ("--cap fit|none|X", "limit the base to X times the lower bound (default: fit X)"),
    ("--epsilon X", "widen bounds by this much (default: 0.1)"),
    ("--beta X", "beta of the loss cea (default: 1)"),
    ("--eta X", "eta of the loss cea (default: 0.01)"),
    ("--shift X", "cea: added to values in weights (default: 1; the paper: 0)"),
    ("--pace {fixed,phases}", "cea: fixed beta and eta (default), or lower ones at stalls"),
)
SHAPE: Flags = (
    ("--hidden N", "mlp: width of the first layer (default: 200)"),
    ("--width N", "mlp: width of the residual blocks (default: 100)"),
    ("--blocks N", "mlp: number of residual blocks (default: 2)", int),
)
START = """\
continue with the network of this file, with its shape and bits, and round from the first step; use
a low --learning-rate, such as 2e-4"""


def add_training(parser: Parser) -> None:
    """Flags without a default here take that of the model or the objective."""
    what = parser.add_argument_group("what to train")
    how = parser.add_argument_group("objective")
    training = parser.add_argument_group("training")
    table = parser.add_argument_group("training on a table")
    for group, options in (
        *((what, WHAT), (how, OBJECTIVE), (training, flags_of(of_table=False)), (table, SHAPE)),
        *((table, flags_of(of_table=True)), (table, DECODE)),
    ):
        for option in options:
            parser.add(*option, to=group)
    about = "an option of the model, its features or the objective, such as width=16"
    parser.add("--option NAME=VALUE", about, to=what, action="append", default=[])
    parser.add("--threads N", "number of CPU threads (default: all)", to=training)
    parser.add("--compile", "compile the network with torch (on a GPU)", to=training)
    parser.add("--start FILE", START, to=table)
    about = "how states are drawn for a batch (default: uniform)"
    usage = "--sampling {uniform,proportional,tempered}"
    parser.add(usage, about, to=table)
    parser.add("--alpha X", "exponent of tempered (default: 0.5)", to=table)


def flags_of(of_table: bool) -> Flags:
    """Those of training itself."""
    found = []
    for one in fields(TrainOptions):
        if one.metadata.get("of_table") is of_table:
            kind = type(one.default)
            read = positive if one.metadata["least"] == 1 else kind
            metavar = {int: "N", float: "X", str: "NAME"}[kind]
            found.append((f"--{one.name.replace('_', '-')} {metavar}", one.metadata["help"], read))
    return found


def add_sweep(parser: Parser, batch: str) -> None:
    about = "states that a sweep computes at once; does not change results (default: 4096)"
    parser.add(f"{batch} N", about, dest="sweep_batch", default=4096)
    parser.add_json()


@value
def size(text: str) -> int:
    """Bytes; k and M are 10^3 and 10^6."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kM]?)B?", text)
    if not match:
        raise ValueError(f"'{text}' is no size; write for example 240k or 1.95M")
    return round(float(match[1]) * {"": 1, "k": 1e3, "M": 1e6}[match[2]])


DECODE: Flags = (
    ("--budget SIZE", "strict: largest mean within so many bytes, such as 240k", size),
    ("--mean X", "strict: smallest file with this mean"),
    ("--tau X", "probability for quantile (default: 0.99)"),
    ("--temperature X", "divide logits by X, for quantile and strict (default: 1)"),
    ("--share N", "strict: choose thresholds on one in N states (default: 1)"),
)


def training_options(given: Options, seed: int, of_table: bool) -> TrainOptions:
    """What the flags say. Raises UsageError for pieces that do not fit together."""
    model = given.model or ("mlp" if of_table else "nlm")
    name = given.objective or ("cea" if of_table else "truncated-gaussian")
    with as_usage_error():
        named = values_by_name(given)
        known = [one.name for one in fields(OBJECTIVES.find(name))]
        of_objective = {key: named.pop(key) for key in list(named) if key in known}
        chosen = {**of_objective, **_objective_options(given)}
        if of_table:  # states of a pattern have neither
            chosen = {key: "none" for key in ("base", "lower") if key in known} | chosen
        objective = make_objective(name, **chosen)
        decode = given.decode
        if decode is None and of_table and objective.form == "logits" and given.bits not in (0, 16):
            decode = "strict"
        options = dict(TABLE_DEFAULTS) if of_table else default_options(model, objective)
        options |= _given(given, (*flags_of(of_table=False), *flags_of(of_table=True)))
        if of_table and objective.form != "logits" and given.bits is None:
            options["bits"] = 0
        options |= {
            "model": model,
            "features": given.features,
            "objective": objective,
            "decode": decode,
            "model_options": {**named, **_given(given, SHAPE)},
            "decode_options": _given(given, DECODE),
            "sampling": Sampling(
                given.sampling or "uniform", 0.5 if given.alpha is None else given.alpha
            ),
            "seed": seed,
            "compile": given.compile,
        }
        return TrainOptions(**options)


def given_flags(given: Options) -> dict[str, Any]:
    """The values of all flags that were given of those that only the fit "torch" and tables have,
    but for `steps`."""
    every = (*OBJECTIVE, *SHAPE, *flags_of(of_table=False), *flags_of(of_table=True), *DECODE)
    return _given(given, [one for one in every if not one[0].startswith("--steps")])


def _given(given: Options, options: Flags) -> dict[str, Any]:
    """The values of those options that were given, by name."""
    names = [usage.split()[0].removeprefix("--").replace("-", "_") for usage, *_ in options]
    return {name: getattr(given, name) for name in names if getattr(given, name) is not None}


def _objective_options(given: Options) -> dict[str, Any]:
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


def values_by_name(given: Options) -> dict[str, Any]:
    """Of --option: numbers, true, false and null, or text."""
    from hstar.learning.recipe import value_of

    return {name: value_of(text) for name, text in given.named_values().items()}
