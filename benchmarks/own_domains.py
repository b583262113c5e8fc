"""Whether domains that hstar has no generator for can be learned from their folders alone.

    python benchmarks/own_domains.py FOLDER... [--problems 8] [--steps 300]

For each folder (domain.pddl and problems): `hstar label` on its first problems, `hstar train`, then
`hstar plan` on the problems after those, with h^FF and with the learned heuristic.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from hstar.experiments.bench.suite import find_instances
from hstar.experiments.report import markdown_table
from hstar.pddl import parse


def hstar(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hstar", *arguments], capture_output=True, text=True
    )


def row_of(folder: Path, problems: int, steps: int, tests: int, scratch: Path) -> list[str]:
    labels, model = scratch / "labels.parquet", scratch / "model.safetensors"
    instances = [instance.problem_path for instance in find_instances([folder])]
    first = parse(instances[0].parent / "domain.pddl", instances[0])
    arities = sorted({len(p.parameters) for p in first.domain.predicates.values()})
    about = [folder.name, f"{arities[0]}-{arities[-1]}", str(len(first.domain.types) - 1)]
    taken = ("--limit-problems", str(problems), "--time-limit", "10s", "--jobs", "1")
    done = hstar("label", str(folder), "-o", str(labels), *taken)
    if done.returncode:
        return [*about, f"label: exit {done.returncode}", done.stderr.strip()[-120:], "", "", ""]
    manifest = json.loads(labels.with_suffix(".manifest.json").read_text())
    solved = sum(problem["status"] == "solved" for problem in manifest["problems"])
    done = hstar("train", str(labels), "-o", str(model), "--steps", str(steps), "--threads", "1")
    if done.returncode:
        return [*about, str(solved), f"train: {done.stderr.strip()[-160:]}", "", "", ""]
    error = done.stdout.split("squared error ")[-1].split(",")[0]
    found = {}
    for heuristic in ("ff", str(model)):
        results = []
        for problem in instances[problems : problems + tests]:
            limits = ("--max-evaluations", "10000", "--overall-time-limit", "60s", "--json")
            plan = ("-s", "gbfs", "--cost", "one", "--plan-file", str(scratch / "plan"))
            done = hstar("plan", str(problem), "-H", heuristic, *plan, *limits)
            results.append(json.loads(done.stdout) if done.stdout else {"status": done.stderr})
        count = sum(bool(r.get("solved")) for r in results)
        spent = sum(r["requested"] if r.get("solved") else 10_000 for r in results)
        found[heuristic] = f"{count}/{len(results)}, {spent / max(1, len(results)):.0f}"
    return [*about, str(solved), error, *found.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--problems", type=int, default=8, help="to label")
    parser.add_argument("--tests", type=int, default=5, help="to plan for")
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    headers = ["domain", "arities", "types", "labelled", "validation error"]
    headers += ["h^FF: solved, evaluations", "learned: solved, evaluations"]
    rows = []
    for folder in arguments.folders:
        with tempfile.TemporaryDirectory() as scratch:
            row = row_of(
                folder, arguments.problems, arguments.steps, arguments.tests, Path(scratch)
            )
        rows.append(row[: len(headers)] + [""] * (len(headers) - len(row)))
        print(" | ".join(row), flush=True)
    print(markdown_table(headers, rows))


if __name__ == "__main__":
    main()
