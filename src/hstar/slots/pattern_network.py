"""Networks in integers that replace a pattern database: the form "integers" of model files.

Such a heuristic is a network on the digits of a pattern, thresholds that read a class off its
logits, and sets of exceptions that lower the class of single states. A certificate in the file says
how many states were compared with the exact table and how many are too large. How a class is read
off the logits is that of cpp/learned/learned_pdb.hpp.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.pdb import Layout, PatternDatabase
from hstar.pdb.database import PDDL, PatternHeuristic
from hstar.planning.space import Space
from hstar.slots.model_file import (
    ModelFile,
    ModelFileError,
    model_metadata,
    read_model,
    refusing_malformed,
)
from hstar.slots.models.integer_network import LOGIT_UNITS, Network

ONE = 2**32  # thresholds are in units of 2^-32


def ratio_of(temperature: float) -> int:
    """The ratio of the weights of two logits that are one unit apart, times 2^32."""
    if not 0.01 <= temperature <= 100:
        raise ValueError("the temperature is within 0.01 and 100")
    return round(ONE * math.exp(-1 / (LOGIT_UNITS * temperature)))


@dataclass(frozen=True, slots=True)
class Decoding:
    """Level k is accepted if P(class < k) <= thresholds[k - 1] / 2^32; None means argmax."""

    thresholds: tuple[int, ...] | None
    ratio: int

    @classmethod
    def argmax(cls) -> Decoding:
        return cls(None, ratio_of(1.0))

    @classmethod
    def quantile(cls, tau: float, classes: int, temperature: float = 1.0) -> Decoding:
        """The largest k with P(class >= k) >= tau."""
        if not 0 <= tau <= 1:
            raise ValueError("tau is a probability")
        return cls((math.floor((1 - tau) * ONE),) * (classes - 1), ratio_of(temperature))


@dataclass(frozen=True, slots=True)
class ExceptionSet:
    """Sorted indices, Golomb-Rice coded; see cpp/learned/learned_pdb.hpp."""

    count: int
    parameter: int
    code: bytes = field(repr=False)

    def opened(self, universe: int) -> _core.RiceSet:
        """The set, of indices below `universe`. Raises ValueError for a damaged code."""
        code = np.frombuffer(self.code, dtype=np.uint8)
        return _core.RiceSet(universe, self.count, self.parameter, code)

    @classmethod
    def encode(cls, members: NDArray[np.uint64] | Sequence[int]) -> ExceptionSet:
        """Of ascending indices."""
        numbers = np.asarray(members, dtype=np.uint64)
        parameter, code = _core.encode_set(numbers.tolist())
        return cls(len(numbers), parameter, code)


@dataclass(frozen=True)
class LearnedDatabase(PatternHeuristic):
    """What replaces a pattern database whose layout is `layout`. Class c of the network means the
    value values[c]; the class is lowered by one for each of the leading exception sets that hold
    the state's index. `base` is added, as in a difference."""

    layout: Layout
    network: Network
    decoding: Decoding
    values: tuple[int, ...]
    exceptions: tuple[ExceptionSet, ...] = ()
    base: PatternDatabase | None = None

    def bind(self, space: Space) -> _core.LearnedPdb:
        thresholds = self.decoding.thresholds
        index = PatternDatabase(self.layout, np.zeros(0, dtype=np.uint8)).index(space)
        sets: list[Any] = [
            (one.count, one.parameter, np.frombuffer(one.code, dtype=np.uint8))
            for one in self.exceptions
        ]
        return _core.LearnedPdb(
            index=index,
            network=self.network.core,
            ratio=self.decoding.ratio,
            thresholds=None if thresholds is None else list(thresholds),
            values=list(self.values),
            exceptions=sets,
            base=None if self.base is None else self.base.bind(space),
        )


