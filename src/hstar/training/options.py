"""How to train: one set of options for every model, objective and source of states."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from hstar.slots.decode import Decode, find_decode
from hstar.slots.features import FEATURES
from hstar.slots.features.feature import Config, Feature
from hstar.slots.models import MODELS
from hstar.slots.models.integer_network import Network
from hstar.slots.models.model import Model
from hstar.slots.models.refining import shape_of
from hstar.slots.objectives import make_objective
from hstar.slots.objectives.objective import BATCHES, Objective
from hstar.training.draws import Sampling

SCHEDULES = ("cosine", "constant")


@dataclass(frozen=True)
class TrainOptions:
    """What to train, and how.

    `features` and `decode` default to what the model and the objective prefer. `clip` bounds the
    norm of the gradient; 0 means no bound. Training stops early when the validation score has not
    improved for `patience` evaluations; 0 means never. The rate begins with `warm_up` steps (at
    most a twentieth of all), and a cosine takes it down to `lowest_rate` times its value.

    `bits` above 0 rounds weights and activations after `quantize_from` of the steps, so that the
    model becomes one in integers. A network that training goes on from gets weights in steps
    `coarser` times as large, which take fewer bytes. `sampling` chooses states from a table.
    """

    model: str = "nlm"
    features: str | None = None
    objective: Objective = field(default_factory=lambda: make_objective("truncated-gaussian"))
    decode: str | None = None
    model_options: dict[str, Any] = field(default_factory=dict)
    decode_options: dict[str, Any] = field(default_factory=dict)
    steps: int = 4000
    batch: int = 256
    learning_rate: float = 1e-2
    weight_decay: float = 1e-2
    clip: float = 0.1
    schedule: str = "cosine"
    warm_up: int = 100
    lowest_rate: float = 0.01
    seed: int = 0
    evaluate_every: int = 200
    patience: int = 8
    bits: int = 0
    quantize_from: float = 0.6
    coarser: float = 1.0
    sampling: Sampling = field(default_factory=Sampling)
    device: str = "auto"
    compile: bool = False

    def __post_init__(self) -> None:
        self.entries()
        if self.objective.batches not in BATCHES:
            raise ValueError(
                f"objective '{self.objective.name}' wants batches of '{self.objective.batches}', "
                f"which training does not know; choose one of {', '.join(BATCHES)}"
            )
        if self.schedule not in SCHEDULES:
            raise ValueError(f"unknown schedule '{self.schedule}'; choose cosine or constant")
        for name in ("steps", "batch", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not (self.learning_rate > 0 and self.weight_decay >= 0 and self.clip >= 0):
            raise ValueError("the learning rate must be positive, weight decay and clip at least 0")
        if self.bits != 0 and not 2 <= self.bits <= 8:
            raise ValueError("weights have 2 to 8 bits, or 0 for floating point")
        if self.patience < 0 or not 0 <= self.quantize_from <= 1 or not 1 <= self.coarser <= 4:
            raise ValueError("patience, quantize_from or coarser is out of range")
        if not 0 <= self.seed < 2**31:
            raise ValueError("the seed is within 0 and 2^31 - 1")

    def entries(self) -> tuple[Feature, Model, Decode]:
        """The entries that the names stand for. Raises ValueError if they do not fit together."""
        model = MODELS.find(self.model)
        name = self.features_name
        if name not in model.features:
            raise ValueError(
                f"model '{self.model}' cannot read features '{name}'; "
                f"it reads {', '.join(model.features)}"
            )
        features = FEATURES.find(name)
        decode = find_decode(self.decode, self.objective)
        of_model = model.options | features.options
        for what, options, known in (
            (f"model '{self.model}' on '{name}'", self.model_options, of_model),
            (f"decode '{decode.name}'", self.decode_options, decode.options),
        ):
            for option in options:
                if option not in known:
                    has = ", ".join(known) or "none"
                    raise ValueError(f"{what} has no option '{option}'; it has: {has}")
        decode.check({**decode.options, **self.decode_options})
        return features, model, decode

    def chosen_of(self, entry: Feature | Model) -> Config:
        """The options of an entry, those not given at their defaults."""
        return {n: self.model_options.get(n, default) for n, default in entry.options.items()}

    @property
    def features_name(self) -> str:
        return self.features or MODELS.find(self.model).features[0]

    @property
    def decode_name(self) -> str:
        return self.decode or self.objective.decodes[0]

    def rate(self, step: int, restarted: int = 0) -> float:
        """The learning rate of a step; `restarted` is the step at which a fresh optimiser began."""
        warm_up = max(1, min(self.warm_up, self.steps // 20))
        start = min(1.0, (step - restarted + 1) / warm_up)
        if self.schedule == "constant":
            return self.learning_rate * start
        # Where rounding restarts the optimiser, the cosine runs over all steps.
        begin = 0 if self.bits else warm_up
        share = max(0.0, (step - begin) / max(1, self.steps - begin))
        cosine = self.lowest_rate + (1 - self.lowest_rate) * (1 + math.cos(math.pi * share)) / 2
        return self.learning_rate * cosine * start

    def to_dict(self) -> dict[str, Any]:
        """All but where it ran: the same training elsewhere gives the same model."""
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        del known["device"], known["compile"]
        return known | {"objective": self.objective.to_dict(), "sampling": asdict(self.sampling)}

    def chosen(self, **suiting: Any) -> dict[str, Any]:
        """What differs from the defaults, or from those `suiting` the source of states: a model
        file holds it, and its bytes count."""
        defaults = TrainOptions(**suiting).to_dict()
        known = {k: v for k, v in self.to_dict().items() if v != defaults[k]}
        known.pop("objective", None)  # has a place of its own in the file
        return known


def refining(options: TrainOptions, network: Network) -> TrainOptions:
    """Options to go on from a network with: its shape and bits, and rounding throughout."""
    shape = shape_of(network)
    return replace(
        options,
        model_options={"hidden": shape.hidden, "width": shape.width, "blocks": shape.blocks},
        bits=max(layer.bits for layer in network.layers),
        quantize_from=0.0,
    )


# What suits learning from a table of all states better than the general defaults.
TABLE_DEFAULTS: dict[str, Any] = {
    "model": "mlp",
    "steps": 3000,
    "batch": 4096,
    "learning_rate": 3e-3,
    "weight_decay": 0.0,
    "clip": 0.0,
    "warm_up": 500,
    "lowest_rate": 0.005,
    "evaluate_every": 250,
    "bits": 8,
}


def default_options(model: str, objective: Objective, of_table: bool = False) -> dict[str, Any]:
    """Training options that suit a model, an objective and a source of states."""
    if of_table:
        return dict(TABLE_DEFAULTS)
    return {**MODELS.find(model).training, **objective.training}
