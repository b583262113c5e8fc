"""The model file: one .safetensors whose metadata says what the numbers mean.

docs/architecture.md describes the metadata, a JSON object under the key "hstar". The digest is that
of the whole file with zeros in the digest's own place. So a file in which any byte was changed is
refused before anything in it is used. No code is ever loaded from a file, and a file that names
code outside the installed packages, as module:attribute, is refused unless the reader trusts it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.pddl.errors import InputFileError, quote
from hstar.planning.heuristics import is_file
from hstar.runtime.atomic import check_writable, write_atomically
from hstar.slots.features.vocabulary import domain_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hstar.pddl import Domain

FORMAT = "hstar-model-2"
NO_DIGEST = "0" * 64
DIGEST_PLACE = b'\\"digest\\":\\"'  # JSON within JSON
DTYPES = {  # of tensors: codes of the modules struct and array, which NumPy knows as well
    **{"BOOL": "?", "F16": "e", "F32": "f", "F64": "d"},
    **{f"I{8 * size}": code for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))},
    **{f"U{8 * size}": code for size, code in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))},
}
PIECE = 2**20  # bytes that are read and digested at once

FORMS = ("float", "integers")  # of weights
NAMED = {"name": str, "config": dict}
SCHEMA: dict[str, Any] = {  # (schema,): that, or null
    "form": str,
    "features": NAMED,
    "model": NAMED,
    "objective": {"name": str},
    "decode": {"name": str},
    "cost": str,
    "domain": ({"name": str, "hash": str},),
    "training": dict,
    "certificate": (dict,),
    "search": {"algorithm": str},  # what 'hstar plan -H FILE' uses
    "verdict": {"sentence": str, "use": str},  # "learned", "default", "trade" or "unknown"
}
OPTIONAL: dict[str, Any] = {
    "operators": {"actions": list, "colours": list},  # with a tensor of weights: ranks operators
}
UNCOMPARED = {  # until a learner says otherwise
    "search": {"algorithm": "gbfs"},
    "verdict": {"sentence": "not compared with the default planner", "use": "unknown"},
}


class ModelFileError(InputFileError):
    """A model file that cannot be used; the message says why and what to do."""


class TrustedCodeWarning(UserWarning):
    """A model file imports code that came neither with hstar nor with an installed package."""


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds. `metadata` is as `model_metadata` makes it. Buffers are arrays, or
    whatever else has a shape and numbers one after the other: a search in the core needs no NumPy,
    and importing it takes as long as a small search."""

    metadata: dict[str, Any]
    buffers: Mapping[str, Any] = field(repr=False)

    @cached_property
    def tensors(self) -> dict[str, NDArray[Any]]:
        import numpy as np

        return {name: np.asarray(buffer) for name, buffer in self.buffers.items()}

    def __reduce__(self) -> tuple[object, ...]:
        return ModelFile, (self.metadata, self.tensors)


def model_metadata(
    *,
    features: tuple[str, dict[str, Any]],
    model: tuple[str, dict[str, Any]],
    objective: dict[str, Any],
    decode: dict[str, Any],
    domain: Domain | None,
    training: dict[str, Any],
    form: str = "float",
    cost: str = "one",
    certificate: dict[str, Any] | None = None,
    **optional: Any,
) -> dict[str, Any]:
    """The metadata of a model file, as plain JSON. `features` and `model` are names with their
    configurations. No domain: the model belongs to one space. `optional` is of OPTIONAL."""
    described = {
        "form": form,
        "features": dict(zip(NAMED, features, strict=True)),
        "model": dict(zip(NAMED, model, strict=True)),
        "objective": objective,
        "decode": decode,
        "cost": cost,
        "domain": domain and {"name": domain.name, "hash": domain_hash(domain)},
        "training": training,
        "certificate": certificate,
        **UNCOMPARED,
        **optional,
    }
    plain: dict[str, Any] = json.loads(json.dumps(described))
    return plain


def to_bytes(model: ModelFile) -> bytes:
    """The file's content; equal models give equal bytes."""
    import numpy as np
    from safetensors.numpy import save

    metadata = {"format": FORMAT, **model.metadata, "digest": NO_DIGEST}
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"))
    tensors = {name: np.asarray(array, order="C") for name, array in model.tensors.items()}
    content = save(tensors, metadata={"hstar": text})
    return with_digest(content, NO_DIGEST, hashlib.sha256(content).hexdigest())


def check_output(output: str | os.PathLike[str]) -> Path:
    """Raises ValueError for a name that no model file has, OSError where none can be written."""
    path = Path(output)
    if path.suffix != ".safetensors":
        raise ValueError(f"the output must end in .safetensors, not '{path}'")
    check_writable(path)
    return path


def write_model(path: str | os.PathLike[str], model: ModelFile) -> int:
    """Write a model file completely or not at all; returns its size. Raises OSError."""
    content = to_bytes(model)
    write_atomically(path, content)
    return len(content)


def read_model(path: str | os.PathLike[str], *, trust: bool = False) -> ModelFile:
    """Read and check a model file. With `trust` it may name code of the user's own. Raises
    ModelFileError."""
    name = os.fspath(path)
    try:
        content = _read_in_pieces(name)
    except FileNotFoundError:
        raise ModelFileError("no such model file; train one with 'hstar train'", name) from None
    except OSError as error:
        raise ModelFileError(f"cannot read the model: {error.strerror or error}", name) from None
    return from_bytes(content, name, trust=trust)


