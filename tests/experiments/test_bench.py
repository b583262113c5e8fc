"""Benchmarks: the right rows, in the same order, whatever crashes on the way."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import small_domains
from bench_suite import COUNTS, without_times, write_suite
from hard_tasks import large_search
from program import hstar

import hstar as hstar_package
from hstar import search
from hstar.experiments.bench import BenchOptions, SuiteError, read_runs, run_bench
from hstar.experiments.bench.rows import COLUMNS, RunsError
from hstar.experiments.bench.runs import _find_algorithms
from hstar.pddl import PddlError
from hstar.planning.heuristics import make_heuristic
from hstar.planning.puzzle import make_puzzle
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task
from hstar.runtime import pool as runtime_pool
from hstar.slots import loader as learned
from hstar.slots.model_file import ModelFileError

PROBLEMS = COUNTS["blocks"]
FEW = SearchSpecification(max_evaluations=5)
RENAMED = {  # columns that are called otherwise in results of single searches
    "error": "status",
    "cost": "plan_cost",
    "dead_ends": "deadends",
    "initial_h_value": "initial_h",
}
FROM_RESULTS = [*RENAMED, "plan_length", "evaluated", "evaluations", "requested", "expanded"]
FROM_RESULTS += ["generated", "reopened", "exit_code"]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("suite"))


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one problem that blind search does not solve in any time a test has."""
    folder = tmp_path_factory.mktemp("hard")
    large_search(folder)
    return folder


def test_rows_are_those_of_single_searches(suite: Path) -> None:
    rows = run_bench(BenchOptions([suite / "blocks", suite / "ferry"], ["ff", "blind"]))
    assert rows.columns == list(COLUMNS)
    assert rows["run"].n_unique() == rows.height == 2 * (PROBLEMS + 3)
    for row in rows.iter_rows(named=True):
        folder = Path(row["suite"])
        result = hstar_package.plan(
            folder / "domain.pddl", folder / row["problem"], row["heuristic"]
        )
        expected = {
            "domain": folder.name,
            "algorithm": f"gbfs({row['heuristic']})",
            "search": "gbfs",
            "model": "",
            "seed": -1,
            "max_evaluations": None,
            "coverage": int(result.solved),
            "message": "",
        }
        expected |= {name: getattr(result, RENAMED.get(name, name)) for name in FROM_RESULTS}
        assert {name: row[name] for name in expected} == expected
        assert row["total_time"] >= row["search_time"] >= 0
        assert row["memory"] > 1000


def test_rows_are_in_natural_order_of_problems_then_heuristics(suite: Path) -> None:
    rows = run_bench(BenchOptions([suite / "ferry", suite / "blocks"], ["goalcount", "ff"]))
    expected = [("ferry", f"p{i}.pddl", h) for i in range(3) for h in ("goalcount", "ff")]
    expected += [("blocks", f"p{i}.pddl", h) for i in range(PROBLEMS) for h in ("goalcount", "ff")]
    assert list(rows.select("domain", "problem", "heuristic").iter_rows()) == expected


def test_the_number_of_jobs_changes_times_only(suite: Path) -> None:
    """The folder above stands for the domains in it."""
    one, two = (run_bench(BenchOptions([suite], ["ff", "lmcut"], jobs=jobs)) for jobs in (1, 2))
    assert without_times(one).equals(without_times(two))
    assert one["domain"].unique(maintain_order=True).to_list() == ["blocks", "ferry"]


def test_limits_end_runs_and_not_the_benchmark(suite: Path, hard: Path) -> None:
    few = run_bench(BenchOptions([suite / "blocks"], ["blind"], shared=FEW))
    assert set(few["error"]) == {"gave up", "solved"}
    assert few.filter(few["error"] == "gave up")["coverage"].sum() == 0
    assert few["requested"].max() <= 5
    assert few["max_evaluations"].to_list() == [5] * PROBLEMS
    limited = BenchOptions([hard, suite / "ferry"], ["blind"], time_limit=0.5)
    assert run_bench(limited)["error"].to_list() == ["out of time", *["solved"] * 3]
    small = BenchOptions([hard, suite / "ferry"], ["blind"], memory_limit=60 * 2**20)
    rows = run_bench(small)
    assert rows["error"].to_list() == ["out of memory", *["solved"] * 3]
    assert rows["exit_code"].to_list() == [22, 0, 0, 0]


