"""Fast Downward as one command: translate, search within a limit, write the plan.

    python benchmarks/downward_planner.py lama-first DOMAIN PROBLEM PLAN SECONDS

It is a separate program for 'hstar paper regression-sampling --peer'. The first argument is
lama-first or ff (eager greedy search with h^FF).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import downward

LAST = "reopen_closed=false"
SEARCHES = {
    "lama-first": downward.LAMA_FIRST.replace(LAST, f"{LAST},max_time=LIMIT"),
    "ff": "let(h,eval_modify_costs(ff(),cost_type=one),"
    "eager_greedy([h],cost_type=one,max_time=LIMIT))",
}


def main() -> int:
    name, domain, problem, plan, limit = sys.argv[1:]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = downward.translate(Path(domain), Path(problem), Path(folder), timeout=float(limit))
        left = float(limit) - (time.monotonic() - start)
        found = downward.run(done.sas, SEARCHES[name].replace("LIMIT", f"{max(left, 0.1):.2f}"))
        if found.plan is None:
            return found.exit_code or 1
        Path(plan).write_text("\n".join(found.plan) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
