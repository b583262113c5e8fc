"""What learning came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hstar.learning.judge import Verdict
from hstar.planning.result import SearchResult
from hstar.slots.model_file import ModelFile


@dataclass(frozen=True, slots=True)
class Outcome:
    """`file` is None if nothing was learned; it names its search and its verdict. `labelled` counts
    the problems that had labels to learn from, `models` those that raced. `result` is that
    of a search of the race that solved the problem itself."""

    file: ModelFile | None
    chosen: str | None
    verdict: Verdict
    labelled: int
    models: int
    seconds: float
    interrupted: bool = False
    result: SearchResult | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON output."""
        return {
            "verdict": self.verdict.to_dict(),
            "chosen": self.chosen,
            "labelled": self.labelled,
            "models": self.models,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
        }
