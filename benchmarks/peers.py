"""The speed table: hstar beside Fast Downward and pyperplan, in one run, on one core.

    python benchmarks/peers.py SUITE_DIR [--rows a,b,c] [--quick] [-o peers.json]

SUITE_DIR holds the unpacked suites ``ipc``, ``ipc23lt`` and ``ferber``. Every task is run
by both planners right after each other, so that a machine that slows down slows both. Above 1, a
ratio is in hstar's favour, except for bytes.

Rows: a eager GBFS with h^FF, b A* with LM-cut, c blind A*, d parsing and grounding, e pyperplan,
f start-up, g time to a first plan with no flags.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import planner
from peer_tables import Bench, Table, median, per_second, ratio, say, shown, summarise
from peer_tasks import (
    BLIND_TASKS,
    FIRST_PLAN_TASKS,
    GBFS_TASKS,
    GROUND_DOMAINS,
    LMCUT_TASKS,
    LT,
    PYPERPLAN_TASKS,
)
from provenance import describe_run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
import downward

Flags = tuple[str, ...]
FF_PREFERRED = "let(h, ff(), lazy_greedy([h], preferred=[h], max_time={limit}))"


# ---------------------------------------------------------------- rows


@dataclass(frozen=True)
class Pair:
    """The same search by both planners: their last runs, and the medians of a speed."""

    theirs: downward.Run
    ours: planner.PlanRun
    their_speed: float | None
    our_speed: float | None


def side_by_side(
    bench: Bench, counter: str, files: tuple[Path, Path], search: str, flags: Flags, limit: float
) -> Pair:
    """Runs both in turn, ``bench.repeat`` times, and divides ``counter`` by the search time."""
    sas = downward.translate(*files, bench.folder).sas
    their_speeds, our_speeds = [], []
    for _ in range(bench.repeat):
        theirs = downward.run(sas, search.format(limit=limit))
        ours = planner.plan(*files, *flags, time_limit=limit)
        their_speeds.append(per_second(getattr(theirs, counter), theirs.search_time))
        our_speeds.append(per_second(ours[counter], ours["search_time"]))
    return Pair(theirs, ours, median(their_speeds), median(our_speeds))


def evaluations_table(
    bench: Bench, title: str, tasks: list[str], search: str, flags: Flags, limit: float
) -> Table:
    """Evaluated states per second of search time, with the same search on both sides.

    The rate alone would praise a heuristic for being cheap and uninformed, so the search times are
    compared too, where both found a plan (whose cost A* makes equal, and GBFS does not).
    """
    rows = []
    for name, *files in bench.select(tasks):
        pair = side_by_side(bench, "evaluated", (files[0], files[1]), search, flags, limit)
        theirs, ours = pair.theirs, pair.ours
        cells = [theirs.evaluated, theirs.search_time, theirs.plan_cost, pair.their_speed]
        cells += [ours["evaluated"], ours["search_time"], ours["plan_cost"], pair.our_speed]
        both = theirs.solved and ours.solved
        time_ratio = ratio(theirs.search_time, ours["search_time"]) if both else None
        rows.append([name, *cells, ratio(pair.our_speed, pair.their_speed), time_ratio])
        say(f"{title}: {' '.join(map(shown, rows[-1]))}")
    head = ["task", "FD evaluated", "FD search s", "FD cost", "FD evaluations/s"]
    head += [h.replace("FD", "hstar") for h in head[1:]] + ["rate ratio", "time ratio"]
    summary = summarise("hstar / FD, evaluations/s", (row[-2] for row in rows))
    summary += " " + summarise("FD / hstar, search s", (row[-1] for row in rows))
    return Table(title, head, rows, summary)


def row_a(bench: Bench) -> Table:
    """Eager greedy best-first search with h^FF."""
    search = "eager_greedy([ff()], max_time={limit})"
    flags = ("-H", "ff", "-s", "gbfs")
    return evaluations_table(bench, "a. Eager GBFS with h^FF", GBFS_TASKS, search, flags, 20)


def row_b(bench: Bench) -> Table:
    """A* with LM-cut."""
    search = "astar(lmcut(), max_time={limit})"
    flags = ("-H", "lmcut", "-s", "astar")
    return evaluations_table(bench, "b. A* with LM-cut", LMCUT_TASKS, search, flags, 90)


def row_c(bench: Bench) -> Table:
    """Blind A*: generated states per second, and memory per state above that of a tiny search.

    Fast Downward reports peak address space (VmPeak), hstar peak resident memory (VmHWM); taking
    the difference to a search of one state cancels what the two count differently at the start.
    """
    rows = []
    flags = ("-H", "blind", "-s", "astar")
    for name, *files in bench.select(BLIND_TASKS):
        domain, problem = files
        search = "astar(blind(), max_time={limit})"
        pair = side_by_side(bench, "generated", (domain, problem), search, flags, 120)
        sas = downward.translate(domain, problem, bench.folder).sas
        their_base = downward.run(sas, "astar(blind(), bound=0)").peak_memory_kb
        tiny = planner.plan(domain, problem, *flags, "--max-expansions", "1", time_limit=120)
        theirs, ours = pair.theirs, pair.ours
        our_states = ours["states"] or ours["evaluated"]
        their_bytes = bytes_per_state(theirs.peak_memory_kb, their_base, theirs.registered)
        our_bytes = bytes_per_state(ours["peak_memory_kb"], tiny["peak_memory_kb"], our_states)
        cells = [theirs.registered, pair.their_speed, their_bytes]
        cells += [our_states, pair.our_speed, our_bytes]
        speed = ratio(pair.our_speed, pair.their_speed)
        rows.append([name, *cells, speed, ratio(our_bytes, their_bytes)])
        say(f"c: {' '.join(map(shown, rows[-1]))}")
    head = ["task", "FD states", "FD generated/s", "FD bytes/state"]
    head += [h.replace("FD", "hstar") for h in head[1:]] + ["speed ratio", "bytes ratio"]
    summary = summarise("hstar / FD, generated/s", (r[-2] for r in rows))
    sizes = [r[-1] for r in rows if r[-1]]
    if sizes:
        summary += f" Bytes per state: geometric mean {statistics.geometric_mean(sizes):.2f} of "
        summary += f"FD's, maximum {max(sizes):.2f}."
    return Table("c. Blind A*", head, rows, summary)


def bytes_per_state(peak: int | None, base: int | None, states: int | None) -> float | None:
    return 1024 * (peak - base) / states if peak and base and states else None


LOAD = """
import sys, time
from hstar.planning.task import load_task
start = time.perf_counter()
task = load_task(sys.argv[1], sys.argv[2])
print(time.perf_counter() - start, task.num_facts, task.num_operators)
"""
TRANSLATE_SECONDS = 300


def row_d(bench: Bench) -> Table:
    """Parsing and grounding: seconds inside the process, without the start of the interpreter."""
    numbers = [1, 15, 29] if bench.quick else range(1, 30, 2)
    names = [LT(d, "medium", f"p{i:02}") for d in GROUND_DOMAINS for i in numbers]
    rows = []
    for name, domain, problem in Bench(bench.suite, bench.folder, 1, False).select(names):
        theirs = translate_seconds(domain, problem, bench.folder)
        ours, facts, operators = load_seconds(domain, problem)
        rows.append([name, theirs, ours, facts, operators, ratio(theirs, ours)])
        say(f"d: {' '.join(map(shown, rows[-1]))}")
    both = [row for row in rows if row[1] and row[2]]
    summary = summarise("FD / hstar, seconds", (row[-1] for row in rows))
    if both:
        total = sum(row[1] for row in both) / sum(row[2] for row in both)
        slowest = max(both, key=lambda row: row[2])
        summary += f" Ratio of the totals: {total:.1f}."
        summary += f" hstar's slowest: {slowest[0]}, {slowest[2]:.2f} s."
    summary += f" FD got at most {TRANSLATE_SECONDS} s a task; - means it needed more."
    head = ["task", "FD s", "hstar s", "hstar facts", "hstar operators", "ratio"]
    return Table("d. Parsing and grounding", head, rows, summary)


def translate_seconds(domain: Path, problem: Path, folder: Path) -> float | None:
    try:
        return downward.translate(domain, problem, folder, timeout=TRANSLATE_SECONDS).wall
    except (subprocess.TimeoutExpired, downward.FastDownwardError) as error:
        say(f"translator: {error}")
        return None


def load_seconds(domain: Path, problem: Path) -> tuple[float | None, int | None, int | None]:
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(domain), str(problem)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        say(f"hstar could not load {problem}: {done.stderr.strip()[-300:]}")
        return None, None, None
    seconds, facts, operators = done.stdout.split()
    return float(seconds), int(facts), int(operators)


# pyperplan does not say how often it evaluated, so its heuristic is wrapped by a counter. It runs
# in an interpreter of its own: pyperplan is GPL and must not be loaded into this program.
PYPERPLAN = """
import os, signal, sys, time
from pyperplan import planner
count, first = 0, 0.0
class Counted(planner.HEURISTICS["hff"]):
    def __call__(self, node):
        global count, first
        first = first or time.perf_counter()
        count += 1
        return super().__call__(node)
