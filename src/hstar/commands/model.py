"""`hstar model show`: what a model file holds."""

from __future__ import annotations

import os
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hstar.commands.arguments import Options, Parser
from hstar.pddl.errors import count, escape
from hstar.planning.specification import SearchSpecification

if TYPE_CHECKING:
    from hstar.slots.model_file import ModelFile


HELP = "show a model file"


def add_arguments(parser: Parser) -> None:
    show = parser.add_command("show", "describe a model file", run_show)
    show.add_argument("file", metavar="FILE", help=".safetensors")
    show.add_json()


def run_show(options: Options) -> int:
    from hstar.slots.model_file import refusing_malformed

    model = _read(options.file)
    metadata = model.metadata
    num_bytes = os.stat(options.file).st_size
    parameters = sum(int(array.size) for array in model.tensors.values())
    size = f"{num_bytes} bytes; {count(parameters, 'number')}"
    with refusing_malformed(options.file):
        lines = [] if options.json else map(escape, _lines(model, size))
        options.tell({**metadata, "bytes": num_bytes, "numbers": parameters}, lines)
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
        f"Size: {size} in {count(len(model.tensors), 'tensor')}.",
    ]
    if outside := code_outside(metadata):
        lines.append(f"With --trust it runs the code {', '.join(outside)}.")
    else:
        ranks = "operators" in metadata
        held: Any = SimpleNamespace(
            label="this model", search=metadata["search"], ranks_operators=ranks
        )
        lines.append(f"Search: {SearchSpecification(held).describe()}.")
    lines.append(f"Verdict: {metadata['verdict']['sentence']}.")
    certificate = metadata["certificate"]
    if certificate is None:
        return [*lines, "The file has no certificate."]
    over, states = certificate.get("overestimates"), certificate.get("states")
    return [*lines, f"Certificate: {over} of {states} states overestimated."]


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
