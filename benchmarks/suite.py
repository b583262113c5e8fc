"""Runs ``hstar plan`` on every problem of a suite and has every plan checked by someone else.

    python benchmarks/suite.py SUITE_DIR --time 30 -H ff -s gbfs -o out.json

Prints one markdown row per domain. A plan is checked by VAL (``validate`` on the path) if that is
installed, else by unified-planning in a process of its own, and where neither can say anything by
``hstar validate`` alone, which is counted apart because it is not independent.
Exit code 1 if a plan was rejected or hstar crashed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import planner
from independent_validator import INVALID, VALID
from tasks import PddlTask, find_tasks

OUTCOMES = {0: "solved", 11: "unsolvable", 12: "limit", 22: "limit", 23: "limit", 34: "unsupported"}
COLUMNS = ("solved", "limit", "unsolvable", "unsupported", "crash", "rejected")
CHECK_SECONDS = 120


@dataclass(frozen=True)
class Row:
    task: str
    folder: str
    outcome: str  # one of COLUMNS
    checked_by: str  # val, unified-planning, hstar, or empty when there is no plan
    exit_code: int
    plan_cost: float | None
    evaluated: int | None
    total_time: float | None
    process_wall: float
    message: str


def check_plan(task: PddlTask, plan_file: Path) -> tuple[str, bool, str]:
    """(who checked, accepted, what they said)."""
    val = shutil.which("validate") or shutil.which("Validate")
    if val is not None:
        done = run_checker([val, str(task.domain), str(task.problem), str(plan_file)])
        if done is not None and "Plan valid" in done.stdout:
            return "val", True, ""
        if done is not None and ("Plan failed" in done.stdout or "Plan invalid" in done.stdout):
            return "val", False, done.stdout.strip().splitlines()[-1]
    script = Path(__file__).with_name("independent_validator.py")
    done = run_checker(
        [sys.executable, str(script), str(task.domain), str(task.problem), str(plan_file)]
    )
    if done is not None and done.returncode in (VALID, INVALID):
        return "unified-planning", done.returncode == VALID, last_line(done.stdout)
    limit = f"no answer in {CHECK_SECONDS} s"
    why = limit if done is None else last_line(done.stdout or done.stderr)
    files = map(str, (task.domain, task.problem, plan_file))
    own = run_checker(planner.command("validate", *files))
    accepted = own is not None and own.returncode == 0
    return "hstar", accepted, f"not checked independently: {why}"


def run_checker(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    """The finished process; None if it took too long."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=CHECK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def run_task(task: PddlTask, flags: list[str], time_limit: float, plan_file: Path) -> Row:
    run = planner.plan(
        task.domain, task.problem, *flags, time_limit=time_limit, plan_file=plan_file
    )
    outcome, checked_by = OUTCOMES.get(run.exit_code, "crash"), ""
    message = last_line(run.error) if outcome in ("crash", "unsupported") else ""
    if outcome == "solved" and not plan_file.exists():
        outcome, message = "crash", "exit code 0 but no plan file"
    elif outcome == "solved":
        checked_by, accepted, message = check_plan(task, plan_file)
        outcome = "solved" if accepted else "rejected"
    return Row(
        task.name,
        task.folder,
        outcome,
        checked_by,
        run.exit_code,
        run["plan_cost"],
        run["evaluated"],
        run["total_time"],
        round(run.process_wall, 3),
        message,
    )


def table(rows: list[Row]) -> str:
    """One line per folder and a total; independently checked plans are counted at the end."""
    head = ["domain", "tasks", *COLUMNS, "checked independently", "by hstar only"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    folders: dict[str, list[Row]] = {}
    for row in rows:
        folders.setdefault(row.folder, []).append(row)
    for name, group in [*folders.items(), ("**all**", rows)]:
        count = Counter(row.outcome for row in group)
        own = sum(row.checked_by == "hstar" for row in group)
        independent = sum(row.checked_by not in ("", "hstar") for row in group)
        cells = [name, len(group), *(count[c] for c in COLUMNS), independent, own]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suite", type=Path, help="folder with domains and problems, at any depth")
    parser.add_argument("--time", type=float, default=30, help="seconds per problem (default 30)")
    parser.add_argument("-H", dest="heuristic", help="as for hstar plan")
    parser.add_argument("-s", dest="search", help="as for hstar plan")
    parser.add_argument("--memory", default="4G", help="limit per run (default 4G)")
    parser.add_argument("--jobs", type=int, default=1, help="problems at a time (default 1)")
    parser.add_argument("--only", default="", help="only tasks whose name contains this")
    parser.add_argument("-o", dest="output", type=Path, help="write one JSON row per task here")
    args = parser.parse_args()
    flags = ["--overall-memory-limit", args.memory]
    flags += ["-H", args.heuristic] if args.heuristic else []
    flags += ["-s", args.search] if args.search else []
    tasks = [task for task in find_tasks(args.suite) if args.only in task.name]
    if not tasks:
        parser.error(f"no PDDL problems with a domain below {args.suite}")
    rows = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.jobs) as pool:
        plan_files = (Path(folder, f"plan{i}") for i in range(len(tasks)))
        runs = pool.map(lambda t, file: run_task(t, flags, args.time, file), tasks, plan_files)
        for row in runs:
            rows.append(row)
            print(f"{row.task}: {row.outcome} {row.message}".rstrip(), file=sys.stderr, flush=True)
    print(table(rows))
    for row in rows:
        if row.outcome in ("crash", "rejected"):
            print(f"- {row.outcome}: {row.task}: exit {row.exit_code}: {row.message}")
    if args.output is not None:
        args.output.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(any(row.outcome in ("crash", "rejected") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
