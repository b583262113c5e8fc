"""`hstar model`: show a model file, or write one of an earlier version in today's format."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from typing import TYPE_CHECKING

from hstar.commands.arguments import Commands, UsageError, add_command
from hstar.pddl.errors import escape
from hstar.runtime.atomic import check_writable

if TYPE_CHECKING:
    from hstar.slots.model_file import ModelFile

CONVERT = """\
Read a model file of any version of hstar and write it in today's format. Weights, options and the
certificate stay as they are; 'hstar pdb verify' checks a certified network from scratch.
"""


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, "model", "show or convert a model file")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    show = add_command(actions, "show", "describe a model file", run_show)
    show.add_argument("file", metavar="FILE", help=".safetensors")
    show.add_json()
    about = "write a model file in today's format"
    convert = add_command(actions, "convert", about, run_convert, CONVERT)
    convert.add_argument("old", metavar="OLD", help="a model file of any version")
    convert.add_argument("new", metavar="NEW", help="where to write it (.safetensors)")


def run_show(options: argparse.Namespace) -> int:
    from hstar.slots.model_file import refusing_malformed

    model = _read(options.file)
    metadata = model.metadata
    num_bytes = os.stat(options.file).st_size
    parameters = sum(int(array.size) for array in model.tensors.values())
    if options.json:
        print(json.dumps({**metadata, "bytes": num_bytes, "numbers": parameters}))
        return 0
    with refusing_malformed(options.file):
        lines = _lines(model, f"{num_bytes} bytes; {parameters} numbers")
    print("\n".join(map(escape, lines)))
    return 0


def _lines(model: ModelFile, size: str) -> list[str]:
    """What a model file says of the model. Raises all that malformed metadata may cause."""
    from hstar.slots.model_file import code_outside

    metadata = model.metadata
    names = {key: metadata[key]["name"] for key in ("features", "model", "objective", "decode")}
    domain = metadata["domain"]
    about = "one space" if domain is None else f"domain {domain['name']}"
    lines = [
        f"Form: {metadata['form']}; for {about}, cost {metadata['cost']}.",
        "; ".join(f"{key.capitalize()}: {name}" for key, name in names.items()) + ".",
        f"Size: {size} in {len(model.tensors)} tensors.",
    ]
    if outside := code_outside(metadata):
        lines.append(f"With --trust it runs the code {', '.join(outside)}.")
    certificate = metadata["certificate"]
    if certificate is None:
        return [*lines, "The file has no certificate."]
    over, states = certificate.get("overestimates"), certificate.get("states")
    return [*lines, f"Certificate: {over} of {states} states overestimated."]


def run_convert(options: argparse.Namespace) -> int:
    from hstar.slots.model_file import write_model

    if not options.new.endswith(".safetensors"):
        raise UsageError(f"the output must end in .safetensors, not '{options.new}'")
    check_writable(options.new)
    num_bytes = write_model(options.new, _read(options.old))
    print(escape(f"{options.new}: {num_bytes} bytes"))
    return 0


def _read(path: str) -> ModelFile:
    """A file that can be used as a heuristic; code that it names is not run. Raises
    ModelFileError."""
    from hstar.slots.learned_heuristic import LearnedHeuristic
    from hstar.slots.model_file import TrustedCodeWarning, code_outside, read_model
    from hstar.slots.pattern_network import learned_of

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustedCodeWarning)
        model = read_model(path, trust=True)
    if model.metadata["form"] == "integers":
        learned_of(model, path, need_certificate=False)
    elif not code_outside(model.metadata):
        LearnedHeuristic(model, path)
    return model
