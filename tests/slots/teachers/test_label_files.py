"""Reading files of labels, and labels from plans of the user."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from label_folders import QUICK, atom_names, problem_of, rows_of, write_folder
from program import hstar
from small_domains import problem_text

from hstar import search
from hstar.pddl import parse
from hstar.pddl.errors import InputFileError
from hstar.pddl.planfile import PlanFileError
from hstar.planning.task import ground
from hstar.slots.teachers import LabelOptions, Labels, LabelsError, label, read_labels
from hstar.training.dataset import load_dataset


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels that tests may copy and spoil."""
    root = tmp_path_factory.mktemp("sample")
    folder = write_folder(root / "problems", "gripper", count=2, seed=4)
    label(folder, root / "labels.parquet", QUICK)
    label(folder, root / "others.parquet", LabelOptions(jobs=1, limit_problems=1))
    return root / "labels.parquet"


def test_reading(sample: Path) -> None:
    labels: Labels = read_labels(sample)
    assert (labels.teacher, labels.cost, labels.hstar != "") == ("optimal", "one", True)
    assert labels.limits["time_limit"] == 300.0
    assert labels.domain == (sample.parent / "problems/domain.pddl").read_text()
    assert problem_of(labels, "p01.pddl").pddl == (sample.parent / "problems/p01.pddl").read_text()
    times = json.loads(sample.with_suffix(".times.json").read_text())
    assert [attempt["problem"] for attempt in times["attempts"]] == ["p00.pddl", "p01.pddl"]
    assert all(attempt["total_time"] >= attempt["search_time"] for attempt in times["attempts"])


def copied(sample: Path, folder: Path, **manifest: object) -> Path:
    """A copy of the labels with a changed manifest (None takes a field out)."""
    copy = folder / "labels.parquet"
    copy.write_bytes(sample.read_bytes())
    fields = json.loads(sample.with_suffix(".manifest.json").read_text()) | manifest
    fields = {name: value for name, value in fields.items() if value is not None}
    copy.with_suffix(".manifest.json").write_text(json.dumps(fields))
    return copy


def test_reading_nothing(sample: Path, tmp_path: Path) -> None:
    with pytest.raises(LabelsError, match=r"there is no such file; make it with 'hstar label'"):
        read_labels(tmp_path / "labels.parquet")
    copied(sample, tmp_path).with_suffix(".manifest.json").unlink()
    with pytest.raises(LabelsError, match=r"labels\.manifest\.json is missing beside it"):
        read_labels(tmp_path / "labels.parquet")


def test_reading_mixed_files(sample: Path, tmp_path: Path) -> None:
    copy = copied(sample, tmp_path)
    copy.write_bytes(sample.with_name("others.parquet").read_bytes())
    with pytest.raises(LabelsError, match="keep the two files of one run together"):
        read_labels(copy)


def test_reading_other_formats(sample: Path, tmp_path: Path) -> None:
    for other in ("hstar-labels-1", "hstar-labels-9"):
        with pytest.raises(LabelsError, match=f"'{other}', but this hstar reads .*label the prob"):
            read_labels(copied(sample, tmp_path, format=other))
    with pytest.raises(LabelsError, match="'cost'"):
        read_labels(copied(sample, tmp_path, cost=None))
    with pytest.raises(LabelsError, match="attempts"):
        read_labels(copied(sample, tmp_path, problems=[{"problem": "p00.pddl"}]))
    copied(sample, tmp_path).with_suffix(".manifest.json").write_text("{")
    with pytest.raises(LabelsError, match="not JSON"):
        read_labels(tmp_path / "labels.parquet")


def test_reading_rows_of_another_tool(sample: Path, tmp_path: Path) -> None:
    """A manifest without a digest stands for any rows, but they need all columns."""
    copy = copied(sample, tmp_path, rows=None)
    rows = pl.read_parquet(sample)
    rows.head(3).write_parquet(copy)
    assert len(read_labels(copy).rows) == 3
    rows.drop("upper").write_parquet(copy)
    with pytest.raises(LabelsError, match="the column 'upper' is missing"):
        read_labels(copy)
    rows.with_columns(pl.col("h").cast(pl.Float64)).write_parquet(copy)
    with pytest.raises(LabelsError, match="the column 'h' has type Float64, not Float32"):
        read_labels(copy)
    rows.with_columns(problem=pl.lit(None, pl.Int32)).write_parquet(copy)
    with pytest.raises(LabelsError, match="the column 'problem' has missing values"):
        read_labels(copy)
    rows.with_columns(pl.col("problem") + 1).write_parquet(copy)
    with pytest.raises(LabelsError, match="the rows do not match the manifest's problems"):
        read_labels(copy)
    rows.with_columns(pl.col("state").list.eval(pl.element() + 99)).write_parquet(copy)
    with pytest.raises(LabelsError, match="a state has an atom that its problem lacks"):
        read_labels(copy)
    copy.write_text("no Parquet")
    with pytest.raises(LabelsError, match="not a Parquet file"):
        read_labels(copy)


