"""Twenty kills of a long command, then a run to its end, or exit code 1.

    python benchmarks/kills.py 'learn FOLDER' [--kills 20] [--size 8] [--seed 0]

SIGKILL comes at random moments. No finished piece may be lost or done again, no worker may be left
behind, and the output must be that of a run that nobody killed. Learning for one problem goes by
the clock: there the model must solve the problem.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from long_runs import LONG_RUNS, kill_often
from program import hstar


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", choices=list(LONG_RUNS))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--size", type=int, default=8, help="1 is that of the tests")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        killed = LONG_RUNS[given.run](Path(name), given.size)
        history = kill_often(killed, given.kills, random.Random(given.seed))
        print(
            f"kills: {len(history)} of {given.kills}; kept at each: {' '.join(map(str, history))}"
        )
        whole = replace(killed, output=Path(name) / "whole" / killed.output.name)
        whole.output.parent.mkdir()
        for run in (killed, whole):
            done = hstar(*run.command)
            if done.code != 0:
                raise RuntimeError(f"code {done.code}: {done.err}")
        is_same = killed.result(killed.output) == killed.result(whole.output)
        left, expected = ({p.name for p in run.output.parent.iterdir()} for run in (killed, whole))
    print(f"outputs: {'equal' if is_same else 'DIFFERENT'}; left behind: {', '.join(left)}")
    return 0 if is_same and left == expected and len(history) == given.kills else 1


if __name__ == "__main__":
    sys.exit(main())
