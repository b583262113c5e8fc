"""Certificates: what a sweep over every state has shown, and showing it again from scratch.

And rows for tables: what a network is worth as each of two heuristics. "argmax" is the likeliest
class, which overestimates some states; "certified" overestimates none.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hstar.pdb import PatternDatabase, build_pdb, compress, subtract
from hstar.pdb.database import PDDL
from hstar.planning.puzzle import make_puzzle
from hstar.planning.space import Space
from hstar.runtime.resources import Budget
from hstar.slots.model_file import ModelFileError, to_bytes
from hstar.slots.models.integer_network import Network
from hstar.slots.pattern_network import (
    Decoding,
    LearnedDatabase,
    LearnedFile,
    digests,
    read_learned,
)
from hstar.training.certified.sweep import AnySweep, Sweep, SweepOptions, ValueCounts

if TYPE_CHECKING:
    from hstar.slots.features.pattern_states import PatternStates


@dataclass(frozen=True, slots=True)
class Verification:
    """What sweeping anew gave; `differences` names the entries of the stored certificate that it
    does not confirm."""

    certificate: dict[str, Any]
    differences: list[str]

    @property
    def holds(self) -> bool:
        return not self.differences and self.certificate["overestimates"] == 0


def certify(model: LearnedDatabase, exact: PatternDatabase, sweep: AnySweep) -> dict[str, Any]:
    """Sweep over every state. The caller looks at "overestimates".

    "states" can reach the goal, "unreached" ones cannot. Of symmetric states that share an index
    one was swept, and all are counted. "total" is the sum of the heuristic's values without the
    base's, "exact_total" that of the table; "histogram" counts states by value.
    """
    counts = sweep.count_values(model, "certify")
    found = zip(model.values, counts.classes.tolist(), strict=True)
    histogram = [[value, count] for value, count in found if count]
    exact_counts, _ = exact.histogram
    total = sum(value * count for value, count in histogram)
    return {
        "space": model.layout.space,
        "pattern": list(model.layout.pattern),
        "states": counts.states,
        "unreached": counts.unreached,
        "overestimates": int(counts.overestimates.sum()),
        "total": total,
        "exact_total": sum(value * count for value, count in enumerate(exact_counts)),
        "histogram": histogram,
        "table_sha256": hashlib.sha256(exact.table.data).hexdigest(),
        **digests(model),
        "mean": total / max(counts.states, 1),
    }


def rebuild(model: LearnedDatabase, space: Space, budget: Budget) -> PatternDatabase:
    """The exact table from scratch; that of a difference, less the base that is in the file."""
    layout = model.layout
    build = functools.partial(
        build_pdb, space, additive=layout.additive, cost=layout.cost, budget=budget
    )
    exact = build(layout.pattern)
    if layout.symmetric:  # the least value of each class: nothing rests on their being equal
        exact = compress(exact, symmetric=True, budget=budget)
    if model.base is None:
        return exact
    rebuilt = build(model.base.layout.pattern)
    if not np.array_equal(rebuilt.table, model.base.table):
        raise ValueError("the table of the base in the file is not that of its pattern")
    return subtract(exact, rebuilt, space, budget)


def verify_file(
    path: str | os.PathLike[str],
    *,
    space: Space | None = None,
    options: SweepOptions | None = None,
) -> tuple[LearnedFile, Verification]:
    """Rebuild the table, sweep, and compare with the certificate. Raises ModelFileError. A file of
    a planning task needs the task as `space`."""
    file = read_learned(path)
    name = os.fspath(path)
    model = file.model
    if space is None:
        if model.layout.space == PDDL:
            raise ModelFileError("a heuristic of a planning task needs its PDDL files", name)
        space = make_puzzle(model.layout.space)
    options = options or SweepOptions()
    try:
        exact = rebuild(model, space, options.budget)
        sweep = Sweep(exact, space, options)
        certificate = certify(model, exact, sweep)
    except ValueError as error:
        raise ModelFileError(f"the file cannot be verified: {error}", name) from error
    stored = file.certificate or {}
    differences = [key for key, found in certificate.items() if stored.get(key) != found]
    return file, Verification(certificate, differences)


SLICE = 2**16


def without_exceptions(model: LearnedDatabase) -> LearnedDatabase:
    """The network as the paper decodes it: the likeliest class."""
    return replace(model, decoding=Decoding.argmax(), exceptions=())


def certified_row(file: LearnedFile, num_bytes: int) -> dict[str, Any]:
    """What the certificate in a file says. `total` counts the base's mean, too."""
    certificate: Mapping[str, Any] = file.certificate or {}
    model = file.model
    return {
        "bytes": num_bytes,
        "mean": certificate["mean"],
        "total": certificate["mean"] + (model.base.mean if model.base else 0.0),
        "exact": certificate["exact_total"] / certificate["states"],
        "states": certificate["states"],
        "overestimates": certificate["overestimates"],
        "exceptions": sum(one.count for one in model.exceptions),
        "exception_bytes": sum(len(one.code) for one in model.exceptions),
        "parameters": model.network.num_parameters,
    }


def argmax_row(model: LearnedDatabase, counts: ValueCounts) -> dict[str, Any]:
    """`overestimates` lists [exact value, predicted value, states]; `bytes` are those of a file
    without certificate."""
    values = model.values
    total = sum(value * int(n) for value, n in zip(values, counts.classes, strict=True))
    pairs = [
        [values[exact], values[guess], int(counts.overestimates[exact, guess])]
        for exact, guess in np.argwhere(counts.overestimates).tolist()
    ]
    return {
        "bytes": len(to_bytes(LearnedFile(model, None, {}).to_model_file())),
        "mean": total / max(counts.states, 1),
        "rate": sum(pair[2] for pair in pairs) / max(counts.states, 1),
        "states": counts.states,
        "overestimates": pairs,
    }


def count_sampled(model: LearnedDatabase, states: PatternStates, sampled: int) -> ValueCounts:
    """The likeliest classes of so many states drawn at random, or of all if there are no more. An
    even stride would favour some places of a piece."""
    import torch

    drawn = np.arange(states.cells)
    if sampled < states.cells:
        drawn = np.random.default_rng(0).integers(states.cells, size=sampled)
    classes = model.network.num_classes
    found = np.zeros((classes, classes), dtype=np.uint64)
    exact = states.exact(torch.from_numpy(drawn)).numpy()
    reached = exact < classes
    guesses = predict(model.network, states, drawn[reached])
    np.add.at(found, (exact[reached], guesses), 1)
    return ValueCounts.of(found, int((~reached).sum()))


def predict(
    network: Network, states: PatternStates, indices: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The likeliest class of each index; of equals the first, as in the core."""
    import torch

    found = np.zeros(len(indices), dtype=np.int64)
    for first in range(0, len(indices), SLICE):
        part = slice(first, first + SLICE)
        digits = states.digits(torch.from_numpy(indices[part])).cpu().numpy().astype(np.int32)
        found[part] = network.forward(digits).argmax(axis=1)
    return found
