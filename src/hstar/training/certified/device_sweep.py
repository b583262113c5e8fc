"""Sweeps on the device that trains, where a space is too large for the cores of this machine.

The arithmetic is that of the core, number for number: products of 8-bit integers summed in 32 bits
(or in float64, which is exact here), rescaled in 64 bits, decoded in integers. Only `count_levels`,
which merely suggests thresholds, rounds. `hstar pdb verify` checks the result with the core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hstar.runtime.progress import Progress
from hstar.slots.features.digits import first_rows, one_hot
from hstar.slots.features.pattern_states import UNREACHED, PatternStates
from hstar.slots.models.integer_network import IntegerLayer, Network
from hstar.slots.pattern_network import ONE, Decoding, LearnedDatabase
from hstar.training.certified.sweep import Counts, LevelCounts, ValueCounts

PADDING = 8  # of the sizes of integer matrix products
FEWEST_ROWS = 32


class DeviceNetwork:
    """An integer network on a device: logits int64[B, C] from digits int64[B, P]."""

    def __init__(self, network: Network, device: torch.device) -> None:
        self.network = network
        self.on_gpu = device.type == "cuda"
        self.layers = [_Layer(layer, number, device) for number, layer in enumerate(network.layers)]
        self.first_rows = torch.from_numpy(first_rows(network.domain_sizes)).to(device)
        # Written out, the many passes over 64-bit numbers would take most of the time.
        self.activate = torch.compile(_activate, dynamic=True) if self.on_gpu else _activate

    def forward(self, digits: Tensor) -> Tensor:
        dtype = torch.int8 if self.on_gpu else torch.float64
        older = x = one_hot(digits + self.first_rows, self.layers[0].inputs, dtype)
        for layer in self.layers[:-1]:
            skipped = older if layer.has_skip else None
            older, x = x, self.activate(self._sums(x, layer), layer.rescale, skipped).to(dtype)
        last = self.layers[-1]
        return _scaled(self._sums(x, last), last.rescale)[:, : self.network.num_classes]

    def _sums(self, x: Tensor, layer: _Layer) -> Tensor:
        if self.on_gpu:
            product: Tensor = torch._int_mm(x, layer.weights.t())
            return product
        return x @ layer.weights.t().double()


class DeviceDecoder:
    """The class of each row of logits, in integers of at most 52 bits."""

    def __init__(self, decoding: Decoding, device: torch.device) -> None:
        table, e = [], 1 << 62
        while e >> 32:
            table.append(e >> 32)
            e = e * decoding.ratio >> 32
        self.weights = torch.tensor([*table, 0], dtype=torch.int64, device=device)
        self.thresholds = decoding.thresholds

    def masses(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """The weight below each level [B, C - 1], and of all classes [B, 1]."""
        distance = logits.amax(dim=1, keepdim=True) - logits
        sums = self.weights[distance.clamp_(max=len(self.weights) - 1)].cumsum(dim=1)
        return sums[:, :-1], sums[:, -1:]

    def decode(self, logits: Tensor) -> Tensor:
        if self.thresholds is None:
            # argmax of the device may return any of equals; the core returns the first.
            is_largest = logits == logits.amax(dim=1, keepdim=True)
            return is_largest.int().argmax(dim=1)
        below, whole = self.masses(logits)
        threshold = torch.tensor(self.thresholds, device=logits.device)
        high, low = threshold >> 16, threshold & 0xFFFF
        # floor(threshold * whole / 2^32) without numbers beyond 64 bits
        allowed = (high * whole + (low * whole >> 16)) >> 16
        return (below <= allowed).long().cumprod(dim=1).sum(dim=1)


class DeviceSweep:
    """As hstar.training.certified.sweep.Sweep, on the device that holds the states."""

    def __init__(
        self,
        states: PatternStates,
        batch: int = 2**16,
        progress: Callable[[str, int], Progress] | None = None,
    ) -> None:
        self.states = states
        self.batch = max(batch, FEWEST_ROWS)
        self.progress = progress
        self.cells = states.cells
        self.exact_counts, _ = states.database.histogram
        self.multiplicities = torch.tensor(states.database.multiplicities, device=states.device)

    def count_values(self, model: LearnedDatabase, title: str = "sweep") -> ValueCounts:
        classes = model.network.num_classes
        found = torch.zeros(classes, classes, dtype=torch.int64, device=self.states.device)
        unreached = 0
        for index, exact, results in self._results(model, title):
            reached = exact != UNREACHED
            standing = self._states(index)
            unreached += int(standing[~reached].sum())
            pairs = exact[reached] * classes + results[reached]
            found += _sums(pairs, standing[reached], classes * classes).view(classes, classes)
        return ValueCounts.of(found.cpu().numpy().astype(np.uint64), unreached)

    def find_overestimates(self, model: LearnedDatabase) -> list[Counts]:
        lists: list[list[Tensor]] = [[] for _ in range(model.network.num_classes)]
        for index, exact, results in self._results(model, "exceptions"):
            excess = torch.where(exact == UNREACHED, 0, results - exact)
            for number in range(int(excess.max())):
                lists[number].append(index[excess > number].cpu())
        return [torch.cat(parts).numpy().astype(np.uint64) for parts in lists if parts]

    def count_levels(self, model: LearnedDatabase, grid: list[int], share: int = 1) -> LevelCounts:
        """Of one in `share` batches, with risks rounded."""
        device = self.states.device
        levels, cells = model.network.num_classes - 1, len(grid) + 1
        edges = torch.tensor(grid, dtype=torch.float64, device=device)
        decoder = DeviceDecoder(model.decoding, device)
        counts = torch.zeros(3, levels * cells, dtype=torch.int64, device=device)
        level = torch.arange(1, levels + 1, device=device)
        states = 0
        for index, exact, logits in self._logits(model, "levels", share):
            reached = exact != UNREACHED
            exact, logits = exact[reached], logits[reached]
            standing = self._states(index[reached])
            mass, whole = decoder.masses(logits)
            risk = mass.double() / whole.double() * ONE
            cell = torch.searchsorted(edges, risk.contiguous()) + (level - 1) * cells
            distance = level - exact[:, None]
            for number, kind in enumerate((distance > 1, distance == 1)):
                counts[number] += torch.bincount(cell[kind], minlength=levels * cells)
            accepts = distance < 1
            each = standing[:, None].expand_as(cell)[accepts]
            counts[2] += _sums(cell[accepts], each, levels * cells)
            states += int(standing.sum())
        below, just, within = counts.view(3, levels, cells).cpu().numpy().astype(np.uint64)
        return LevelCounts(below, just, within, states)

    def _states(self, index: Tensor) -> Tensor:
        """How many states each index stands for."""
        return self.multiplicities[index % len(self.multiplicities)]

    def _results(
        self, model: LearnedDatabase, title: str
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Indices, exact classes and classes after the exceptions, batch by batch."""
        device = self.states.device
        decoder = DeviceDecoder(model.decoding, device)
        sets = [
            torch.tensor(one.opened(self.cells).members(), dtype=torch.int64, device=device)
            for one in model.exceptions
        ]
        for index, exact, logits in self._logits(model, title):
            results = decoder.decode(logits)
            leading = results > 0
            for members in sets:
                leading = leading & (results > 0) & _is_in(index, members)
                results = results - leading.long()
            yield index, exact, results

    def _logits(
        self, model: LearnedDatabase, title: str, share: int = 1
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        network = DeviceNetwork(model.network, self.states.device)
        shown = None if self.progress is None else self.progress(title, self.cells)
        with torch.no_grad():
            for first in range(0, self.cells, self.batch * share):
                end = min(first + self.batch, self.cells)
                index = torch.arange(first, end, device=self.states.device)
                padded = index if end - first >= FEWEST_ROWS else index.repeat(FEWEST_ROWS)
                logits = network.forward(self.states.digits(padded))[: end - first]
                yield index, self.states.exact(index), logits
                if shown is not None:
                    shown.update(min(first + self.batch * share, self.cells))
        if shown is not None:
            shown.close()


class _Layer:
    """A layer with its matrix [outputs, inputs] padded to whole multiples of PADDING."""

    def __init__(self, layer: IntegerLayer, number: int, device: torch.device) -> None:
        matrix = torch.from_numpy(layer.weights.T.copy() if number == 0 else layer.weights.copy())
        outputs = -(-matrix.shape[0] // PADDING) * PADDING
        self.inputs = -(-matrix.shape[1] // PADDING) * PADDING
        self.weights = torch.zeros(outputs, self.inputs, dtype=torch.int8)
        self.weights[: matrix.shape[0], : matrix.shape[1]] = matrix
        self.weights = self.weights.to(device)
        self.has_skip = layer.skip != 0
        room = (0, outputs - matrix.shape[0])
        vectors = [np.pad(v.astype(np.int64), room) for v in (layer.bias, layer.multiplier)]
        self.rescale = _Rescale(
            *(torch.tensor(n, device=device) for n in (*vectors, layer.skip, layer.shift))
        )


class _Rescale(NamedTuple):
    """Tensors all of them, so that one compiled function serves all layers."""

    bias: Tensor
    multiplier: Tensor
    skip: Tensor
    shift: Tensor


def _scaled(sums: Tensor, rescale: _Rescale, skipped: Tensor | None = None) -> Tensor:
    """(sums * multiplier + skipped * skip), divided by 2^shift and rounded, in 64 bits."""
    total = (sums.long() + rescale.bias) * rescale.multiplier
    if skipped is not None:
        total = total + skipped.long() * rescale.skip
    return (total + (1 << (rescale.shift - 1))) >> rescale.shift


def _activate(sums: Tensor, rescale: _Rescale, skipped: Tensor | None) -> Tensor:
    return _scaled(sums, rescale, skipped).clamp(0, 127).to(torch.int8)


def _sums(places: Tensor, weights: Tensor, size: int) -> Tensor:
    """int64[size]: the sum of the weights int64[B] at each of the places int64[B]."""
    return places.new_zeros(size, dtype=torch.int64).scatter_add_(0, places, weights)


def _is_in(index: Tensor, members: Tensor) -> Tensor:
    """Whether each index is one of the sorted members."""
    if len(members) == 0:
        return torch.zeros_like(index, dtype=torch.bool)
    place = torch.searchsorted(members, index).clamp_(max=len(members) - 1)
    return members[place] == index
