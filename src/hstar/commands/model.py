"""`hstar model show`: what a model file holds."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

from hstar.commands.arguments import Commands, add_command

if TYPE_CHECKING:
    from hstar.slots.model_file import ModelFile


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, "model", "show a model file")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    show = add_command(actions, "show", "describe a model file", run_show)
    show.add_argument("file", metavar="FILE", help=".safetensors")
    show.add_json()


def run_show(options: argparse.Namespace) -> int:
    model = _read(options.file)
    metadata = model.metadata
    num_bytes = os.stat(options.file).st_size
    parameters = sum(int(array.size) for array in model.tensors.values())
    if options.json:
        print(json.dumps({**metadata, "bytes": num_bytes, "numbers": parameters}))
        return 0
    names = {key: metadata[key]["name"] for key in ("features", "model", "objective", "decode")}
    domain = metadata["domain"]
    about = "one space" if domain is None else f"domain {domain['name']}"
    print(f"Form: {metadata['form']}; for {about}, cost {metadata['cost']}.")
    print("; ".join(f"{key.capitalize()}: {name}" for key, name in names.items()) + ".")
    print(f"Size: {num_bytes} bytes; {parameters} numbers in {len(model.tensors)} tensors.")
    certificate = metadata["certificate"]
    if certificate is None:
        print("The file has no certificate.")
    else:
        over, states = certificate.get("overestimates"), certificate.get("states")
        print(f"Certificate: {over} of {states} states overestimated.")
    return 0


def _read(path: str) -> ModelFile:
    """A file that can be used as a heuristic. Raises ModelFileError."""
    from hstar.slots.learned_heuristic import LearnedHeuristic
    from hstar.slots.model_file import read_model
    from hstar.slots.pattern_network import learned_of

    model = read_model(path)
    if model.metadata["form"] == "integers":
        learned_of(model, path, need_certificate=False)
    else:
        LearnedHeuristic(model, path)
    return model