def report(*_):
    print(count, time.perf_counter() - first, flush=True)
    os._exit(0)
signal.signal(signal.SIGALRM, report)
signal.alarm(int(sys.argv[3]))
planner.search_plan(sys.argv[1], sys.argv[2], planner.SEARCHES["gbf"], Counted)
report()
"""


def row_e(bench: Bench) -> Table:
    """Evaluations per second of h^FF, against a planner that is Python throughout."""
    rows = []
    for name, domain, problem in bench.select(PYPERPLAN_TASKS):
        peer = pyperplan_speed(domain, problem, bench.folder, 20)
        run = planner.plan(domain, problem, "-H", "ff", "-s", "gbfs", time_limit=20)
        own = per_second(run["evaluated"], run["search_time"])
        rows.append([name, peer, own, ratio(own, peer)])
        say(f"e: {' '.join(map(shown, rows[-1]))}")
    head = ["task", "pyperplan evaluations/s", "hstar evaluations/s", "ratio"]
    summary = summarise("hstar / pyperplan, evaluations/s", (r[-1] for r in rows))
    return Table("e. h^FF in pyperplan", head, rows, summary)


def pyperplan_speed(domain: Path, problem: Path, folder: Path, limit: int) -> float | None:
    # It is given copies, because it leaves files beside the problem.
    files = [shutil.copy(domain, folder / "d.pddl"), shutil.copy(problem, folder / "p.pddl")]
    command = [sys.executable, "-c", PYPERPLAN, *map(str, files), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    parts = done.stdout.split()
    if len(parts) < 2:
        say(f"pyperplan failed: {done.stderr.strip()[-200:]}")
        return None
    return per_second(float(parts[-2]), float(parts[-1]))


def row_f(bench: Bench) -> Table:
    """Wall seconds of a whole run on a tiny task: what starting costs."""
    rows = []
    for name, domain, problem in bench.select(["ipc/gripper/prob01.pddl"]):
        theirs, ours = [], []
        for _ in range(10):
            done = downward.translate(domain, problem, bench.folder)
            search = downward.run(done.sas, FF_PREFERRED.format(limit=10))
            theirs.append(done.process_wall + search.process_wall)
            ours.append(planner.plan(domain, problem, time_limit=10).process_wall)
        rows.append([name, statistics.median(theirs), statistics.median(ours)])
    head = ["task", "FD s (translator and search)", "hstar plan s"]
    summary = "Median of 10 runs, wall-clock, processes from start to exit."
    return Table("f. Start-up", head, rows, summary)


def row_g(bench: Bench) -> Table:
    """Evaluations and seconds to a first plan, everything included, with no flags for hstar."""
    limit = 60
    configurations = {
        "FD ff": FF_PREFERRED.format(limit=limit),
        "lama-first": downward.LAMA_FIRST.replace(
            "reopen_closed=false", f"reopen_closed=false,max_time={limit}"
        ),
    }
    rows = []
    for name, domain, problem in bench.select(FIRST_PLAN_TASKS):
        done = downward.translate(domain, problem, bench.folder)
        cells: list[Any] = []
        times = []
        for search in configurations.values():
            run = downward.run(done.sas, search)
            seconds = done.process_wall + run.process_wall if run.solved else None
            times.append(seconds)
            cells += [run.evaluated if run.solved else None, seconds, run.plan_cost]
        run = planner.plan(domain, problem, time_limit=limit)
        seconds = run.process_wall if run.solved else None
        cells += [run["evaluated"] if run.solved else None, seconds, run["plan_cost"]]
        rows.append([name, *cells, *(ratio(t, seconds) for t in times)])
        say(f"g: {' '.join(map(shown, rows[-1]))}")
    head = ["task"]
    for planner_name in (*configurations, "hstar"):
        head += [f"{planner_name} evaluated", f"{planner_name} s", f"{planner_name} cost"]
    head += [f"{name} / hstar, s" for name in configurations]
    summary = summarise("FD ff / hstar, seconds", (r[-2] for r in rows))
    summary += " " + summarise("lama-first / hstar, seconds", (r[-1] for r in rows))
    summary += f" {limit} s of search at most; - means no plan."
    return Table("g. First plan, no flags, translation included", head, rows, summary)


ROWS = {"a": row_a, "b": row_b, "c": row_c, "d": row_d, "e": row_e, "f": row_f, "g": row_g}


# ---------------------------------------------------------------- report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suite", type=Path, help="folder with ipc, ipc23lt and ferber")
    parser.add_argument("--rows", default=",".join(ROWS), help="which rows, default all")
    parser.add_argument("--quick", action="store_true", help="a third of the tasks, no repeats")
    parser.add_argument("--repeat", type=int, default=3, help="runs per speed, median, default 3")
    parser.add_argument("-o", dest="output", type=Path, help="also write the numbers here as JSON")
    args = parser.parse_args()
    names = args.rows.split(",")
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        parser.error(f"no such rows: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    missing = downward.why_unavailable()
    if missing is not None:
        sys.exit(missing)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # children inherit it
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        repeat = 1 if args.quick else args.repeat
        bench = Bench(args.suite.absolute(), Path(folder), repeat, args.quick)
        for name in names:
            tables[name] = ROWS[name](bench)
    about = describe_run()
    for key, value in about.items():
        print(f"- {key}: {value}")
    for table in tables.values():
        print(f"\n{table.markdown()}")
    if args.output is not None:
        results = {
            name: {"head": t.head, "rows": t.rows, "summary": t.summary}
            for name, t in tables.items()
        }
        args.output.write_text(json.dumps(about | {"tables": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
