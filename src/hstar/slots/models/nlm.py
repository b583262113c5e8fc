"""Neural Logic Machines as a model: options, and how the core takes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.slots.features.feature import Config, check_options
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.models.model import Model, defaults_of

if TYPE_CHECKING:
    import torch

ACTIVATIONS = ("sigmoid", "relu")
INITS = ("wide", "torch")


@dataclass(frozen=True, slots=True)
class NLMConfig:
    """`channels` are the input channels of arities 0..breadth. First weights are those of torch's
    linear layers, or "wide": four times as large before a sigmoid, whose slope is at most 1/4, so
    that signals do not fade with depth."""

    channels: list[int]
    breadth: int = 3
    depth: int = 5
    width: int = 16
    outputs: int = 2
    exclude_self: bool = True
    dense: bool = False
    activation: str = "sigmoid"
    sums: bool = False
    init: str = "wide"

    def __post_init__(self) -> None:
        sizes = ("breadth", "depth", "width")  # the core says more of those out of range
        names = {"activation": ACTIVATIONS, "init": INITS}
        check_options(asdict(self), defaults_of(NLMConfig), zero=sizes, **names)

    def shape(self) -> _core.NlmShape:
        """Raises ValueError for sizes that make no network."""
        return _core.NlmShape(**{k: v for k, v in asdict(self).items() if k != "init"})


class NLMModel(Model):
    """The core computes values and gradients on a CPU; on a GPU the network runs in torch."""

    name = "nlm"
    features = ("atoms",)
    options = defaults_of(NLMConfig)

    def configure(self, features: Config, outputs: int, options: Config) -> Config:
        network = NLMConfig(Vocabulary.from_dict(features).channels, outputs=outputs, **options)
        network.shape()
        return asdict(network)

    def build(self, config: Config, generator: torch.Generator) -> torch.nn.Module:
        from hstar.slots.models.nlm_network import NLM

        return NLM(NLMConfig(**config), generator)

    def held(self, config: Config, inputs: Any, device: torch.device) -> Any:
        from hstar.slots.models.nlm_network import HeldInputs

        return HeldInputs(inputs, NLMConfig(**config).channels, device)

    def fixed(self, config: Config, held: Any, sizes: Any, copies: int = 1) -> Any:
        from hstar.slots.models.nlm_network import FixedNLM

        return FixedNLM(NLMConfig(**config), held, sizes, copies)

    def native(self, config: Config, tensors: dict[str, Any]) -> Config:
        return {"model": self.name, "shape": NLMConfig(**config).shape(), "theta": tensors["theta"]}


NLM_MODEL = NLMModel()
