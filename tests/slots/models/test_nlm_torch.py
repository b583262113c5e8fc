"""The torch form of the NLM, which GPUs use, agrees with the core's in values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hstar.slots.features.atoms import Batch  # noqa: E402
from hstar.slots.models.nlm import NLMConfig  # noqa: E402
from hstar.slots.models.nlm_network import (  # noqa: E402
    NLM,
    Ragged,
    dense_inputs,
)


def random_batch(rng: np.random.Generator, channels: list[int], sizes: list[int]) -> Batch:
    parts = []
    for n in sizes:
        entries = [
            (arity, int(index))
            for arity, count in enumerate(channels)
            for index in np.flatnonzero(rng.random(n**arity * count) < 0.3)
        ]
        array = np.array(entries, dtype=np.int32).reshape(-1, 2)
        parts.append(
            Batch(
                np.array([n], dtype=np.int32),
                np.array([0, len(array)], dtype=np.int64),
                array,
                np.ones(len(array), dtype=np.float32),
            )
        )
    return Batch.concatenate(parts)


@pytest.mark.parametrize("seed", range(12))
def test_torch_and_core_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    breadth = int(rng.integers(1, 4))
    channels = [int(c) for c in rng.integers(0, 3, size=breadth + 1)]
    config = NLMConfig(
        channels=tuple(channels),
        breadth=breadth,
        depth=int(rng.integers(2, 6)),
        width=int(rng.integers(1, 9)),
        outputs=2,
        exclude_self=bool(rng.integers(2)),
        dense=bool(rng.integers(2)),
        sums=bool(rng.integers(2)),
        activation=["sigmoid", "relu"][int(rng.integers(2))],
    )
    model = NLM(config, torch.Generator().manual_seed(seed))
    batch = random_batch(rng, channels, [3, 1, 5, 2, 3])
    ragged = Ragged(batch.sizes, breadth, torch.device("cpu"))
    inputs = [torch.from_numpy(x) for x in dense_inputs(batch, config.channels)]
    weights = torch.from_numpy(rng.normal(size=(len(batch), 2)).astype(np.float32))

    native = model(batch)
    (native * weights).sum().backward()
    gradient = model.theta.grad.clone()
    model.theta.grad = None
    dense = model.forward_dense(inputs, ragged)
    (dense * weights).sum().backward()

    torch.testing.assert_close(dense, native, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.theta.grad, gradient, rtol=1e-3, atol=1e-4)
