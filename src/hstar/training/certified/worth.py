"""What a network is worth as each of two heuristics: "argmax" is the likeliest class, which
overestimates some states; "certified" has thresholds and exceptions and overestimates none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hstar.slots.levels import Decoding
from hstar.slots.model_file import to_bytes
from hstar.slots.models.integer_network import Network
from hstar.slots.pattern_network import LearnedDatabase, LearnedFile
from hstar.training.certified.sweep import ValueCounts

if TYPE_CHECKING:
    from torch import Tensor

    from hstar.slots.features.pattern_states import PatternStates

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
    unreached = 0
    for first in range(0, len(drawn), SLICE):
        index = torch.from_numpy(drawn[first : first + SLICE])
        exact = states.exact(index).numpy()
        reached = exact < classes
        unreached += int((~reached).sum())
        np.add.at(found, (exact[reached], predict(model.network, states, index)[reached]), 1)
    return ValueCounts.of(found, unreached)


def predict(network: Network, states: PatternStates, index: Tensor) -> NDArray[np.intp]:
    """The likeliest class of each index; of equals the first, as in the core."""
    digits = states.digits(index).cpu().numpy().astype(np.int32)
    likeliest: NDArray[np.intp] = network.forward(digits).argmax(axis=1)
    return likeliest