@dataclass(frozen=True)
class LearnedFile:
    """A model, its certificate as written (None: there is none), and notes on its training."""

    model: LearnedDatabase
    certificate: dict[str, Any] | None
    notes: dict[str, Any]

    def to_model_file(self) -> ModelFile:
        model = self.model
        decode = self.model.decoding
        strict = (self.certificate or {}).get("overestimates") == 0
        name = "argmax" if decode.thresholds is None else "strict" if strict else "quantile"
        base = None if model.base is None else asdict(model.base.layout)
        metadata = model_metadata(
            form="integers",
            features=("digits", {"layout": asdict(model.layout), "base": base}),
            model=("mlp", model.network.to_metadata()),
            objective=self.notes.get("objective", {"name": "cea"}),
            decode={
                **asdict(decode),
                "name": name,
                "values": list(model.values),
                "exceptions": [[one.count, one.parameter] for one in model.exceptions],
            },
            cost=model.layout.cost,
            domain=None,
            training={key: note for key, note in self.notes.items() if key != "objective"},
            certificate=self.certificate,
        )
        return ModelFile(metadata, tensors_of(model))

    @classmethod
    def of(cls, file: ModelFile) -> LearnedFile:
        """Raises all that a malformed file may cause: use it within `refusing_malformed`."""
        metadata, tensors = file.metadata, file.tensors
        features, decode = metadata["features"]["config"], metadata["decode"]
        base, thresholds = features["base"], decode["thresholds"]
        model = LearnedDatabase(
            layout=Layout.of(features["layout"]),
            network=Network.from_file(metadata["model"]["config"], tensors),
            decoding=Decoding(
                None if thresholds is None else tuple(map(int, thresholds)), int(decode["ratio"])
            ),
            values=tuple(int(value) for value in decode["values"]),
            exceptions=tuple(
                ExceptionSet(int(count), int(parameter), tensors[f"exceptions.{number}"].tobytes())
                for number, (count, parameter) in enumerate(decode["exceptions"])
            ),
            base=None if base is None else PatternDatabase(Layout.of(base), tensors["base"]),
        )
        model.network.core  # noqa: B018  builds it, and so checks that the layers fit each other
        for one in model.exceptions:
            one.opened(model.layout.cells)
        if model.layout.space != PDDL:
            model.core  # noqa: B018  the same for all parts together
        notes = {**metadata["training"], "objective": metadata["objective"]}
        return cls(model, metadata["certificate"], notes)


def read_learned(path: str | os.PathLike[str], *, need_certificate: bool = True) -> LearnedFile:
    """Read and check a file. Raises ModelFileError. With `need_certificate`, a file whose
    certificate does not say of this very model that no state is overestimated is refused; without
    it, such files may be used, but not as admissible."""
    return learned_of(read_model(path), os.fspath(path), need_certificate=need_certificate)


def learned_of(held: ModelFile, name: str, *, need_certificate: bool = True) -> LearnedFile:
    """The same of a file that was read. Raises ModelFileError."""
    if held.metadata["form"] != "integers":
        raise ModelFileError(
            "this is no network in integers, so nothing can certify it; search with -H FILE, count "
            "what it overestimates with 'hstar pdb sweep', or learn one in integers (--bits 8)",
            name,
        )
    with refusing_malformed(name):
        file = LearnedFile.of(held)
    if need_certificate:
        _check_certificate(file, name)
    return file


def digests(model: LearnedDatabase) -> dict[str, str]:
    """What a certificate is about: the model without its exceptions, and the exceptions."""
    weights = hashlib.sha256()
    described = [
        asdict(model.layout),
        model.network.to_metadata(),
        asdict(model.decoding),
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
    return {"weights_sha256": weights.hexdigest(), "exceptions_sha256": exceptions.hexdigest()}


def tensors_of(model: LearnedDatabase) -> dict[str, NDArray[Any]]:
    tensors = model.network.to_tensors()
    for number, one in enumerate(model.exceptions):
        tensors[f"exceptions.{number}"] = np.frombuffer(one.code, dtype=np.uint8)
    if model.base is not None:
        tensors["base"] = np.ascontiguousarray(model.base.table)
    return tensors


def _check_certificate(file: LearnedFile, name: str) -> None:
    certificate = file.certificate
    if certificate is None:
        raise ModelFileError(
            "the file has no certificate, so nothing shows that its heuristic is admissible; "
            "learn it with strict decoding",
            name,
        )
    found = certificate.get("overestimates")
    if found != 0:
        message = f"the certificate counts {found} overestimated states"
        raise ModelFileError(f"{message}; the heuristic is not admissible", name)
    for key, digest in digests(file.model).items():
        if certificate.get(key) != digest:
            message = f"the certificate is of other {key.removesuffix('_sha256')}"
            raise ModelFileError(f"{message}; it says nothing of this heuristic", name)
