"""How to train: one set of options for every model, objective and source of states."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from hstar.slots.decode import Decode, find_decode
from hstar.slots.features import FEATURES
from hstar.slots.features.feature import Config, Feature
from hstar.slots.models import MODELS
from hstar.slots.models.model import Model
from hstar.slots.objectives import make_objective
from hstar.slots.objectives.objective import BATCHES, Objective, check_known

if TYPE_CHECKING:
    from hstar.slots.models.integer_network import Network

SCHEDULES = ("cosine", "constant")
BATCHINGS = ("stratified", "shuffled")
METRICS = ("mse", "loss")
MODES = ("uniform", "proportional", "tempered")


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which states of a table a batch holds (see Draws)."""

    mode: str = "uniform"
    alpha: float = 0.5  # of "tempered"

    def __post_init__(self) -> None:
        check_known("sampling", self.mode, MODES)
        if not 0 <= self.alpha <= 1:
            raise ValueError("alpha is within 0 and 1")


def flag(default: Any, about: str, least: int | None = None, of_table: bool = False) -> Any:
    """A field that is an option of `hstar train` as well, with this help."""
    return field(default=default, metadata={"help": about, "least": least, "of_table": of_table})


@dataclass(frozen=True)
class TrainOptions:
    """What to train, and how.

    `features` and `decode` default to what the model and the objective prefer. The rate begins with
    `warm_up` steps (at most a twentieth of all), and a cosine takes it down to `lowest_rate` times
    its value. With 2 to 8 `bits` the model becomes one in integers. A network that training goes on
    from gets weights in steps `coarser` times as large, which take fewer bytes.
    """

    model: str = "nlm"
    features: str | None = None
    objective: Objective = field(default_factory=lambda: make_objective("truncated-gaussian"))
    decode: str | None = None
    model_options: dict[str, Any] = field(default_factory=dict)
    decode_options: dict[str, Any] = field(default_factory=dict)
    steps: int = flag(4000, "number of training steps (default: 4000; tables: 3000)", 1)
    batch: int = flag(256, "number of states per step (default: 256; tables: 4096)", 1)
    learning_rate: float = flag(1e-2, "learning rate (default: 0.01; mlp: 0.003; hgn: 0.001)")
    weight_decay: float = flag(1e-2, "weight decay (default: 0.01 for nlm, 0 for others)")
    clip: float = flag(0.1, "largest norm of the gradient; 0: no limit (default: 0.1; mlp: 0)")
    schedule: str = flag("cosine", "how the learning rate changes: cosine (default) or constant")
    batches: str = flag(
        "stratified", "stratified: each size of state has its share (default); or shuffled"
    )
    warm_up: int = 100
    lowest_rate: float = 0.01
    seed: int = 0
    evaluate_every: int = flag(200, "steps between two evaluations (default: 200; tables: 250)", 1)
    keep: str = flag("", "metric that chooses the weights: mse or loss (default: the objective's)")
    patience: int = flag(8, "stop after N evaluations without progress; 0: never (default: 8)", 0)
    bits: int = flag(
        0,
        "bits per weight: 2 to 8; 16, 0: floats of 16 or 32 bits (default: 8)",
        None,
        True,
    )
    quantize_from: float = flag(
        0.6, "share of the steps before rounding starts (default: 0.6)", of_table=True
    )
    coarser: float = flag(
        1.0, "with --start: make the rounding steps X times as large (default: 1)", of_table=True
    )
    sampling: Sampling = field(default_factory=Sampling)
    device: str = flag("auto", "where to train: auto (default), cpu or cuda")
    compile: bool = False

    def __post_init__(self) -> None:
        self.entries()
        if self.objective.batches not in BATCHES:
            raise ValueError(
                f"objective '{self.objective.name}' wants batches of '{self.objective.batches}', "
                f"which training does not know; choose one of {', '.join(BATCHES)}"
            )
        check_known("schedule", self.schedule, SCHEDULES)
        check_known("way to batch", self.batches, BATCHINGS)
        if self.keep:
            check_known("metric", self.keep, METRICS)
            if self.keep == "mse" and self.objective.batches == "pairs":
                raise ValueError(f"objective '{self.objective.name}' has no mse; keep loss")
        for one in fields(self):
            least, value = one.metadata.get("least"), getattr(self, one.name)
            if least is not None and value < least:
                raise ValueError(f"{one.name} must be at least {least}, not {value}")
        if not (self.learning_rate > 0 and self.weight_decay >= 0 and self.clip >= 0):
            raise ValueError("the learning rate must be positive, weight decay and clip at least 0")
        if self.bits not in (0, 16) and not self.in_integers:
            raise ValueError("weights have 2 to 8 bits, or 16 or 0 for floats of 16 or 32 bits")
        if not 0 <= self.quantize_from <= 1 or not 1 <= self.coarser <= 4:
            raise ValueError("quantize_from or coarser is out of range")
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
    def in_integers(self) -> bool:
        return 2 <= self.bits <= 8

    @property
    def features_name(self) -> str:
        return self.features or MODELS.find(self.model).features[0]

    def rate(self, step: int, restarted: int = 0) -> float:
        """The learning rate of a step; `restarted` is the step at which a fresh optimiser began."""
        warm_up = max(1, min(self.warm_up, self.steps // 20))
        start = min(1.0, (step - restarted + 1) / warm_up)
        if self.schedule == "constant":
            return self.learning_rate * start
        # Where rounding restarts the optimiser, the cosine runs over all steps.
        begin = 0 if self.in_integers else warm_up
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
    from hstar.slots.models.export import shape_of

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


def default_options(model: str, objective: Objective) -> dict[str, Any]:
    """Training options that suit a model and an objective, to learn from labels."""
    return {**MODELS.find(model).training, **objective.training}
