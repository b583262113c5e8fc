"""The file of a learned pattern database: one .safetensors with everything, and a certificate.

Tensors: weights (in a form of packing.py), biases and multipliers of each layer, the code of each
exception set, the table of the base. Metadata: "hstar", one JSON object that says what they mean
(format, layout, network, decoding, values, exceptions, base, certificate, notes), and in it
"digest", the SHA-256 of the whole file with the digest's own place filled with zeros. So every byte
is covered, and a file in which one was changed is refused before anything in it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.learned.database import ExceptionSet, LearnedDatabase
from hstar.learned.levels import Decoding
from hstar.models.integer_network import Network
from hstar.pdb import Layout, PatternDatabase
from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_atomically

FORMAT = "hstar-learned-pdb-1"
NO_DIGEST = "0" * 64
DIGEST_PLACE = b'\\"digest\\":\\"'  # JSON within JSON


class CertifiedFileError(InputFileError):
    """A file that cannot be used, or not as admissible; the message says why and what to do."""


@dataclass(frozen=True)
class LearnedFile:
    """A model, its certificate as written (None: there is none), and notes on its training."""

    model: LearnedDatabase
    certificate: dict[str, Any] | None
    notes: dict[str, Any]


def to_bytes(file: LearnedFile) -> bytes:
    """The file's content; equal models give equal bytes."""
    from safetensors.numpy import save

    model = file.model
    metadata = {
        "format": FORMAT,
        "layout": asdict(model.layout),
        "network": model.network.to_metadata(),
        "decoding": model.decoding.to_metadata(),
        "digest": NO_DIGEST,
        "values": list(model.values),
        "exceptions": [[one.count, one.parameter] for one in model.exceptions],
        "base": None if model.base is None else asdict(model.base.layout),
        "certificate": file.certificate,
        "notes": file.notes,
    }
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"))
    content = save(tensors_of(model), metadata={"hstar": text})
    return _with_digest(content, NO_DIGEST, hashlib.sha256(content).hexdigest())


def write_learned(path: str | os.PathLike[str], file: LearnedFile) -> int:
    """Write a file completely or not at all; returns its size. Raises OSError."""
    content = to_bytes(file)
    write_atomically(path, content)
    return len(content)


def read_learned(path: str | os.PathLike[str], *, need_certificate: bool = True) -> LearnedFile:
    """Read and check a file. Raises CertifiedFileError.

    With `need_certificate`, a file whose certificate does not say of this very model that no state
    is overestimated is refused; without it, such files may be used, but not as admissible.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as opened:
            content = opened.read()
    except OSError as error:
        raise CertifiedFileError(
            f"cannot read the learned pattern database: {error.strerror}", name
        ) from None
    file = _parse(content, name)
    if need_certificate:
        _check_certificate(file, name)
    return file


def is_learned_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like .safetensors rather than like a table."""
    try:
        with open(path, "rb") as opened:
            prefix = opened.read(9)
    except OSError:
        return False
    return len(prefix) == 9 and prefix[8:] == b"{" and int.from_bytes(prefix[:8], "little") < 2**28


def digests(model: LearnedDatabase) -> dict[str, str]:
    """What a certificate is about: the model without its exceptions, and the exceptions."""
    weights = hashlib.sha256()
    described = [
        asdict(model.layout),
        model.network.to_metadata(),
        model.decoding.to_metadata(),
        list(model.values),
        None if model.base is None else asdict(model.base.layout),
    ]
    weights.update(json.dumps(described, sort_keys=True).encode())
    exceptions = hashlib.sha256()
    for one in model.exceptions:
        exceptions.update(f"{one.count} {one.parameter} {len(one.code)} ".encode())
        exceptions.update(one.code)
    for name, tensor in sorted(tensors_of(model).items()):
        if not name.startswith("exceptions."):
            weights.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
            weights.update(np.ascontiguousarray(tensor).tobytes())
    return {
        "weights_sha256": weights.hexdigest(),
        "exceptions_sha256": exceptions.hexdigest(),
    }


def tensors_of(model: LearnedDatabase) -> dict[str, NDArray[Any]]:
    tensors = model.network.to_tensors()
    for number, one in enumerate(model.exceptions):
        tensors[f"exceptions.{number}"] = np.frombuffer(one.code, dtype=np.uint8)
    if model.base is not None:
        tensors["base"] = np.ascontiguousarray(model.base.table)
    return tensors


def _with_digest(content: bytes, old: str, new: str) -> bytes:
    """Another digest in its place."""
    places = [DIGEST_PLACE + digest.encode(errors="replace") for digest in (old, new)]
    return content.replace(places[0], places[1], 1)


def _parse(content: bytes, name: str) -> LearnedFile:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["hstar"])
        digest = str(metadata["digest"])
    except (ValueError, KeyError, TypeError):
        raise CertifiedFileError(
            "this is no learned pattern database; make one with 'hstar pdb learn'", name
        ) from None
    if hashlib.sha256(_with_digest(content, digest, NO_DIGEST)).hexdigest() != digest:
        raise CertifiedFileError(
            "the file was changed (its digest does not match); use the original or learn it again",
            name,
        )
    try:
        if metadata["format"] != FORMAT:
            raise CertifiedFileError(
                f"format {metadata['format']!r} is unknown; this hstar reads {FORMAT!r}", name
            )
        return LearnedFile(
            _model(metadata, load(content)), metadata["certificate"], metadata["notes"]
        )
    except (SafetensorError, ValueError, KeyError, TypeError, IndexError) as error:
        raise CertifiedFileError(f"the file is damaged ({error}); learn it again", name) from None


def _model(metadata: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> LearnedDatabase:
    base = metadata["base"]
    model = LearnedDatabase(
        layout=_layout(metadata["layout"]),
        network=Network.from_file(metadata["network"], tensors),
        decoding=Decoding.from_metadata(metadata["decoding"]),
        values=tuple(int(value) for value in metadata["values"]),
        exceptions=tuple(
            ExceptionSet(int(count), int(parameter), tensors[f"exceptions.{number}"].tobytes())
            for number, (count, parameter) in enumerate(metadata["exceptions"])
        ),
        base=None if base is None else PatternDatabase(_layout(base), tensors["base"]),
    )
    model.network.core  # noqa: B018  builds it, and so checks that the layers fit each other
    for one in model.exceptions:
        one.opened(model.layout.cells)
    return model


def _layout(described: dict[str, Any]) -> Layout:
    known = {one.name: described[one.name] for one in fields(Layout)}
    return Layout(**known | {"pattern": tuple(known["pattern"]), "levels": tuple(known["levels"])})


def _check_certificate(file: LearnedFile, name: str) -> None:
    certificate = file.certificate
    if certificate is None:
        raise CertifiedFileError(
            "the file has no certificate, so nothing shows that its heuristic is admissible; "
            "learn it with strict decoding",
            name,
        )
    if certificate.get("overestimates") != 0:
        raise CertifiedFileError(
            f"the certificate counts {certificate.get('overestimates')} overestimated states; "
            "the heuristic is not admissible",
            name,
        )
    for key, digest in digests(file.model).items():
        if certificate.get(key) != digest:
            what = key.removesuffix("_sha256")
            raise CertifiedFileError(
                f"the certificate is of other {what}; it says nothing of this heuristic", name
            )