def given(plans: Path) -> LabelOptions:
    return LabelOptions("plans", {"plans": str(plans)}, jobs=1)


def test_plans_of_the_user(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "transport", count=4)
    plans = tmp_path / "plans"
    plans.mkdir()
    costs: dict[str, int | float | None] = {}
    for number, end in ((0, "plan"), (2, "soln")):
        name = f"p{number:02d}"
        task = ground(parse(folder / "domain.pddl", folder / f"{name}.pddl"))
        found = search(task, "ff", "gbfs")
        costs[f"{name}.pddl"] = found.plan_cost
        (plans / f"{name}.{end}").write_text(found.plan_text.upper())
    output = tmp_path / "labels.parquet"
    done = hstar("label", folder, "--plans", plans, "-o", output, "--cost", "normal")
    assert done.code == 0 and "left out, no plan file" in done.out
    labels = read_labels(output)
    assert labels.teacher == "plans"
    assert {p.problem: p.plan_cost for p in labels.problems if p.status == "solved"} == costs
    assert np.isnan(labels.rows.h).all() and labels.kinds == ["plan"]
    for name, cost in costs.items():
        upper = rows_of(labels, name).upper.tolist()
        assert (upper[0], upper[-1]) == (cost, 0) and upper == sorted(upper, reverse=True)
    data = load_dataset(output)
    lmcut = data.column("lmcut")
    assert (lmcut <= data.column("upper")).all() and lmcut[0] > 0


def test_plans_with_steps_that_grounding_drops(tmp_path: Path) -> None:
    """One that does nothing, one that costs more than its twin, and one that cannot matter."""
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:requirements :action-costs) (:functions (total-cost) - number)"
        "(:predicates (at ?x) (seen ?x) (place ?x))"
        "(:action go :parameters (?x ?y) :precondition (and (at ?x) (place ?y))"
        " :effect (and (not (at ?x)) (at ?y) (increase (total-cost) 2)))"
        "(:action limp :parameters (?y ?x) :precondition (and (at ?x) (place ?y))"
        " :effect (and (not (at ?x)) (at ?y) (increase (total-cost) 5)))"
        "(:action look :parameters (?x) :precondition (at ?x)"
        " :effect (and (seen ?x) (increase (total-cost) 1))))"
    )
    init = ["(at a)", "(place a)", "(place b)", "(place c)", "(= (total-cost) 0)"]
    metric = "(:metric minimize (total-cost))"
    (tmp_path / "p.pddl").write_text(problem_text("d", "a b c", init, ["(at c)"], metric))
    (tmp_path / "p.plan").write_text("(go a a)\n(look a)\n(limp b a)\n(go b c)\n")
    output = tmp_path / "labels.parquet"
    label(tmp_path, output, replace(given(tmp_path), cost="normal"))
    labels = read_labels(output)
    assert labels.rows.upper.tolist() == [10, 8, 7, 2, 0]
    states = atom_names(labels, "p.pddl")
    places = [[atom for atom in state if atom.startswith("at")] for state in states]
    assert places == [["at(a)"], ["at(a)"], ["at(a)"], ["at(b)"], ["at(c)"]]
    data = load_dataset(output)
    assert data.column("lmcut").tolist() == [2, 2, 2, 2, 0]
    assert data.tasks[0].plan == ("(limp b a)", "(go b c)")


def test_bad_plans(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=1)
    output = tmp_path / "labels.parquet"
    with pytest.raises(InputFileError, match="there is no such folder"):
        label(folder, output, given(tmp_path / "nowhere"))
    with pytest.raises(InputFileError, match="there is no plan for any of the problems"):
        label(folder, output, given(tmp_path))
    (tmp_path / "p00.plan").write_text("(move ra nowhere)\n")
    with pytest.raises(PlanFileError, match=r"p00\.plan: not a plan of this problem: step 1"):
        label(folder, output, given(tmp_path))
    assert not Path(f"{output}.partial").exists()
