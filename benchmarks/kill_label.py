"""Twenty kills of `hstar label`, then the files of an undisturbed run, or exit code 1.

    python benchmarks/kill_label.py [--kills 20] [--problems 80] [--jobs 2] [--seed 0]

Labels a folder of blocksworld problems, some of which are too hard for the limit on expansions and
are replaced. SIGKILL comes at random moments. No finished attempt may be lost or done again, no
worker may be left behind, and the files at the end must be those of a run that nobody killed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
import kill_label

from hstar.domains import generate
from hstar.slots.teachers import read_labels

COMPARED = (".parquet", ".manifest.json")


def finish(arguments: list[str], output: Path) -> None:
    process = kill_label.start_label(*arguments, "-o", output)
    _, err = process.communicate()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, arguments, stderr=err)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--problems", type=int, default=80)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = {"blocks": range(6, 10)}
        generate("blocksworld", folder, ["train"], count=options.problems, ranges=sizes)
        limits = ["--max-expansions", "300", "--retries", "5", "--jobs", str(options.jobs)]
        arguments = [str(folder / "train"), *limits]
        killed, undisturbed = folder / "killed.parquet", folder / "undisturbed.parquet"
        rng = random.Random(options.seed)
        history = kill_label.kill_often(arguments, killed, options.kills, rng)
        finish(arguments, killed)
        finish(arguments, undisturbed)
        labels = read_labels(killed)
        solved = [problem for problem in labels.problems if problem.status == "solved"]
        replaced = sum(problem.retry > 0 for problem in solved)
        print(f"kills: {len(history)} of {options.kills}")
        print(f"attempts kept at each kill: {' '.join(map(str, history))}")
        print(f"problems: {len(labels.problems)}, solved {len(solved)}, replaced {replaced}")
        print(f"states: {len(labels.rows)}")
        equal = True
        for suffix in COMPARED:
            left, right = killed.with_suffix(suffix), undisturbed.with_suffix(suffix)
            same = left.read_bytes() == right.read_bytes()
            print(f"*{suffix}: {'identical' if same else 'DIFFERENT'}")
            equal = equal and same
    return 0 if equal and len(history) == options.kills else 1


if __name__ == "__main__":
    sys.exit(main())
