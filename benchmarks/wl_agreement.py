"""Whether Weisfeiler-Leman features that follow a search are those from scratch, or exit code 1.

    python benchmarks/wl_agreement.py SUITE [--level easy] [--evaluations 200]

For the last problem of a level in each domain of SUITE (as in learning_track.py): greedy searches
with random weights on the features, for 0 to 4 rounds, set and multiset, with and without statics
and orders of goals. Each search must take the same way with values that follow it and with values
from scratch, and all counts must be those of the plain definition in
tests/slots/features/test_wl.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from learning_track import problems_in, training_of
from provenance import describe_run

from hstar.experiments.report import markdown_table
from hstar.planning.task import load_task

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "slots"))
from test_wl import KINDS, agrees_everywhere

ROUNDS = range(5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("--level", default="easy")
    parser.add_argument("--evaluations", type=int, default=200)
    options = parser.parse_args()
    rows = []
    for domain in sorted(path for path in options.suite.iterdir() if training_of(path)):
        problem = problems_in(domain / "testing" / options.level)[-1]
        task = load_task(domain / "domain.pddl", problem)
        settings = [(rounds, kind) for rounds in ROUNDS for kind in KINDS]
        states = sum(
            agrees_everywhere(task, seed, rounds, *kind, options.evaluations)
            for seed, (rounds, kind) in enumerate(settings)
        )
        rows.append([domain.name, problem.name, str(len(settings)), str(states)])
        print(f"{domain.name}: {states} states agree", flush=True)
    print("\n".join(f"{name}: {value}" for name, value in describe_run().items()))
    print(markdown_table(["domain", "problem", "kinds of features", "states that agree"], rows))


if __name__ == "__main__":
    main()
