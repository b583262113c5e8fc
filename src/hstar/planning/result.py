"""What a search found and what it took."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

from hstar import _core
from hstar.pddl.planfile import format_plan, read_step
from hstar.runtime.resources import STOPPED, OutOfResources

EXIT_CODES = {"solved": 0, "unsolvable": 11, "gave up": 12, **dict(STOPPED.values())}
NOTICEABLE = 1.1  # times as long or as expensive; less may be noise


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found and what it took. Times in seconds; `initial_h` may be infinite.

    `initial_h` is None where the search never began. `evaluated` and `evaluations` are those of
    Fast Downward: states that were evaluated, and heuristic values that were computed for them
    (equal with one heuristic). `requested` also counts the values that were known already; it is
    what `max_evaluations` limits. `unchecked` says which limit or signal kept a plan from being
    validated; it is None for plans that were. `training_time` is None unless learning was part of
    the run (hstar.learning.planning), `found_by` unless the default planner took part in it.
    """

    solved: bool
    status: str
    plan: list[str] | None = None
    plan_cost: int | float | None = None
    plan_length: int | None = None
    evaluated: int = 0
    evaluations: int = 0
    requested: int = 0
    expanded: int = 0
    generated: int = 0
    reopened: int = 0
    deadends: int = 0
    initial_h: float | None = None
    states: int = 0
    state_bytes: int = 0
    search_time: float = 0.0
    total_time: float = 0.0
    peak_memory_kb: int = 0
    exit_code: int = 0
    seed: int = 0
    unit_cost: bool = True
    unchecked: str | None = None
    training_time: float | None = None
    found_by: str | None = None

    @property
    def plan_text(self) -> str:
        """The plan as a file in Fast Downward's format. Raises ValueError if there is none."""
        if self.plan is None or self.plan_cost is None:
            raise ValueError(f"there is no plan: {self.status}")
        return format_plan(map(read_step, self.plan), self.plan_cost, self.unit_cost)

    def to_json(self) -> str:
        """One JSON object; infinity is null."""
        fields = asdict(self)
        del fields["unit_cost"], fields["unchecked"]
        if self.training_time is None:
            del fields["training_time"]
            if self.found_by is None:
                del fields["found_by"]
        if self.initial_h is not None and not math.isfinite(self.initial_h):
            fields["initial_h"] = None
        return json.dumps(fields)

    def _repr_html_(self) -> str:
        import html

        shown = {
            "status": self.status,
            "plan cost": self.plan_cost,
            "plan length": self.plan_length,
            "evaluated states": self.evaluated,
            "expanded states": self.expanded,
            "search time": f"{self.search_time:.3f} s",
        }
        rows = [
            f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(str(value))}</td></tr>"
            for name, value in shown.items()
            if value is not None
        ]
        steps = [f"<li><code>{html.escape(step)}</code></li>" for step in self.plan or ()]
        plan = f"<details><summary>plan</summary><ol>{''.join(steps)}</ol></details>"
        return f"<table>{''.join(rows)}</table>{plan if steps else ''}"


def stopped_before_search(error: OutOfResources, seconds: float) -> SearchResult:
    """The result of a run that ended while reading or grounding: nothing was counted."""
    memory, code = _core.peak_resident_bytes() // 1024, error.exit_code
    return SearchResult(
        False, error.status, total_time=seconds, peak_memory_kb=memory, exit_code=code
    )
