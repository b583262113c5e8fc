"""What the certified networks of the 3x3x3 cube reach, next to the paper and to classical tables.

    python benchmarks/cube_reach.py [--models models] [--only NAME] [--verify [--threads N]]

reads the certified files, says whether each has the mean and the size that were aimed at, and names
the strongest classical table that is no larger. With --verify every state is swept again in the
core (as `hstar pdb verify` does; seven edges take most of an hour of one core). Exit code 1 if an
aim is missed or a certificate does not hold.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from provenance import describe_run

from hstar.experiments.report import markdown_table
from hstar.papers.admissible_cea.scales import (
    SUBJECTS,
    TABLE_2,
    TABLE_5,
    PatternStudied,
    PrintedHeuristic,
)
from hstar.papers.admissible_cea.study import build_table, classical_rows
from hstar.pdb import describe_compression, strongest
from hstar.runtime.progress import Progress
from hstar.slots.model_file import ModelFileError
from hstar.slots.pattern_network import read_learned
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.cube import GOALS
from hstar.training.certified.sweep import SweepOptions


@dataclass(frozen=True, slots=True)
class Aim:
    """At least this mean within the bytes of the goal, no state overestimated; `paper` has the same
    pattern and about the same size or more."""

    subject: PatternStudied
    mean: float
    paper: PrintedHeuristic


AIMS = {
    "8-corner": Aim(SUBJECTS["8-corner"], 8.76, TABLE_2["8-corner"].cea),
    "8-corner-small": Aim(SUBJECTS["8-corner"], 8.70, TABLE_5[-1].result),
    "6-edge": Aim(SUBJECTS["6-edge"], 7.30, TABLE_2["6-edge"].cea),
    "7-edge": Aim(SUBJECTS["7-edge"], 7.70, TABLE_2["7-edge"].cea),
    "delta-6-4": Aim(SUBJECTS["delta-6-4"], 1.45, TABLE_2["delta-6-4"].cea),
}
HEAD = [
    *["pattern", "paper: mean, overestimated, MB", "aim", "mean", "overestimated", "states"],
    *["bytes", "of them exceptions", "reached", "strongest classical table within these bytes"],
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--only", choices=list(AIMS), action="append", metavar="NAME")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--batch", type=int, default=4096)
    given = parser.parse_args()
    names = given.only or list(AIMS)
    try:
        files = {name: read_learned(given.models / f"{name}.safetensors") for name in names}
    except ModelFileError as error:
        sys.exit(str(error))
    tables = {AIMS[name].subject.name: AIMS[name].subject for name in names}
    classical = {
        name: list(classical_rows(build_table(subject), subject))
        for name, subject in tables.items()
    }
    rows, holds = [], True
    for name in names:
        aim, path = AIMS[name], given.models / f"{name}.safetensors"
        file = files[name]
        size, model = path.stat().st_size, file.model
        budget = GOALS[name].budget
        assert file.certificate is not None
        found = file.certificate
        if given.verify:
            options = SweepOptions(given.threads, given.batch, Progress)
            _, verification = verify_file(path, options=options)
            found, holds = verification.certificate.to_dict(), holds and verification.holds
        reached = found["mean"] >= aim.mean and size <= budget
        holds = holds and reached and found["overestimates"] == 0
        rival = strongest(classical[aim.subject.name], size)
        of_base = 0.0 if model.base is None else model.base.mean
        paper = aim.paper
        rows.append(
            [
                name,
                f"{paper.mean}, {paper.rate:.0e}, {paper.size}",
                f"{aim.mean} in {budget / 1e6:g} MB",
                f"{found['mean']:.4f}",
                str(found["overestimates"]),
                f"{found['states']:,}",
                f"{size:,}",
                f"{sum(len(one.code) for one in model.exceptions):,}",
                "yes" if reached else "no",
                "none"
                if rival is None
                else f"{rival['total'] - of_base:.4f}: {describe_compression(rival)}, "
                f"{rival['bytes']:,} bytes",
            ]
        )
        print(f"- {name}: {found['mean']:.4f} in {size:,} bytes", flush=True)
    print(f"\n{describe_run()}\n\n{markdown_table(HEAD, rows)}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
