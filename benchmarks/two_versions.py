"""How fast this version of hstar is beside another one, in one interleaved run.

    python benchmarks/two_versions.py OTHER SUITES [--repeat 5] [--only NAME ...]

OTHER is a checkout of another commit with the core installed into its src (CONTRIBUTING.md says
how); this checkout must have its core there, too. Each row is a command with a fixed amount of
work. Both versions run it in turns, and the figure is the least CPU time of all processes of the
command. The ratio is the other version's time divided by this one's, so more than 1 is faster.
Models are learned by each version itself, from the same problems with the same seed.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from provenance import describe_run

from hstar.experiments.report import markdown_table

HERE = Path(__file__).absolute().parents[1]
FINE = (0, 12)  # exit codes: a plan; gave up, as rows with a limit of evaluations may
GBFS = "plan {suites}/%s -s gbfs -H ff --max-evaluations %d"
LEARN = "learn {folder}/train --steps %d --seed 0 -o {folder}/%s.safetensors"
WITH_MODEL = "plan {test} -H {folder}/%s.safetensors -s %s --max-evaluations %d"
PROBLEMS = "generate ferry -o {folder} --count 24 --cars 2-20 --seed 0"
# A row may use what earlier rows made.
ROWS = {
    "start, tiny problem": "plan examples/delivery/problem.pddl",
    "h^FF, blocksworld": GBFS % ("ipc23lt/blocksworld/testing/medium/p05.pddl", 60_000),
    "h^FF, rovers": GBFS % ("ipc23lt/rovers/testing/medium/p01.pddl", 20_000),
    "h^FF, transport": GBFS % ("ipc23lt/transport/testing/medium/p01.pddl", 20_000),
    "h^FF, depot": GBFS % ("ipc/depot/p07.pddl", 60_000),
    "LM-cut, depot": "plan {suites}/ipc/depot/p03.pddl -s astar -H lmcut",
    "LM-cut, satellite": "plan {suites}/ipc/satellite/p07-pfile7.pddl -s astar -H lmcut "
    "--max-evaluations 10000",
    "blind, gripper": "plan {suites}/ipc/gripper/prob06.pddl -s astar -H blind",
    "blind, driverlog": "plan {suites}/ipc/driverlog/p04.pddl -s astar -H blind",
    "default planner, satellite": "plan {suites}/ipc23lt/satellite/testing/medium/p15.pddl",
    "grounding, childsnack": "plan {suites}/ipc23lt/childsnack/testing/medium/p15.pddl -s gbfs "
    "-H blind --max-evaluations 100",
    "learning from a folder": LEARN % (2000, "plans"),
    "reinforcement learning": LEARN % (3000, "rollouts") + " --teacher rollouts",
    "linear model in search": WITH_MODEL % ("plans", "gbfs", 200_000),
    "logic machine in search": WITH_MODEL % ("rollouts", "gbfs", 2_000),
    "labels": "label {folder}/train -o {folder}/labels.parquet --jobs 1 --max-evaluations 3000",
    "training a logic machine": "train {folder}/labels.parquet -o {folder}/n.safetensors --steps "
    "60 --device cpu",
    "building a pattern database": "pdb build cube3 --pattern edges:0-5 -o {folder}/edges.pdb",
    "certified network": "solve cube3 --scramble 8 -H "
    "pdb:models/8-corner.safetensors,models/6-edge.safetensors",
}


def seconds(tree: Path, command: str, folder: Path, suites: Path) -> float:
    """CPU time of the command and all processes that it started."""
    test = max(folder.glob("test/*.pddl"), default=None)
    words = command.format(suites=suites, folder=folder, test=test).split()
    if words[0] == "plan":
        words += ["--plan-file", str(folder / "plan")]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "hstar", *words],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in FINE:
        raise SystemExit(f"{tree}: hstar {' '.join(words)}\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("suites", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=ROWS, default=list(ROWS), metavar="NAME")
    options = parser.parse_args()
    trees = {"other": options.other.absolute(), "this": HERE}
    print("\n".join(f"{name}: {value}" for name, value in describe_run().items()), flush=True)
    rows, ratios = [], []
    with tempfile.TemporaryDirectory() as made:
        folders = {name: Path(made, name) for name in trees}
        for name, tree in trees.items():
            seconds(tree, PROBLEMS, folders[name], options.suites)
        for row in options.only:
            least = dict.fromkeys(trees, float("inf"))
            for _ in range(options.repeat):
                for name, tree in trees.items():
                    spent = seconds(tree, ROWS[row], folders[name], options.suites)
                    least[name] = min(least[name], spent)
            ratios.append(least["other"] / least["this"])
            rows.append([row, f"{least['other']:.2f}", f"{least['this']:.2f}", f"{ratios[-1]:.2f}"])
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    print(markdown_table(("row", "other, CPU s", "this, CPU s", "ratio"), rows))
    mean = statistics.geometric_mean(ratios)
    print(f"geometric mean {mean:.3f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