WORKER = """
import hstar
__spec__ = hstar.__spec__  # not code of the user's
import os, time
from hstar.experiments.bench import worker
whole = worker.plan_problem
def plan_problem(problem, *rest, **options):
    if problem.path.endswith("p1.pddl"):
        {action}
    return whole(problem, *rest, **options)
worker.plan_problem = plan_problem
from hstar.runtime.worker import main
main()
"""


@pytest.mark.parametrize(
    ("action", "error", "exit_code", "message"),
    [
        ("os.abort()", "crashed", -signal.SIGABRT, "the process ended with signal SIGABRT"),
        ("os._exit(3)", "crashed", 3, "the process ended with exit code 3"),
        ("raise RuntimeError('broken')", "crashed", 35, "RuntimeError: broken"),
        ("raise ValueError('odd')", "bad input", 31, "odd"),
        ("print('noise'); raise KeyError('x')", "crashed", 35, "KeyError: 'x'"),
    ],
)
def test_a_crash_is_a_row(
    suite: Path,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    error: str,
    exit_code: int,
    message: str,
) -> None:
    monkeypatch.setattr(
        runtime_pool, "COMMAND", (sys.executable, "-c", WORKER.format(action=action))
    )
    rows = run_bench(BenchOptions([suite / "ferry"], ["ff"]))
    assert rows["error"].to_list() == ["solved", error, "solved"]
    crashed = rows.row(1, named=True)
    assert (crashed["coverage"], crashed["exit_code"]) == (0, exit_code)
    assert crashed["message"].startswith(message)
    assert crashed["evaluations"] is None


def test_a_worker_that_ignores_the_time_limit_is_ended(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])"
    command = WORKER.format(action=f"{action}; time.sleep(1000)")
    monkeypatch.setattr(runtime_pool, "COMMAND", (sys.executable, "-c", command))
    monkeypatch.setattr(runtime_pool, "GRACE_SECONDS", 2.0)
    rows = run_bench(BenchOptions([suite / "ferry"], ["ff"], time_limit=2.0))
    assert rows["error"].to_list() == ["solved", "out of time", "solved"]
    assert rows["message"][1] == "did not stop at the time limit and was killed"


def test_the_file_says_how_it_was_made(suite: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs.parquet"
    done = hstar("bench", suite / "ferry", "-H", "ff", "blind", "--seed", "5", "-o", output)
    assert done.code == 0
    assert "total" in done.out and "3/3" in done.out
    found = read_runs(output)
    assert found.rows["seed"].to_list() == [5] * 6
    assert found.provenance["command"].startswith("hstar bench ")
    assert found.provenance["options"]["search"] == "gbfs"
    assert list(tmp_path.iterdir()) == [output]


def test_models_are_called_by_their_stem_and_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for name in ("a/x", "b/x", "b/y", "b/ff"):
        path = tmp_path / f"{name}.safetensors"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode())
        paths.append(str(path))

    class Model:
        def __init__(self, path: str, decode: str | None = None, trust: bool = False) -> None:
            self.metadata: dict[str, Any] = {}
            if path.endswith("x.safetensors"):
                self.metadata["training"] = {"options": {"seed": 42}}

    monkeypatch.setattr(learned, "load_model", Model)
    found = _find_algorithms(BenchOptions([tmp_path], ["ff", *paths]))
    assert [h.heuristic for h in found] == ["ff", paths[0], paths[1], "y", paths[3]]
    assert [h.seed for h in found] == [None, 42, 42, None, None]
    assert len({h.digest for h in found}) == 5


MODEL_WORKER = """
from hstar.slots import loader as learned
from test_bench import GoalCount
learned.load_model = GoalCount
from hstar.runtime.worker import main
main()
"""


