"""Batches of labelled states, and how well a model does on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hstar.slots.decode import DECODES
from hstar.slots.features.feature import SpaceStates
from hstar.slots.models.model import Model
from hstar.training.dataset import Dataset
from hstar.training.source import BatchSource, Metrics, RowOptions, on_device
from hstar.training.targets import target_columns

EVALUATION_TUPLES = 4_000_000  # how many rows of arity 3 are evaluated at once


class StateSource(BatchSource):
    """States of many problems; every size of state has its share of each batch."""

    def __init__(self, dataset: Dataset, options: RowOptions, device: torch.device) -> None:
        super().__init__(options.objective, device)
        self.decode, self.decode_options = options.decode, options.decode_options
        self.columns = target_columns(dataset, options.objective)
        self.encoded = options.features.inputs(options.feature_config, self.states_of(dataset))
        self.sampler = StratifiedSampler(self.encoded.sizes, options.batch, options.seed)
        self.weight = torch.from_numpy(self.sampler.weights).to(device)
        self.fixed: Any = None

    @staticmethod
    def states_of(dataset: Dataset) -> list[SpaceStates]:
        """The states that are drawn from."""
        return [SpaceStates(one.task, one.states) for one in dataset.tasks]

    def record(self, model: Model, network: torch.nn.Module) -> None:
        if self.device.type == "cuda":
            sizes = self.encoded.sizes[self.sampler.rows(0)]
            self.fixed = model.fixed(network, sizes)
            self.is_recordable = self.fixed is not None

    def draw(self, step: int) -> Any:
        rows = self.sampler.rows(step)
        inputs, targets = self.encoded.select(rows), self._targets(rows)
        if self.fixed is None:
            return inputs, targets
        return [*self.fixed.tensors(inputs), *targets.values()]

    def loss(self, network: torch.nn.Module, drawn: Any) -> tuple[Tensor, list[Tensor]]:
        if self.fixed is None:
            inputs, targets = drawn
            outputs = network(on_device(inputs, self.device))
        else:
            first = len(drawn) - len(self.columns)
            outputs = self.fixed.forward(drawn[:first])
            targets = dict(zip(self.columns, drawn[first:], strict=True))
        losses = self.objective.loss(outputs, targets)
        return (losses * self.weight).mean(), self._statistics(outputs, targets)

    def evaluate(self, network: torch.nn.Module) -> Metrics:
        """The mean loss, and the squared errors of the decoded value and of the clipped mean."""
        decodes = {"mse": self.decode}
        if self.objective.form == "location-scale":
            decodes["mse_clip"] = DECODES.find("clip")
        constants = {**self.decode_options, **self.objective.constants()}
        sums = torch.zeros(1 + len(decodes), dtype=torch.float64)
        for rows, outputs in self._outputs(network):
            targets = self._targets(rows)
            parts = [self.objective.loss(outputs, targets)]
            for decode in decodes.values():
                value = decode.value(outputs, targets["base"], targets["lower"], constants)
                parts.append((value - targets["h_star"]) ** 2)
            sums += torch.stack([part.double().sum() for part in parts]).cpu()
        means = (sums / len(self.encoded.sizes)).tolist()
        return dict(zip(("loss", *decodes), means, strict=True))

    def _targets(self, rows: NDArray[np.int64]) -> dict[str, Tensor]:
        return {
            name: torch.from_numpy(column[rows]).to(self.device)
            for name, column in self.columns.items()
        }

    def _outputs(self, network: torch.nn.Module) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        """The network's outputs for all states, a few at a time."""
        tuples = np.maximum(self.encoded.sizes, 1).astype(np.int64) ** 3
        groups = np.cumsum(tuples) // EVALUATION_TUPLES
        for number in np.unique(groups):
            rows = np.flatnonzero(groups == number)
            yield rows, network(on_device(self.encoded.select(rows), self.device))


class StratifiedSampler:
    """Batches in which every size of state has a fixed share.

    So no batch is larger than another, and a GPU can replay one recorded step for all of them. Each
    size runs through its states in an order shuffled anew in every pass. A size that would round
    away gets one place; `weights` corrects the loss for such roundings. A batch depends only on the
    seed and its number, so training resumes anywhere.
    """

    def __init__(self, sizes: NDArray[np.int64], batch: int, seed: int) -> None:
        values, counts = np.unique(sizes, return_counts=True)
        batch = min(batch, len(sizes))
        self.seed = seed
        self.groups = [np.flatnonzero(sizes == value) for value in values]
        self.quotas = _quotas(counts, batch)
        shares = counts / counts.sum()
        weights = shares / (self.quotas / self.quotas.sum())
        self.weights = np.repeat(weights, self.quotas).astype(np.float32)

    def rows(self, step: int) -> NDArray[np.int64]:
        """int64[B]: the states of batch number `step`, sizes in the same order always."""
        parts = []
        for group, (members, quota) in enumerate(zip(self.groups, self.quotas, strict=True)):
            first = step * int(quota)
            positions = np.arange(first, first + int(quota))
            passes, places = np.divmod(positions, len(members))
            for number in np.unique(passes):
                order = np.random.default_rng([self.seed, group, int(number)]).permutation(members)
                parts.append(order[places[passes == number]])
        return np.concatenate(parts)


def _quotas(counts: NDArray[np.int64], batch: int) -> NDArray[np.int64]:
    """Places per size: at least one each, otherwise in proportion (largest remainders)."""
    ideal = counts / counts.sum() * batch
    quotas: NDArray[np.int64] = np.maximum(np.floor(ideal).astype(np.int64), 1)
    remainders = np.where(quotas > ideal, -1.0, ideal - quotas)
    missing = batch - int(quotas.sum())
    if missing > 0:
        quotas[np.argsort(-remainders, kind="stable")[:missing]] += 1
    return quotas
