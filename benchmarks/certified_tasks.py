"""Planning tasks: a projection, a certified network learned from it, and search, against LM-cut."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hstar import search
from hstar.domains import generate
from hstar.experiments.report import markdown_table
from hstar.pdb import PdbHeuristic, build_pdb, choose_pattern
from hstar.pddl import parse
from hstar.planning.result import SearchResult
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget
from hstar.slots.loader import load_pattern_heuristic
from hstar.slots.objectives import make_objective
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.learning import learn
from hstar.training.certified.sweep import SweepOptions
from hstar.training.options import TABLE_DEFAULTS, TrainOptions
from hstar.training.pattern_source import TableData


@dataclass(frozen=True, slots=True)
class Domain:
    name: str
    sizes: dict[str, list[int]]


DOMAINS = [
    Domain("blocksworld", {"blocks": [8]}),
    Domain("ferry", {"cars": [6], "locations": [5]}),
    Domain("gripper", {"balls": [8]}),
    Domain("logistics", {"airplanes": [1], "cities": [2], "locations": [3], "packages": [5]}),
    Domain("miconic", {"floors": [10], "passengers": [9]}),
    Domain("sliding-tiles", {"rows": [3], "columns": [3]}),
]
OPTIONS = TrainOptions(
    **{
        **TABLE_DEFAULTS,
        "model_options": {"hidden": 64, "width": 32, "blocks": 1},
        "objective": make_objective("cea"),
        "decode": "strict",
        "steps": 800,
        "batch": 1024,
        "evaluate_every": 200,
        "device": "cpu",
    }
)
DEEPENING_SECONDS = 20.0  # IDA* remembers nothing: on tasks with many ways round it does not end

HEAD = [
    *["task", "variables", "abstract states", "bytes (table)", "mean (table)"],
    *["cost", "A*, LM-cut", "A*, table", "A*, network", "IDA*, network"],
]


def add_parsers(commands: Any) -> None:
    parser = commands.add_parser("pddl", help="planning tasks")
    parser.add_argument("--problems", type=int, default=3, metavar="N", help="of each domain")
    parser.add_argument("--states", type=int, default=200_000, metavar="N", help="abstract states")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> tuple[list[dict[str, Any]], bool]:
    rows = []
    for domain in DOMAINS:
        folder = given.folder / domain.name
        generate(domain.name, folder, ["train"], count=given.problems, ranges=domain.sizes)
        problems = sorted(
            path for path in (folder / "train").glob("*.pddl") if path.name != "domain.pddl"
        )
        for problem in problems:
            task = ground(parse(folder / "train" / "domain.pddl", problem))
            rows.append(prove(f"{domain.name} {problem.stem}", task, folder, given.states))
            verdict = "holds" if rows[-1]["holds"] else "DOES NOT HOLD"
            print(
                f"- {rows[-1]['task']}: learned in {rows[-1]['learning_seconds']} s; {verdict}",
                flush=True,
            )
    print(f"\nCells of searches: states generated, seconds.\n\n{table(rows)}")
    return rows, all(row["holds"] for row in rows)


def prove(name: str, task: Task, folder: Path, most_states: int) -> dict[str, Any]:
    pattern = choose_pattern(task, most_states)
    database = build_pdb(task, pattern)
    path = folder / f"{name.replace(' ', '-')}.safetensors"
    seconds = 0.0
    if not path.exists():
        learned = learn(TableData(database, task), path, OPTIONS, SweepOptions(1))
        assert learned is not None
        seconds = learned.seconds
    _, verification = verify_file(path, space=task, options=SweepOptions(1))
    network = load_pattern_heuristic(f"pdb:{path}")
    runs = {
        "lmcut": search(task, "lmcut", "astar"),
        "table": search(task, PdbHeuristic([database]), "astar"),
        "network": search(task, network, "astar"),
        "deepening": search(
            task, network, "idastar", budget=Budget.starting_now(DEEPENING_SECONDS, None)
        ),
    }
    cost = runs["lmcut"].plan_cost
    decided = [one for one in runs.values() if one.status != "out of time"]
    equal = all(one.plan_cost == cost for one in decided) and runs["network"] in decided
    return {
        "task": name,
        "variables": f"{len(pattern)} of {task.num_variables}",
        "abstract_states": database.layout.cells,
        "bytes": path.stat().st_size,
        "table_bytes": database.num_bytes,
        "mean": verification.certificate.mean,
        "table_mean": database.mean,
        "learning_seconds": round(seconds, 1),
        "certified": verification.holds,
        "cost": cost,
        "holds": verification.holds and equal and cost is not None,
        "runs": {key: summary(one) for key, one in runs.items()},
    }


def summary(result: SearchResult) -> dict[str, Any]:
    return {
        "status": result.status,
        "cost": result.plan_cost,
        "generated": result.generated,
        "evaluated": result.evaluated,
        "seconds": round(result.search_time, 3),
    }


def table(rows: list[dict[str, Any]]) -> str:
    return markdown_table(
        HEAD,
        [
            [
                row["task"],
                row["variables"],
                f"{row['abstract_states']:,}",
                f"{row['bytes']:,} ({row['table_bytes']:,})",
                f"{row['mean']:.3f} ({row['table_mean']:.3f})",
                str(row["cost"]),
                *(cell(row["runs"][key]) for key in ("lmcut", "table", "network", "deepening")),
            ]
            for row in rows
        ],
    )


def cell(found: dict[str, Any]) -> str:
    if found["status"] != "solved":
        return str(found["status"])
    return f"{found['generated']:,}, {found['seconds']:.2f}"
