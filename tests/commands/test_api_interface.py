"""hstar from Python: what is exported, its types, and each function beside its command."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from example_tasks import STRIPS
from numpy.typing import NDArray
from program import SECONDS, environment, python
from program import hstar as program

import hstar

FUNCTIONS = {
    *("plan", "search", "solve", "learn", "label", "train", "bench", "report", "validate"),
    *("generate", "load_task", "load_model", "make_heuristic"),
}
USER = """\
import numpy as np
from numpy.typing import NDArray

import hstar

task: hstar.Task = hstar.load_task("problem.pddl")


def goals(states: NDArray[np.int32]) -> NDArray[np.float32]:
    return np.zeros(len(states), dtype=np.float32)


results: list[hstar.SearchResult] = [
    hstar.plan("problem.pddl", time_limit=5.0),
    hstar.plan("domain.pddl", "problem.pddl", goals, "astar", max_evaluations=5),
    hstar.search(task, "model.safetensors", budget=hstar.Budget()),
    hstar.search(task, ["ff", goals], preferred_by="ff"),
    hstar.solve("tiles-3x3", scramble=3),
]
values: NDArray[np.float32] = hstar.load_model("m.safetensors").evaluate(task, task.initial_state)
outcome: hstar.Outcome = hstar.learn("train", "m.safetensors", steps=3, options={"rounds": 1})
sentence: str = outcome.verdict.sentence
labels: hstar.LabelSummary = hstar.label("train", "labels.parquet", "siblings")
model: hstar.ModelFile = hstar.train("labels.parquet", "m.safetensors", "linear")
count: int = len(hstar.bench(["train"], ["ff", "m.safetensors"], time_limit=None))
compared: hstar.Comparison = hstar.report(["runs.parquet"], "page.html")
cost: int | float = hstar.validate("problem.pddl", results[0].plan or []).cost
written: list[hstar.WrittenSplit] = hstar.generate("gripper", "folder", ["train"])
"""
WRONG = {
    "plan(5)": "arg-type",
    "plan('p.pddl', heuristic=5)": "arg-type",
    "plan('p.pddl', width=[5])": "arg-type",
    "learn('p', 'm.safetensors', steps='many')": "arg-type",
    "search_task": "attr-defined",
}


def test_nothing_else_is_exported() -> None:
    assert dir(hstar) == sorted(hstar.__all__)
    exported = {name: getattr(hstar, name) for name in hstar.__all__}
    assert {n for n, value in exported.items() if inspect.isfunction(value)} == FUNCTIONS
    registries = {"HEURISTICS", "SEARCHES", "__version__"}
    types = exported.keys() - FUNCTIONS - registries
    assert all(inspect.isclass(exported[name]) for name in types)
    with pytest.raises(AttributeError, match="has no attribute 'search_task'"):
        _ = hstar.search_task  # type: ignore[attr-defined]


def test_no_module_takes_the_place_of_a_function() -> None:
    said = (
        "import pkgutil, hstar, importlib\n"
        "for one in pkgutil.walk_packages(hstar.__path__, 'hstar.'):\n"
        "    if one.name != 'hstar.__main__' and 'gymnasium' not in one.name:\n"
        "        importlib.import_module(one.name)\n"
        f"assert all(callable(getattr(hstar, name)) for name in {sorted(FUNCTIONS)})"
    )
    assert python(said) == ""


def test_importing_hstar_imports_next_to_nothing() -> None:
    said = "import sys, hstar; print(*(n for n in sys.modules if n.startswith('hstar.')))"
    assert set(python(said).split()) == {
        "hstar.runtime",
        "hstar.runtime.exports",
        "hstar.runtime.version",
    }


def test_types_of_a_user_are_known(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    wrong = "".join(f"hstar.{call}  # type: ignore[{why}]\n" for call, why in WRONG.items())
    script = tmp_path / "user.py"
    script.write_text(f"{USER}{wrong}")
    folder = Path(hstar.__file__).parents[1]
    source = {} if folder.name == "site-packages" else {"MYPYPATH": str(folder)}  # mypy knows it
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(script)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**environment(), **source},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("problems")
    (split,) = hstar.generate("blocksworld", where, ["train"], count=6, ranges={"blocks": [3, 4]})
    assert split.problems == 6
    return where / "train"


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    """Learned from labels, as a search of its own."""
    labels, output = folder.parent / "labels.parquet", folder.parent / "model.safetensors"
    assert hstar.label(folder, labels, "siblings", jobs=1).solved == 6
    made = hstar.train(labels, output, "linear")
    assert made.metadata["training"]["method"] == "rank-svm"
    return output


def problem_of(folder: Path) -> Path:
    return next(path for path in sorted(folder.glob("*.pddl")) if path.name != "domain.pddl")


def test_a_problem_alone_finds_its_domain(folder: Path) -> None:
    problem = problem_of(folder)
    result = hstar.plan(problem)
    assert result.plan == hstar.plan(folder / "domain.pddl", problem).plan
    assert repr(hstar.load_task(problem)) == repr(hstar.load_task(folder / "domain.pddl", problem))
    assert hstar.validate(problem, result.plan or []).valid
    assert not hstar.validate(problem, [], folder / "domain.pddl").valid
    plan = folder.parent / "plan"
    plan.write_text(result.plan_text)
    assert hstar.validate(problem, plan).cost == result.plan_cost
    with pytest.raises(hstar.PddlError, match="this is a domain; name a problem as well"):
        hstar.plan(folder / "domain.pddl")


@pytest.mark.parametrize("kind", [str, Path])
def test_the_path_of_a_model_is_a_heuristic(kind: type, folder: Path, model: Path) -> None:
    problem = problem_of(folder)
    task, loaded = hstar.load_task(problem), hstar.load_model(model)
    results = [
        hstar.plan(problem, heuristic=kind(model), search="gbfs"),
        hstar.search(task, kind(model), "gbfs"),
        hstar.search(task, loaded, "gbfs"),
    ]
    assert len({(one.evaluated, tuple(one.plan or ())) for one in results}) == 1


def test_values_of_one_state_and_of_many(folder: Path, model: Path) -> None:
    task, loaded = hstar.load_task(problem_of(folder)), hstar.load_model(model)
    _, states = task.successors(task.initial_state)
    values = loaded.evaluate(task, states)
    assert (values.dtype, values.shape) == (np.float32, (len(states),))
    for state, value in zip(states, values, strict=True):
        assert loaded.evaluate(task, state).tolist() == [value]
    for again in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        np.testing.assert_array_equal(again.evaluate(task, states), values)
    with pytest.raises(hstar.ModelFileError, match="trained on domain"):
        other = hstar.load_task(*STRIPS)
        loaded.evaluate(other, other.initial_state)


def test_a_model_stands_wherever_a_heuristic_does(folder: Path, model: Path) -> None:
    task, name = hstar.load_task(problem_of(folder)), str(model)
    loaded = hstar.load_model(model)
    made = hstar.make_heuristic(task, name)
    np.testing.assert_array_equal(
        made.evaluate(task.initial_state), loaded.evaluate(task, task.initial_state)
    )
    beside = hstar.SearchSpecification(name, "gbfs")
    for heuristic in (made, hstar.make_heuristic(task, "ff"), hstar.make_heuristic(task, counted)):
        assert hstar.search(task, heuristic, "gbfs").solved
        assert hstar.search(task, heuristic, "gbfs", alternating=[beside]).solved
    other = hstar.load_task(*STRIPS)
    with pytest.raises(ValueError, match="another task"):
        hstar.search(other, hstar.make_heuristic(task, "ff"), "gbfs")
    runs = hstar.bench([problem_of(folder)], (), specifications=[
        hstar.SearchSpecification("ff", "gbfs", alternating=[beside])])  # fmt: skip
    assert runs["coverage"].to_list() == [1]


def counted(states: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.ones(len(states))


def test_learning_is_that_of_the_command(folder: Path, tmp_path: Path) -> None:
    output, other = tmp_path / "one.safetensors", tmp_path / "two.safetensors"
    lines: list[str] = []
    outcome = hstar.learn(folder, output, steps=30, jobs=1, say=lines.append)
    assert outcome.file is not None and lines
    assert outcome.verdict.sentence
    said = program("learn", folder, "-o", other, "--steps", "30", "--jobs", "1")
    assert said.code == 0 and outcome.verdict.sentence in said.out
    assert other.read_bytes() == output.read_bytes()
    assert not list(tmp_path.glob("*.partial"))
    shown = program("model", "show", output).out
    assert f"Verdict: {outcome.verdict.sentence}." in shown and "Search: " in shown
    with pytest.raises(ValueError, match=r"must end in \.safetensors"):
        hstar.learn(folder, tmp_path / "model", steps=3)
    with pytest.raises(ValueError, match="unknown recipe 'domian'"):
        hstar.learn(folder, output, recipe="domian")


def test_training_is_that_of_the_command(folder: Path, model: Path, tmp_path: Path) -> None:
    labels, output = folder.parent / "labels.parquet", tmp_path / "m.safetensors"
    assert program("train", labels, "--fit", "linear", "-o", output).code == 0
    assert output.read_bytes() == model.read_bytes()
    for flags, why in (
        (("--sigma", "2"), "the fit 'linear' takes no --sigma"),
        (("--test", "x.parquet"), "takes no --test"),
        (("-m", "nlm"), "takes model linear on features wl"),
    ):
        refused = program("train", labels, "--fit", "linear", "-o", output, *flags)
        assert refused.code == 36 and why in refused.err
    with pytest.raises(ValueError, match="learns by acting"):
        hstar.train(labels, output, "rtdp")
    with pytest.raises(ValueError, match="unknown fit 'lin'"):
        hstar.train(labels, output, "lin")


def test_a_network_on_facts_is_trained_in_the_core(folder: Path, tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.mkdir()
    for path in (folder / "domain.pddl", problem_of(folder)):
        (one / path.name).write_bytes(path.read_bytes())
    labels, output = tmp_path / "labels.parquet", tmp_path / "m.safetensors"
    hstar.label(one, labels, "regression", options={"states": 200}, jobs=1)
    made = hstar.train(labels, output, "mlp", options={"width": 8})
    assert made.metadata["training"]["teacher"]["name"] == "regression"
    assert hstar.plan(problem_of(one), heuristic=output, search="gbfs").solved


def test_training_in_torch(folder: Path, model: Path, tmp_path: Path) -> None:
    labels, output = folder.parent / "labels.parquet", tmp_path / "m.safetensors"
    made = hstar.train(labels, output, steps=3, validation=labels, options={"depth": 1, "width": 2})
    assert made.metadata["model"]["name"] == "nlm"
    assert hstar.plan(problem_of(folder), heuristic=output, search="gbfs").solved


def test_runs_and_their_report(folder: Path, tmp_path: Path) -> None:
    rows = hstar.bench([folder], ["ff", "blind"], ["gbfs"], output=tmp_path / "runs.parquet")
    assert len(rows) == 12 and set(rows["coverage"]) == {1}
    assert len(hstar.bench([problem_of(folder)], ["ff"], max_evaluations=1)) == 1
    hstar.report([tmp_path / "runs.parquet"], tmp_path / "page.html", "Mine")
    assert "<title>Mine" in (tmp_path / "page.html").read_text()


def test_puzzles() -> None:
    moves = hstar.solve("tiles-3x3", moves="down right", time_limit=60.0)
    assert moves.solved and moves.plan_cost == 2
    puzzle = hstar.Puzzle("tiles-3x3")
    start = puzzle.format_state(puzzle.scramble(5, 1))
    results = [hstar.solve(puzzle, state=start), hstar.solve("tiles-3x3", scramble=5, seed=1)]
    assert results[0].plan == results[1].plan
    with pytest.raises(ValueError, match="by a state, by moves or by a scramble"):
        hstar.solve("tiles-3x3")
