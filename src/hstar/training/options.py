"""How a pattern database is learned."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from hstar.objectives.cea import Loss
from hstar.training.draws import Sampling

PACES = ("fixed", "phases")


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """`quantize_from` is the share of the steps after which weights and activations are rounded;
    `pace` "phases" begins with beta 1 and eta 0.1 and lowers both when neither the loss nor the
    share of overestimates has fallen for `patience` evaluations (the paper's Appendix J); "fixed"
    keeps those of the loss. A network that training goes on from gets weights in steps `coarser`
    times as large, which take fewer bytes."""

    hidden: int = 200
    width: int = 100
    blocks: int = 2
    bits: int = 8
    loss: Loss = field(default_factory=Loss)
    sampling: Sampling = field(default_factory=Sampling)
    pace: str = "fixed"
    patience: int = 5
    steps: int = 3000
    batch: int = 4096
    learning_rate: float = 3e-3
    quantize_from: float = 0.6
    coarser: float = 1.0
    evaluate_every: int = 250
    seed: int = 0
    device: str = "auto"
    compile: bool = False

    def __post_init__(self) -> None:
        if self.pace not in PACES:
            raise ValueError(f"unknown pace '{self.pace}'; choose one of {', '.join(PACES)}")
        for name in ("hidden", "width", "steps", "batch", "evaluate_every", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 2 <= self.bits <= 8:
            raise ValueError("weights have 2 to 8 bits")
        if self.blocks < 0 or not self.learning_rate > 0 or not 0 <= self.quantize_from <= 1:
            raise ValueError("blocks, learning rate or quantize_from is out of range")
        if not 1 <= self.coarser <= 4:
            raise ValueError("coarser is within 1 and 4")
        if not 0 <= self.seed < 2**31:
            raise ValueError("the seed is within 0 and 2^31 - 1")

    def to_dict(self) -> dict[str, Any]:
        """All but where it ran: the same learning elsewhere is the same."""
        known = asdict(self)
        known.pop("device")
        known.pop("compile")
        return known
