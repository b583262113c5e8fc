"""Neural Logic Machines by their definition, with every tensor made, in torch.

Also random ones, and random states for them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hstar import _core

Activation = Callable[[torch.Tensor], torch.Tensor]
ACTIVATIONS: dict[str, Activation] = {"sigmoid": torch.sigmoid, "relu": torch.relu}


@dataclass(frozen=True, slots=True)
class Shape:
    """The arguments of _core.NlmShape."""

    breadth: int
    depth: int
    width: int
    outputs: int
    exclude_self: bool
    dense: bool
    activation: str
    channels: tuple[int, ...]

    def native(self) -> _core.NlmShape:
        return _core.NlmShape(
            self.breadth,
            self.depth,
            self.width,
            self.outputs,
            self.exclude_self,
            self.dense,
            self.activation,
            list(self.channels),
        )


@dataclass(frozen=True, slots=True)
class State:
    """`size` objects; entries are (arity, tuple * channels + channel, value)."""

    size: int
    entries: tuple[tuple[int, int, float], ...]


def reduced(x: torch.Tensor, exclude_self: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Minimum and maximum over the last object index of [N, .., N, C]."""
    arity, size = x.dim() - 1, x.shape[0]
    if size == 0:
        shape = (*x.shape[:-2], x.shape[-1])
        return x.new_zeros(shape), x.new_zeros(shape)
    if not exclude_self or arity < 2:
        return x.amin(arity - 1), x.amax(arity - 1)
    mask = x.new_ones(x.shape[:-1])
    for members in itertools.product(range(size), repeat=arity):
        if len(set(members)) < arity:
            mask[members] = 0
    mask = mask.unsqueeze(-1)
    return (x * mask + (1 - mask)).amin(arity - 1), (x * mask).amax(arity - 1)


def oracle(shape: Shape, theta: torch.Tensor, state: State) -> torch.Tensor:
    """The definition, with every tensor and every concatenation made. -> [outputs]"""
    xs: list[torch.Tensor] = []
    for arity in range(shape.breadth + 1):
        flat = theta.new_zeros(state.size**arity * shape.channels[arity])
        for r, index, value in state.entries:
            if r == arity:
                flat[index] += value
        xs.append(flat.reshape(*[state.size] * arity, shape.channels[arity]))
    position = 0
    for layer in range(shape.depth):
        last = layer == shape.depth - 1
        new = []
        for arity in range(min(shape.breadth, shape.depth - 1 - layer) + 1):
            blocks = []
            if arity > 0:
                lower = xs[arity - 1].unsqueeze(arity - 1)
                blocks.append(lower.expand(*[state.size] * arity, lower.shape[-1]))
            blocks.append(xs[arity])
            if arity < shape.breadth:
                blocks.extend(reduced(xs[arity + 1], shape.exclude_self))
            x = torch.cat(blocks, -1)
            # Block p at tuple t reads (t[p0], t[p1], ..): axis p[i] of the result is axis i of x.
            permuted = []
            for p in itertools.permutations(range(arity)):
                axes = [p.index(axis) for axis in range(arity)]
                permuted.append(x.permute(*axes, arity))
            x = torch.cat(permuted, -1)
            rows, columns = shape.outputs if last else shape.width, x.shape[-1]
            weight = theta[position : position + rows * columns].reshape(rows, columns)
            position += rows * columns
            bias = theta[position : position + rows]
            position += rows
            y = x @ weight.T + bias
            if not last:
                y = ACTIVATIONS[shape.activation](y)
                if shape.dense:
                    y = torch.cat([y, xs[arity]], -1)
            new.append(y)
        xs = new
    assert position == len(theta)
    return xs[0]


def random_shape(rng: random.Random) -> Shape:
    breadth = rng.randint(1, 3)
    return Shape(
        breadth=breadth,
        depth=rng.randint(1, 6),
        width=rng.choice([1, 3, 4, 16, 17]),
        outputs=rng.randint(1, 3),
        exclude_self=rng.random() < 0.5,
        dense=rng.random() < 0.5,
        activation=rng.choice(["sigmoid", "relu"]),
        channels=tuple(rng.choice([0, 1, 2, 3, 18 if r < 3 else 2]) for r in range(breadth + 1)),
    )


def random_state(rng: random.Random, shape: Shape, largest: int = 6) -> State:
    size = rng.randint(0, largest)
    entries = []
    for arity, channels in enumerate(shape.channels):
        room = size**arity * channels
        for _ in range(rng.randint(0, min(room, 12))):
            entries.append((arity, rng.randrange(room), rng.choice([1.0, 1.0, 1.0, -1.0])))
    rng.shuffle(entries)
    return State(size, tuple(entries))


def random_theta(rng: random.Random, shape: Shape, scale: float = 1.0) -> NDArray[np.float32]:
    count = shape.native().num_parameters
    values = [rng.gauss(0, 1) for _ in range(count)]
    theta = np.array(values, dtype=np.float32) * np.float32(scale)
    fan_in = np.concatenate(
        [
            np.full(out * columns + out, max(1, columns))
            for _, _, out, columns in shape.native().weight_shapes
        ]
    )
    return (theta / np.sqrt(fan_in)).astype(np.float32)


Arrays = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]


def batch_of(states: list[State]) -> Arrays:
    sizes = np.array([s.size for s in states], dtype=np.int32)
    starts = np.cumsum([0] + [len(s.entries) for s in states]).astype(np.int64)
    entries = np.array(
        [(arity, index) for s in states for arity, index, _ in s.entries], dtype=np.int32
    ).reshape(-1, 2)
    values = np.array([v for s in states for _, _, v in s.entries], dtype=np.float32)
    return sizes, starts, entries, values


def expected(
    shape: Shape, theta: NDArray[np.float32], states: list[State], gradient: NDArray[np.float32]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Outputs and the gradient of sum(gradient * outputs), in double precision."""
    parameters = torch.tensor(theta, dtype=torch.float64, requires_grad=True)
    outputs = torch.stack([oracle(shape, parameters, s) for s in states])
    (outputs * torch.tensor(gradient, dtype=torch.float64)).sum().backward()
    assert parameters.grad is not None
    return outputs.detach().numpy(), parameters.grad.numpy()


def close(actual: NDArray[Any], wanted: NDArray[Any], tolerance: float) -> bool:
    return bool(
        np.all(np.abs(actual - wanted) <= tolerance * max(1.0, np.abs(wanted).max(initial=0)))
    )
