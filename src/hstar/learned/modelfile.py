"""The file of a learned heuristic: one .safetensors whose metadata says what the numbers mean.

The metadata is one JSON object under the key "hstar": format, model, config, objective, vocabulary,
domain, training, and a digest over everything, so that a changed file is noticed. No code is ever
loaded from a file.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_atomically

FORMAT = "hstar-model-1"
REQUIRED = ("model", "config", "objective", "domain", "training")
OBJECTIVE = {"loss", "sigma", "base", "lower", "epsilon", "cap"}


class ModelFileError(InputFileError):
    """A model file that cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a model file holds. `metadata` has the keys of REQUIRED and whatever the model adds."""

    metadata: dict[str, Any]
    tensors: dict[str, NDArray[np.float32]]


def write_model(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model file, completely or not at all."""
    from safetensors.numpy import save

    metadata = {"format": FORMAT, **model.metadata}
    metadata["digest"] = _digest(metadata, model.tensors)
    tensors = {name: np.ascontiguousarray(array) for name, array in model.tensors.items()}
    write_atomically(path, save(tensors, metadata={"hstar": json.dumps(metadata, sort_keys=True)}))


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read and check a model file. Raises ModelFileError."""
    from safetensors import SafetensorError, safe_open

    name = os.fspath(path)
    try:
        with safe_open(name, framework="numpy") as file:
            text = (file.metadata() or {}).get("hstar")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise ModelFileError("no such model file; train one with 'hstar train'", name) from None
    except OSError as error:
        raise ModelFileError(f"cannot read the model: {error.strerror or error}", name) from None
    except (SafetensorError, ValueError, TypeError) as error:
        raise ModelFileError(f"this is no intact .safetensors file ({error})", name) from None
    if text is None:
        raise ModelFileError("the file has no hstar metadata; it was not made by hstar", name)
    try:
        metadata = json.loads(text)
    except ValueError:
        raise ModelFileError("the metadata is damaged; train the model again", name) from None
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        found = metadata.get("format") if isinstance(metadata, dict) else None
        raise ModelFileError(
            f"the file has format {found!r}, this version of hstar reads {FORMAT!r}", name
        )
    digest = metadata.pop("digest", None)
    if digest != _digest(metadata, tensors):
        raise ModelFileError(
            "the file was changed after training (its digest does not match); "
            "use the original or train the model again",
            name,
        )
    for key in REQUIRED:
        if key not in metadata:
            raise ModelFileError(f"the metadata lacks {key!r}; train the model again", name)
    metadata["objective"] = _known_objective(metadata["objective"], name)
    return ModelFile(metadata, tensors)


def _known_objective(objective: dict[str, Any], path: str) -> dict[str, Any]:
    """Options of other versions of hstar do no harm unless they were used."""
    for key in objective.keys() - OBJECTIVE:
        if objective[key]:
            raise ModelFileError(
                f"the model was trained with {key!r}, which this version of hstar does not know; "
                "train it again",
                path,
            )
    return {key: value for key, value in objective.items() if key in OBJECTIVE}


def _digest(metadata: dict[str, Any], tensors: dict[str, NDArray[np.float32]]) -> str:
    sha = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        sha.update(f"{name} {array.dtype} {array.shape}".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()
