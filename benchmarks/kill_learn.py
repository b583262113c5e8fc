"""Twenty kills of `hstar learn`, then a run to its end, or exit code 1.

    python benchmarks/kill_learn.py [--kills 20] [--blocks 8] [--time 12] [--seed 0]

SIGKILL comes at random moments. Each run goes on with the networks that earlier ones finished: none
may be lost or trained again. The output must not exist before a run ends by itself. Then it must be
a model that solves the problem, and as good in its trials as the best network kept at a kill, and
as that of a run that nobody killed; nothing else may be left behind.
"""

from __future__ import annotations

import argparse
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

LONGEST = 4.0  # seconds until a kill


def kept_in(journal: Path) -> dict[str, int]:
    """The finished pieces of a journal, and when each was written; a network needs its score."""
    if not journal.exists():
        return {}
    files = {path.name: path.stat().st_mtime_ns for path in journal.iterdir()}
    scored = [name for name in files if name.endswith(".json") and name != "run.json"]
    finished = [*scored, *(name.removesuffix(".json") for name in scored)]
    return {name: files[name] for name in finished if name in files}


def most_solved(journal: Path) -> int:
    """By the best network that is kept."""
    scores = (
        json.loads(path.read_bytes().partition(b"\n")[2])
        for path in journal.glob("candidate-*.json")
    )
    return max((sum(trial["solved"] for trial in score) for score in scores), default=0)


def kill_often(command: list[Any], output: Path, kills: int, rng: random.Random) -> list[int]:
    """How many networks were kept at each kill. Raises RuntimeError if one is lost."""
    journal = output.with_name(f"{output.name}.partial")
    kept: dict[str, int] = {}
    history: list[int] = []
    while len(history) < kills:
        running = subprocess.Popen([*COMMAND, *command], env=environment(), stdout=subprocess.PIPE)
        time.sleep(rng.uniform(0, LONGEST))
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=SECONDS)
        if running.returncode != -signal.SIGKILL or output.exists():
            raise RuntimeError("a run came to its end before its kill; give it more --time")
        now = kept_in(journal)
        changed = [name for name, when in kept.items() if now.get(name) != when]
        if changed:
            raise RuntimeError(f"lost or done again after a kill: {', '.join(changed)}")
        kept = now
        history.append(sum(name.endswith(".json") for name in kept if name != "default.json"))
    return history


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--time", type=float, default=12.0, help="of a run, in seconds")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = {"blocks": range(given.blocks, given.blocks + 1)}
        generate("blocksworld", folder, ["train"], count=1, ranges=sizes)
        problem = next(path for path in folder.glob("train/*.pddl") if path.name != "domain.pddl")
        options = ["--time", f"{given.time}s", "--states", "2000", "--width", "16", "--json"]
        found: dict[str, dict[str, Any]] = {}
        best = 0
        for run in ("killed", "undisturbed"):
            (folder / run).mkdir()
            output = folder / run / "m.safetensors"
            command = ["learn", problem, "-o", output, *options]
            if run == "killed":
                history = kill_often(command, output, given.kills, random.Random(given.seed))
                best = most_solved(output.with_name(f"{output.name}.partial"))
            done = hstar(*command)
            if done.code != 0:
                raise RuntimeError(f"code {done.code}: {done.err}")
            found[run] = json.loads(done.out)
        left = [path.name for path in (folder / "killed").iterdir()]
        model, plan = folder / "killed" / "m.safetensors", folder / "plan"
        planned = hstar("plan", problem, "-H", model, "--plan-file", plan).code
    counts = {run: (one["learned_solved"], one["candidates"]) for run, one in found.items()}
    print(f"kills: {len(history)}")
    print(f"networks kept at each kill: {' '.join(map(str, history))}; none lost or trained again")
    for run, (solved, candidates) in counts.items():
        print(f"{run}: {candidates} networks, the best solves {solved} states")
    print(f"best network kept at a kill: solves {best} states; the model plans with code {planned}")
    print(f"left behind: {', '.join(left)}")
    solved, candidates = counts["killed"]
    is_good = solved >= max(best, counts["undisturbed"][0]) and candidates >= history[-1]
    return 0 if is_good and planned == 0 and left == ["m.safetensors"] else 1


if __name__ == "__main__":
    sys.exit(main())
