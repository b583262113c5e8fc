"""The loop, the loader and tables ask an entry what it can do, not what class or name it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from small_patterns import OPTIONS, data_of
from test_native_learned import blocks_model, decoding
from torch import Tensor, nn

from hstar import _core
from hstar.slots.decode import DECODES
from hstar.slots.features.digits import DIGITS
from hstar.slots.models.model import Model
from hstar.slots.objectives.classes import CrossEntropy
from hstar.training.train import prepare_table

PANCAKES = ("pancake-5", "pancakes")


@pytest.mark.parametrize("name", DECODES)
def test_the_core_knows_just_the_native_decodes(name: str, tmp_path: Path) -> None:
    task, spec = blocks_model(tmp_path)
    classes = {"values": [0.0, 1.0], "tau": 0.5, "temperature": 1.0, "gamma": 0.9, "naive": 0.0}
    described = spec | {"decode": decoding(name) | classes}
    if DECODES.find(name).is_native:
        _core.Heuristic.learned(task.core, described)
    else:
        with pytest.raises(ValueError, match=name):
            _core.Heuristic.learned(task.core, described)


class Rounded(nn.Module):
    """A dense layer whose outputs are multiples of 1/64."""

    def __init__(self, dense: nn.Linear) -> None:
        super().__init__()
        self.dense = dense
        self.samples = 0

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dense(x)
        return y + (torch.round(64 * y) / 64 - y).detach()


class OtherModel(Model):
    """It can be rounded, and has nothing to do with residual networks."""

    name = "test_entries_decide:OTHER"
    features = ("digits",)
    can_round = True

    def configure(
        self, features: dict[str, Any], outputs: int, options: dict[str, Any]
    ) -> dict[str, Any]:
        return {"inputs": features["width"], "outputs": outputs}

    def build(self, config: dict[str, Any], generator: torch.Generator) -> nn.Module:
        return nn.Linear(config["inputs"], config["outputs"])

    def rounded(self, network: Any, bits: int, sample: Tensor | None) -> nn.Module:
        return Rounded(network)

    def calibrate(self, network: Any, samples: Iterable[Tensor]) -> None:
        network.samples = sum(len(sample) for sample in samples)


OTHER = OtherModel()


def test_any_model_that_says_so_is_rounded(tmp_path: Path) -> None:
    options = replace(OPTIONS, model=OtherModel.name, model_options={})
    loop = prepare_table(data_of(*PANCAKES), options)
    assert loop.run(tmp_path / "half.partial", deadline=None)
    assert isinstance(loop.network, Rounded) and loop.network.samples == 50 * options.batch
    resumed = prepare_table(data_of(*PANCAKES), options)
    resumed.restore(loop.state())
    assert isinstance(resumed.network, Rounded) and resumed.is_rounding


@dataclass(frozen=True)
class Odd(CrossEntropy):
    name: ClassVar[str] = "odd"
    batches: ClassVar[str] = "triples"


@dataclass(frozen=True)
class Silent(CrossEntropy):
    """Classes without statistics."""

    name: ClassVar[str] = "silent"
    statistic_names: ClassVar[tuple[str, ...]] = ()

    def statistics(self, outputs: Tensor, targets: dict[str, Any]) -> dict[str, Tensor]:
        return {}


def test_unknown_batches_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'odd' wants batches of 'triples'.*states, pairs"):
        replace(OPTIONS, objective=Odd())


def test_classes_need_no_statistics() -> None:
    loop = prepare_table(data_of(*PANCAKES), replace(OPTIONS, objective=Silent()))
    assert loop.run() and "accuracy" not in loop.curve[-1]


def test_a_table_of_all_variables_has_the_digits_of_its_space() -> None:
    data = data_of(*PANCAKES)
    config = prepare_table(data, OPTIONS).about["features"][1]
    assert config == DIGITS.configure([data.space], {}, "normal")