def from_bytes(
    content: bytes | bytearray, name: str, *, trust: bool | Collection[str] = False
) -> ModelFile:
    """Check the content of a model file. `trust` may also be all that it may name of code outside
    the installed packages. Raises ModelFileError with that file name."""
    try:
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(bytes(content[8:end]))
        text = header.pop("__metadata__", {}).get("hstar")
        held = content if isinstance(content, bytearray) else bytearray(content)  # to write to
        tensors = _tensors(header, memoryview(held), end)
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"this is no intact .safetensors file ({error})", name) from None
    if text is None:
        raise ModelFileError("the file has no hstar metadata; it was not made by hstar", name)
    with refusing_malformed(name):
        metadata = json.loads(text)
        if metadata.get("format") != FORMAT:
            raise ModelFileError(
                f"the file has format {metadata.get('format')!r}, this hstar reads {FORMAT!r}; "
                "train the model again",
                name,
            )
        digest = str(metadata["digest"])
        metadata = UNCOMPARED | metadata  # networks in models/ leave this out
        if _digest_without(digest, content) != digest:
            raise ModelFileError(
                "the file was changed after training (its digest does not match); "
                "use the original or train the model again",
                name,
            )
        known = SCHEMA | {key: schema for key, schema in OPTIONAL.items() if key in metadata}
        _check_schema(metadata, known, "the metadata")
        if metadata["form"] not in FORMS:
            raise ValueError(f"unknown form {quote(metadata['form'])}")
    if outside := code_outside(metadata):
        code = ", ".join(outside)
        if trust is True:
            warnings.warn(f"{name} runs the code {code}", TrustedCodeWarning, stacklevel=2)
        elif not trust or not set(outside) <= set(trust):
            advice = "if you trust it, plan with --trust (in Python trust=True)"
            raise ModelFileError(f"the file wants to run the code {code}; {advice}", name)
    return ModelFile({key: metadata[key] for key in known}, tensors)


def code_outside(metadata: dict[str, Any]) -> list[str]:
    """What a file names as module:attribute in the places whose names are looked up."""
    named = [metadata[slot]["name"] for slot in ("features", "model")]
    every = texts_in([named, *(metadata.get(slot) for slot in ("objective", "decode", "search"))])
    return list(dict.fromkeys(text for text in every if ":" in text and not is_file(text)))


def texts_in(held: Any) -> Iterator[str]:
    """All texts of nested lists and dicts."""
    if isinstance(held, str):
        yield held
    elif isinstance(held, (list, dict)):
        for one in held.values() if isinstance(held, dict) else held:
            yield from texts_in(one)


@contextmanager
def refusing_malformed(path: str) -> Iterator[None]:
    """Whatever cannot be made of a file's metadata becomes one clear refusal."""
    try:
        yield
    except InputFileError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
            AssertionError, MemoryError) as error:  # fmt: skip
        what = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else error
        raise ModelFileError(
            f"the metadata is malformed ({what}); train the model again", path
        ) from error


def with_digest(content: bytes, old: str, new: str) -> bytes:
    """The content with another digest in the digest's place."""
    places = [DIGEST_PLACE + digest.encode(errors="replace") for digest in (old, new)]
    return content.replace(places[0], places[1], 1)


def _read_in_pieces(path: str) -> bytearray:
    """So that limits of time and memory hold meanwhile."""
    content = bytearray()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            content += piece
    return content


def _tensors(header: dict[str, Any], content: memoryview, begin: int) -> dict[str, Any]:
    """Views of the content, which is not copied: a model may take most of the memory there is.
    Raises LookupError, TypeError and ValueError if the header does not fit the content."""
    parts, rest = {}, len(content) - begin
    for name, about in header.items():
        (first, end), shape, code = about["data_offsets"], about["shape"], DTYPES[about["dtype"]]
        if min(shape, default=0) < 0 or not 0 <= first <= end <= len(content) - begin:
            raise ValueError(f"the tensor {name!r} is out of place")
        size = struct.calcsize(code)
        needed = size * math.prod(shape)
        if needed != end - first:
            raise ValueError(f"the tensor {name!r} has {end - first} bytes, not {needed}")
        data = content[begin + first : begin + end]
        if (begin + first) % size:  # not aligned
            data = memoryview(bytearray(data))
        parts[name] = _buffer(data, code, tuple(shape))
        rest -= end - first
    if rest:
        raise ValueError("the tensors do not fill the file")
    return parts


def _buffer(data: memoryview, code: Any, shape: tuple[int, ...]) -> Any:
    if all(shape) and code != "e":
        return data.cast(code, shape)
    import numpy as np

    return np.ndarray(shape, code, data)


def _digest_without(digest: str, content: bytes | bytearray) -> str:
    """Of the content with zeros in the place of the digest, which is in the header."""
    hashed, header = hashlib.sha256(), 8 + int.from_bytes(content[:8], "little")
    hashed.update(with_digest(bytes(content[:header]), digest, NO_DIGEST))
    for first in range(header, len(content), PIECE):
        hashed.update(content[first : first + PIECE])
    return hashed.hexdigest()


def _check_schema(held: Any, schema: Any, where: str) -> None:
    if isinstance(schema, tuple):
        if held is None:
            return
        (schema,) = schema
    if not isinstance(schema, dict):
        if not isinstance(held, schema):
            raise ValueError(f"{where} has the wrong type")
        return
    if not isinstance(held, dict):
        raise ValueError(f"{where} is no object")
    for key, inner in schema.items():
        if key not in held:
            raise ValueError(f"{where} lacks {key!r}")
        _check_schema(held[key], inner, f"{where}'s {key!r}")
