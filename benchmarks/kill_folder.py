"""Twenty kills of `hstar learn FOLDER`, then a run to its end, or exit code 1.

    python benchmarks/kill_folder.py plans [--kills 20] [--steps 40000] [--longest 4] [--seed 0]
    python benchmarks/kill_folder.py rollouts --steps 160000

SIGKILL comes at random moments. The output must not exist before a run ends by itself. Then it must
have the same bytes as that of a run that nobody killed, and nothing else may be left behind.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from program import COMMAND, SECONDS, environment, hstar

from hstar.domains import generate


def kept_of_plans(journal: Path) -> int:
    """How many pieces a killed run left."""
    return len([path for path in journal.glob("*") if not path.name.startswith(".")])


def kept_of_rollouts(journal: Path) -> int:
    """The step of the checkpoint that a killed run left; 0 if there is none."""
    from safetensors import safe_open

    file = journal / "learner.safetensors"
    if not file.exists():
        return 0
    with safe_open(file, framework="numpy") as held:
        notes = json.loads(held.metadata()["hstar"])["notes"]
    return int(notes["last"]["steps"])


TEACHERS = {"plans": kept_of_plans, "rollouts": kept_of_rollouts}
OPTIONS = {
    "plans": [],
    "rollouts": [
        "--teacher",
        "rollouts",
        "--option",
        "width=4",
        "--option",
        "depth=3",
        "--option",
        "breadth=2",
    ],
}


def kill_often(
    command: list[Any],
    output: Path,
    given: argparse.Namespace,
) -> list[int]:
    """How much was kept at each kill. Raises RuntimeError if something is lost."""
    rng = random.Random(given.seed)
    journal = output.with_name(f"{output.name}.partial")
    kept: list[int] = []
    while len(kept) < given.kills:
        running = subprocess.Popen([*COMMAND, *command], env=environment(), stdout=subprocess.PIPE)
        time.sleep(rng.uniform(0, given.longest))
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=SECONDS)
        if running.returncode != -signal.SIGKILL or output.exists():
            raise RuntimeError("a run came to its end before its kill; give it more --steps")
        now = TEACHERS[given.teacher](journal)
        if kept and now < kept[-1]:
            raise RuntimeError(f"{kept[-1]} was kept, but now it is {now}")
        kept.append(now)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("teacher", choices=list(TEACHERS))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--longest", type=float, default=4.0, help="seconds until a kill")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    digests: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate("blocksworld", folder, ["train"], count=20, ranges={"blocks": range(3, 6)})
        options = ["--steps", str(given.steps), "--json", *OPTIONS[given.teacher]]
        for run in ("killed", "undisturbed"):
            (folder / run).mkdir()
            output = folder / run / "m.safetensors"
            command = ["learn", folder / "train", "-o", output, *options]
            if run == "killed":
                kept = kill_often(command, output, given)
            done = hstar(*command)
            if done.code != 0:
                raise RuntimeError(f"code {done.code}: {done.err}")
            digests[run] = hashlib.sha256(output.read_bytes()).hexdigest()
        left = [path.name for path in (folder / "killed").iterdir()]
    print(f"kills: {len(kept)}; steps or pieces kept at each: {' '.join(map(str, kept))}")
    for run, digest in digests.items():
        print(f"{run}: {given.steps} steps, {digest}")
    print(f"left behind: {', '.join(left)}")
    is_same = digests["killed"] == digests["undisturbed"]
    return 0 if is_same and left == ["m.safetensors"] else 1


if __name__ == "__main__":
    sys.exit(main())
