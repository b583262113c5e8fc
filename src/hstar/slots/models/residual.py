"""A residual network on vectors, in floating point: two dense layers, residual blocks, outputs.

x = relu(bn(W1 input));  x = relu(bn(W2 x));  blocks: x = relu(x + bn(W relu(bn(W' x))))

Without `norm` a bias is added where bn stands.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from hstar.slots.models.mlp import Shape


class DenseNorm(nn.Module):
    """A dense layer without bias, batch normalised; or one with a bias and nothing else."""

    def __init__(self, inputs: int, outputs: int, norm: bool = True) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, outputs, bias=not norm)
        self.norm = nn.BatchNorm1d(outputs) if norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.norm(self.dense(x))
        return result


class ResidualNet(nn.Module):
    """[B, outputs] from vectors [B, inputs]."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        widths = [shape.inputs, shape.hidden, *[shape.width] * (1 + 2 * shape.blocks)]
        self.layers = nn.ModuleList(DenseNorm(*pair, shape.norm) for pair in pairwise(widths))
        self.last = nn.Linear(shape.width, shape.outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.layers[1](torch.relu(self.layers[0](x))))
        for first in range(2, len(self.layers), 2):
            inner = torch.relu(self.layers[first](x))
            x = torch.relu(x + self.layers[first + 1](inner))
        result: Tensor = self.last(x)
        return torch.relu(result) if self.shape.output == "relu" else result

    def dense_layers(self) -> list[DenseNorm]:
        """All but the last."""
        return [layer for layer in self.layers if isinstance(layer, DenseNorm)]
