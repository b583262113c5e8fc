"""Neural Logic Machines as a model: options, and how the core takes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.slots.features.feature import Config
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.models.model import Model, defaults_of

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class NLMConfig:
    """`channels` are the input channels of arities 0..breadth."""

    channels: tuple[int, ...]
    breadth: int = 3
    depth: int = 5
    width: int = 16
    outputs: int = 2
    exclude_self: bool = True
    dense: bool = False
    activation: str = "sigmoid"
    sums: bool = False

    def __post_init__(self) -> None:
        for names, kind, what in (
            (("breadth", "depth", "width", "outputs"), int, "a whole number"),
            (("exclude_self", "dense", "sums"), bool, "true or false"),
            (("activation",), str, "sigmoid or relu"),
        ):
            for name in names:
                value = getattr(self, name)
                if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                    raise ValueError(f"'{name}' of an NLM must be {what}, not {value!r}")

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> NLMConfig:
        return NLMConfig(**{**fields, "channels": tuple(fields["channels"])})

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "channels": list(self.channels)}

    def shape(self) -> _core.NlmShape:
        """Raises ValueError for sizes that make no network."""
        return _core.NlmShape(**self.to_dict())


class NLMModel(Model):
    """The core computes values and gradients on a CPU; on a GPU the network runs in torch."""

    name = "nlm"
    features = ("atoms",)
    options = defaults_of(NLMConfig)

    def configure(self, features: Config, outputs: int, options: Config) -> Config:
        channels = tuple(Vocabulary.from_dict(features).channels)
        network = NLMConfig(channels=channels, outputs=outputs, **options)
        network.shape()
        return network.to_dict()

    def build(self, config: Config, generator: torch.Generator) -> torch.nn.Module:
        from hstar.slots.models.nlm_network import NLM

        return NLM(NLMConfig.from_dict(config), generator)

    def fixed(self, network: Any, sizes: Any) -> Any:
        from hstar.slots.models.nlm_network import FixedNLM

        return FixedNLM(network, sizes)

    def native(self, config: Config, tensors: dict[str, Any]) -> Config:
        return {"model": self.name, "shape": _core.NlmShape(**config), "theta": tensors["theta"]}


NLM_MODEL = NLMModel()
