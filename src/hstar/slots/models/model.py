"""What a model kind is: how a network is configured, built, rounded, and given to the core.

A model maps the inputs of B states, as its features make them, to numbers float32[B, outputs]. What
the numbers mean is the objective's business. A configuration is plain JSON and goes into the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from hstar.slots.features.feature import Config

if TYPE_CHECKING:
    import torch


class Model:
    """One kind of model.

    `features` are the kinds of features it can read, the default first. `options` are its own, with
    their defaults; `training` are training options that suit it better than the general defaults.
    `can_round` says whether training can round it to a network in integers.
    """

    name: str
    features: tuple[str, ...]
    options: Config = {}  # noqa: RUF012
    training: Config = {}  # noqa: RUF012
    can_round = False

    def configure(self, features: Config, outputs: int, options: Config) -> Config:
        """The configuration of a network. Raises ValueError for values that make none."""
        raise NotImplementedError

    def build(self, config: Config, generator: torch.Generator) -> torch.nn.Module:
        """A network with fresh weights, drawn from the generator alone."""
        raise NotImplementedError

    def rounded(self, network: Any, bits: int, sample: torch.Tensor | None) -> torch.nn.Module:
        """If `can_round`: the network with the rounding of integers, to be trained further. A
        sample of inputs sets its scales; without one, weights will be loaded into it."""
        raise NotImplementedError

    def calibrate(self, network: Any, samples: Iterable[torch.Tensor]) -> None:
        """If `can_round`: what a rounded network needs once its training has ended."""

    def held(self, config: Config, inputs: Any, device: torch.device) -> Any | None:
        """The inputs of many states on a device, for `fixed`; None if there is no such form."""
        return None

    def fixed(self, config: Config, held: Any, sizes: Any, copies: int = 1) -> Any:
        """For batches of held states that always have these sizes: an object whose `outputs(thetas,
        rows)` evaluates networks as one program, so that a GPU can replay a recorded step. `thetas`
        has a row for each network, all its parameters in one vector; `rows` are the numbers of
        states, the batch of each network one after the other."""
        raise NotImplementedError

    def from_tensors(self, config: Config, tensors: Mapping[str, Any]) -> torch.nn.Module:
        """The network of a model file, in evaluation mode. Raises ValueError if they do not fit."""
        import torch

        network = self.build(config, torch.Generator())
        try:
            network.load_state_dict({n: torch.from_numpy(array) for n, array in tensors.items()})
        except RuntimeError as error:
            raise ValueError(error) from None
        return network.eval()

    def native(self, config: Config, tensors: dict[str, Any]) -> Config | None:
        """What the core needs to evaluate the network; None if search runs it in torch."""
        return None


def draw_linear_layers(network: torch.nn.Module, generator: torch.Generator | None) -> None:
    """Weights and biases within 1 / sqrt(inputs), layer after layer."""
    import torch

    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, torch.nn.Linear):
                bound = 1 / math.sqrt(layer.in_features)
                layer.weight.uniform_(-bound, bound, generator=generator)
                layer.bias.uniform_(-bound, bound, generator=generator)


def defaults_of(kind: Any) -> Config:
    """The options of a network, of the dataclass that describes it."""
    known = {one.name: one.default for one in fields(kind) if one.default is not MISSING}
    return {name: value for name, value in known.items() if name not in ("outputs", "schemas")}
