"""A linear model on Weisfeiler-Leman features that ranks states as plans do (a rank-SVM)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.features.feature import Config
from hstar.features.vocabulary import domain_hash
from hstar.features.wl import WL
from hstar.learned.file import ModelFile
from hstar.learning.choices import Choices
from hstar.runtime.resources import Budget

AT_ONCE = 1_000_000  # numbers of a dense matrix of features


def rank_model(
    choices: Sequence[Choices], features: Mapping[str, Any], budget: Budget
) -> ModelFile:
    """Raises ValueError if the features tell no two states apart, OutOfResources."""
    tasks = [one.task for one in choices]
    config = WL.configure(tasks, {**WL.options, **features}, "one")
    config = WL.fit(config, [one.group for one in choices])
    starts, columns, values = distinct_differences(config, choices)
    if len(starts) == 1:
        raise ValueError("the features do not tell the states of plans apart")
    with budget.native():
        weights, passes, converged = _core.rank_svm(
            starts, columns, values, config["width"], deadline=budget.deadline,
            memory_bytes=budget.memory_bytes,
        )  # fmt: skip
    training = {
        "method": "rank-svm",
        "plans": len(choices),
        "pairs": len(starts) - 1,
        "passes": passes,
        "converged": converged,
    }
    domain = tasks[0].problem.domain
    metadata = {
        "form": "float",
        "features": {"name": WL.name, "config": config},
        "model": {"name": "linear", "config": {"inputs": config["width"], "outputs": 1}},
        "objective": {"name": "rank-svm", "base": "none"},
        "decode": {"name": "value", "base": "none", "lower": "none", "cap": None},
        "cost": "one",
        "domain": {"name": domain.name, "hash": domain_hash(domain)},
        "training": training,
        "certificate": None,
    }
    tensors = {"weight": weights[None].astype(np.float32), "bias": np.zeros(1, np.float32)}
    return ModelFile(metadata, tensors)


def distinct_differences(
    config: Config, choices: Sequence[Choices]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """The features of worse states minus those of better ones, as sparse rows: `starts`, columns
    and values. Of equal rows there is one, and none is zero."""
    # Rows are equal if these sums are: 63 random bits for each column.
    factors = np.random.default_rng(0).integers(2**63, size=config["width"], dtype=np.uint64)
    seen = {0}
    lengths, columns, values = [0], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    size = max(1, AT_ONCE // max(1, config["width"]))  # pairs at a time
    for one in choices:
        encode = WL.encoder(config, one.task)
        for first in range(0, len(one.better), size):
            part = slice(first, first + size)
            needed, places = np.unique([one.better[part], one.worse[part]], return_inverse=True)
            counts = encode(one.states[needed]).astype(np.int32)
            better, worse = places.reshape(2, -1)
            rows = counts[worse] - counts[better]
            sums = (rows.astype(np.uint64) * factors).sum(axis=1)
            fresh = []
            for i, key in enumerate(sums.tolist()):
                if key not in seen:
                    seen.add(key)
                    fresh.append(i)
            rows = rows[fresh]
            places, column = np.nonzero(rows)
            lengths.extend(np.bincount(places, minlength=len(rows)).tolist())
            columns.append(column.astype(np.int32))
            values.append(rows[places, column].astype(np.float32))
    starts = np.cumsum(np.array(lengths, np.int64))
    return starts, np.concatenate(columns), np.concatenate(values)