class GoalCount:
    """As load_model returns them: a heuristic without a task, here one that counts open goals."""

    def __init__(self, path: str, decode: str | None = None, trust: bool = False) -> None:
        self.label = path
        self.metadata: dict[str, Any] = {"training": {"seed": 7}}

    def bind(self, task: Task) -> Any:
        if task.problem.domain.name == "ferry":
            raise ModelFileError("this model is for another domain", self.label)
        return make_heuristic(task, "goalcount").evaluate


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is loaded as GoalCount."""
    path = tmp_path / "mine.safetensors"
    path.write_bytes(b"")
    monkeypatch.setattr(learned, "load_model", GoalCount)
    return path


def test_models_run_in_the_workers(
    suite: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_pool, "COMMAND", (sys.executable, "-c", MODEL_WORKER))
    folders = [Path(__file__).parent, Path(__file__).parents[1] / "support"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, folders)))
    rows = run_bench(BenchOptions([suite], ["goalcount", model]))
    named, ours = (rows.filter(rows["heuristic"] == name) for name in ("goalcount", "mine"))
    assert set(ours["model"]) == {str(model)}
    assert set(ours["seed"]) == {7}
    blocks = ["coverage", "evaluations", "expanded", "cost"]
    assert ours[:PROBLEMS].select(blocks).equals(named[:PROBLEMS].select(blocks))
    assert ours["error"].to_list()[PROBLEMS:] == ["bad input"] * 3
    assert ours["message"][-1].endswith("this model is for another domain")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere"], 31, "there is no such file"),
        (["empty"], 31, "there are no PDDL problems in this folder"),
        (["blocks", "-H", "fff"], 36, "unknown heuristic 'fff'"),
        (["blocks", "-H", "ff", "ff"], 36, "given twice"),
        (["blocks", "-s", "dfs"], 36, "unknown search 'dfs'"),
        (["blocks", "-H", "no.safetensors"], None, "no.safetensors"),
        (["blocks", "blocks/p1.pddl"], 31, "named twice"),
        (["bad"], 31, "bad/p1.pddl:1:"),
        (["blocks", "-o", "no/runs.parquet"], 36, "no/runs.parquet"),
    ],
)
def test_mistakes_are_named_before_any_run(
    suite: Path, tmp_path: Path, arguments: list[str], code: int | None, says: str
) -> None:
    (tmp_path / "blocks").symlink_to(suite / "blocks")
    (tmp_path / "empty").mkdir()
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "domain.pddl").write_text(small_domains.BLOCKS)
    (bad / "p1.pddl").write_text("(define (problem x) (:domain blocks) (:goal (on a b)))")
    output = [] if "-o" in arguments else ["-o", "runs.parquet"]
    done = hstar("bench", *arguments, *output, cwd=tmp_path)
    assert done.code == code or (code is None and done.code != 0)
    assert says in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.glob("runs*"))


def test_unsupported_pddl_is_a_row(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:requirements :derived-predicates) (:predicates (p) (q))"
        " (:derived (q) (p)) (:action a :parameters () :effect (p)))"
    )
    (tmp_path / "p1.pddl").write_text("(define (problem x) (:domain d) (:init) (:goal (q)))")
    rows = run_bench(BenchOptions([tmp_path, suite / "ferry"], ["ff"]))
    assert rows["error"].to_list() == ["unsupported", *["solved"] * 3]
    assert rows["exit_code"][0] == 34
    assert "domain.pddl:1:" in rows["message"][0]


def test_bad_pddl_and_empty_suites_raise(tmp_path: Path) -> None:
    with pytest.raises(SuiteError):
        run_bench(BenchOptions([tmp_path]))
    (tmp_path / "p.pddl").write_text("(define (problem x) (:domain d) (:goal (q)))")
    with pytest.raises(PddlError):
        run_bench(BenchOptions([tmp_path]))


def test_files_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(RunsError, match="no such file"):
        read_runs(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(RunsError, match="no Parquet file of runs"):
        read_runs(tmp_path / "text.parquet")
    pl.DataFrame({"run": ["x"]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(RunsError, match="the columns suite, domain"):
        read_runs(tmp_path / "other.parquet")


# -- configurations


def test_every_search_runs_with_every_heuristic(suite: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs.parquet"
    flags = ["-s", "gbfs", "-s", "astar", "-H", "ff", "blind", "-H", "default"]
    further = ["--config=-s wastar -H hmax --weight 5 --batch 2", "--config=-s lazy"]
    done = hstar("bench", suite / "ferry", *flags, *further, "-o", output)
    assert (done.code, f"The rows are in {output}." in done.out) == (0, True)
    rows = read_runs(output).rows
    first = rows.filter(rows["problem"] == "p0.pddl")
    assert first.select("algorithm", "search", "heuristic").rows() == [
        ("gbfs(ff)", "gbfs", "ff"),
        ("astar(ff)", "astar", "ff"),
        ("gbfs(blind)", "gbfs", "blind"),
        ("astar(blind)", "astar", "blind"),
        ("default", "lazy", "ff"),
        ("wastar(hmax, weight 5, batch 2)", "wastar", "hmax"),
        ("lazy(ff)", "lazy", "ff"),
    ]
    assert rows.height == 3 * first.height
    for row in first.iter_rows(named=True):
        folder = Path(row["suite"])
        flags = {"default": [], "lazy(ff)": ["-s", "lazy"]}.get(
            row["algorithm"], ["-s", row["search"], "-H", row["heuristic"]]
        )
        if row["search"] == "wastar":
            flags += ["--weight", "5", "--batch", "2"]
        plan = json.loads(
            hstar("plan", folder / row["problem"], *flags, "--json", cwd=tmp_path).out
        )
        assert (row["cost"], row["expanded"]) == (plan["plan_cost"], plan["expanded"])


def test_a_model_that_fits_no_domain_is_an_error_before_any_run(
    suite: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_pool, "COMMAND", (sys.executable, "-c", "this never runs"))
    with pytest.raises(ModelFileError, match="this model is for another domain"):
        run_bench(BenchOptions([suite / "ferry"], ["ff", model], output=tmp_path / "runs.parquet"))
    assert list(tmp_path.iterdir()) == [model]


def test_puzzles_are_suites(tmp_path: Path) -> None:
    states = tmp_path / "few.txt"
    states.write_text("1 0 2 4 5 3 6 7 8\n\n1 2 0 3 4 5 6 7 8\n")
    suites = ["tiles-3x3:scramble=8:count=2:seed=3", f"tiles-3x3:states={states}"]
    rows = run_bench(BenchOptions(suites, ["blind"], ["astar", "bfs"]))
    assert set(rows["domain"]) == set(rows["suite"]) == {"tiles-3x3"}
    assert rows["problem"].to_list()[::2] == [
        "scramble-8-seed-3",
        "scramble-8-seed-4",
        "few:1",
        "few:3",
    ]
    assert set(rows["error"]) == {"solved"}
    puzzle = make_puzzle("tiles-3x3")
    expected = search(puzzle, "blind", "astar", state=puzzle.scramble(8, 3))
    assert (rows["cost"][0], rows["expanded"][0]) == (expected.plan_cost, expected.expanded)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["tiles-3x3:scramble=x"], 31, "write PUZZLE:scramble=20"),
        (["tiles-0x3:scramble=3"], 31, "tiles-0x3"),
        (["tiles-3x3:scramble=3", "-H", "ff"], 36, "'ff' does not work on a puzzle"),
        (["tiles-3x3:scramble=3", "-s", "gbfls", "-H", "blind"], 36, "'gbfls' does not work on"),
        (["tiles-3x3:scramble=3", "--config=-H blind --wieght 3"], 36, "did you mean '--weight'?"),
        (["tiles-3x3:scramble=3", "-H", "default", "default"], 36, "given twice"),
        (["tiles-3x3:scramble=3", "-H", "fff"], 36, "did you mean 'ff'?"),
    ],
)
def test_mistakes_in_configurations_are_named_before_any_run(
    tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    done = hstar("bench", *arguments, "-o", "runs.parquet", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert says in done.err
    assert not list(tmp_path.iterdir())
