"""Trials on the rungs of a ladder, as jobs of a pool of processes, kept in a journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from hstar.learning.attempts import Effort, Way, attempts
from hstar.learning.ladder import Rung
from hstar.learning.trials import Trial
from hstar.runtime.pool import Pool

Kept = Callable[[str], bytes | None]
Keep = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class RungTrials:
    """`limit` is what a failed trial counts for; `show` gets a line after each search."""

    pool: Pool
    processes: int
    limit: float
    read: Kept
    write: Keep
    show: Callable[[str], None]

    def on_rung(
        self,
        rung: Rung,
        ways: Mapping[str, Way],
        effort: Effort,
        may_start: Callable[[], bool],
    ) -> dict[str, list[Trial]]:
        """Trials of all ways on the first problems of a rung, as many as there was time for. If
        that is none, the ways that were tried on the first problem."""
        made: dict[tuple[str, int], Trial] = {}
        jobs = []
        for i, one in enumerate(zip(rung.names, rung.problems, strict=True)):
            for name, way in ways.items():
                kept = self.read(f"{rung.name} {i} {name}")
                if kept is not None:
                    made[name, i] = Trial(**json.loads(kept))
                else:
                    jobs.append(((name, i), *one, way))
        count = len(made) + len(jobs)
        for (name, i), answer in attempts(self.pool, self.processes, jobs, effort, may_start):
            spent = answer.spent if answer.solved else self.limit
            trial = Trial(answer.solved, spent, answer.cost)
            made[name, i] = trial
            self.write(f"{rung.name} {i} {name}", json.dumps(asdict(trial)).encode())
            solved = sum(one.solved for one in made.values())
            self.show(f"rung {rung.name}, {name}: {solved} solved, {len(made)} of {count} tried")
        tried = 0
        while tried < len(rung.problems) and all((name, tried) in made for name in ways):
            tried += 1
        if not tried:
            return {name: [made[name, 0]] for name in ways if (name, 0) in made}
        return {name: [made[name, i] for i in range(tried)] for name in ways}
