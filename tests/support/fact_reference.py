"""Labelled sets of atoms, and networks on them in torch: the reference for training in the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hstar import _core
from hstar.slots.models import MODELS
from hstar.slots.objectives.truncated_normal import TruncatedNormal
from hstar.training.native import Floats, Layer, MlpOptions, first_layers, to_tensors

ATOMS = 120
CHUNK = 96  # rows that the core handles together


@dataclass(frozen=True)
class FactRows:
    """Sets of atoms with labels: row r has atoms[starts[r] : starts[r + 1]], below `num_atoms`.

    NaN in h, lower or upper: missing.
    """

    num_atoms: int
    starts: NDArray[np.int64]
    atoms: NDArray[np.int32]
    h: Floats
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.h)

    def native(self) -> _core.TrainingRows:
        labels = (np.ascontiguousarray(a, np.float32) for a in (self.h, self.lower, self.upper))
        starts = np.ascontiguousarray(self.starts, np.int64)
        return _core.TrainingRows(self.num_atoms, starts, self.atoms, *labels)


def sets(count: int, seed: int = 0, bounds: bool = False) -> FactRows:
    """Random sets of 5 to 20 atoms; h is a function of them that a network can learn. With bounds
    a third of the rows have nothing else."""
    rng = np.random.default_rng(seed)
    chosen = [np.sort(rng.choice(ATOMS, rng.integers(5, 21), replace=False)) for _ in range(count)]
    starts = np.cumsum([0, *map(len, chosen)]).astype(np.int64)
    h = np.array([len(c) + (c < 40).sum() for c in chosen], dtype=np.float32)
    lower, upper = np.full((2, count), np.nan, dtype=np.float32)
    if bounds:
        lower, upper = h - rng.integers(0, 4, count), h + rng.integers(0, 4, count)
        lower[::5], upper[::7], h[::3] = np.nan, np.nan, np.nan
    atoms = np.concatenate(chosen).astype(np.int32)
    lower, upper = lower.astype(np.float32), upper.astype(np.float32)
    return FactRows(ATOMS, starts, atoms, h, lower, upper)


def dense(rows: FactRows, which: NDArray[Any]) -> torch.Tensor:
    ones = np.zeros((len(which), rows.num_atoms), dtype=np.float32)
    for place, row in enumerate(which):
        ones[place, rows.atoms[rows.starts[row] : rows.starts[row + 1]]] = 1
    return torch.from_numpy(ones)


def layers_of(options: MlpOptions, seed: int = 0, lift: float = 10.0) -> list[Layer]:
    """With a last bias that keeps most outputs positive."""
    layers = first_layers(ATOMS, options, np.random.default_rng(seed))
    weight, bias, activation, skip = layers[-1]
    return [*layers[:-1], (weight, bias + np.float32(lift), activation, skip)]


def network(options: MlpOptions, layers: list[Layer]) -> torch.nn.Module:
    config = options.config(ATOMS)
    return MODELS.find("mlp").from_tensors(config, to_tensors(layers))


def losses(options: MlpOptions, y: torch.Tensor, rows: FactRows, which: Any) -> torch.Tensor:
    """The definitions in torch."""
    h, lower, upper = (torch.from_numpy(a[which]) for a in (rows.h, rows.lower, rows.upper))
    if options.objective == "squared":
        found = (y - torch.where(h.isnan(), y.detach(), h)) ** 2
    elif options.objective == "interval":
        y = y.double()
        lower, upper = (torch.where(h.isnan(), one, h) for one in (lower, upper))
        above = (upper.double().nan_to_num(torch.inf) + 0.5 - y) / options.scale
        below = (lower.double().nan_to_num(-torch.inf) - 0.5 - y) / options.scale
        # Each where it does not cancel.
        mass = torch.where(
            above < 0,
            torch.sigmoid(above) - torch.sigmoid(below),
            torch.sigmoid(-below) - torch.sigmoid(-above),
        )
        found = -mass.log()
    elif options.objective == "l-gbfs":
        sign = (h[1:] - h[:-1]).sign().nan_to_num()
        found = torch.nn.functional.softplus(sign * (y[:-1] - y[1:])) * sign.abs()
        found[CHUNK - 1 :: CHUNK] = 0  # pairs do not cross chunks
        return torch.nn.functional.pad(found, (1, 0))
    else:
        low = torch.where(lower.isnan(), -torch.inf, lower - options.epsilon)
        high = torch.where(upper.isnan(), torch.inf, upper + options.epsilon)
        sigma = torch.full_like(y, options.scale)
        within = TruncatedNormal(y, sigma, low, high)
        found = -torch.where(h.isnan(), within.log_mass, within.log_prob(h))
    return found


def all_bytes(layers: list[Layer]) -> bytes:
    return b"".join(weight.tobytes() + bias.tobytes() for weight, bias, _, _ in layers)
