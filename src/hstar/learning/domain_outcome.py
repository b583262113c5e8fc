"""What learning for a domain came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hstar.learning.trials import Score, sentence
from hstar.slots.model_file import ModelFile


@dataclass(frozen=True, slots=True)
class DomainOutcome:
    """`file` is None if nothing was learned. `score` is None if nothing was learned, or if it was
    not compared with the default planner."""

    file: ModelFile | None
    name: str | None
    score: Score | None
    default: Score
    unit: str  # of the scores
    plans: int
    seconds: float

    @property
    def pays(self) -> bool:
        return self.score is not None and self.score.clearly_beats(self.default)

    def sentence(self) -> str:
        if self.file is not None and self.score is None:
            return "the best model so far is kept; it was not compared with the default planner"
        if self.file is None:
            why = "no training problem was solved within the limits"
            if self.plans:
                why = f"no model of the {self.plans} plans found was tried in time"
            return f"keep the default planner, because {why}"
        return sentence(self.score, self.default, self.unit)

    def to_dict(self) -> dict[str, Any]:
        """For JSON output."""
        return {
            "pays": self.pays,
            "problems": len(self.default.trials),
            "learned_solved": self.score.solved if self.score is not None else 0,
            "learned_effort": self.score.seconds if self.score is not None else None,
            "default_solved": self.default.solved,
            "default_effort": self.default.seconds,
            "cost_ratio": self.score.cost_ratio(self.default) if self.score is not None else None,
            "unit": self.unit,
            "plans": self.plans,
            "chosen": self.name,
            "seconds": self.seconds,
            "verdict": self.sentence(),
        }
