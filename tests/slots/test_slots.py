"""Every teacher x features x model x objective x decode x search that fits together runs from label
to plan; every one that does not gives one error that says what to choose.

The registries are enumerated, and what fits is read off their entries, so a new entry is tested
from the moment that it is registered. Every two entries meet in some test; all combinations of all
slots run with --all.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slot_combinations import FITTING, PIECES, every_pair, small, with_open_variables
from small_patterns import learn_float
from small_trainings import train

import hstar
from hstar import search
from hstar.commands.cli import main
from hstar.domains import generate
from hstar.pdb import build_pdb, choose_pattern
from hstar.planning.algorithms import SEARCHES
from hstar.planning.puzzle import make_puzzle
from hstar.slots.decode import DECODES, decode_named
from hstar.slots.features import FEATURES
from hstar.slots.models import MODELS
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.slots.pattern_network import read_learned
from hstar.slots.teachers import TEACHERS, LabelOptions, label
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.learning import learn
from hstar.training.dataset import Dataset, load_dataset
from hstar.training.options import TABLE_DEFAULTS, TrainOptions
from hstar.training.source import TableData

pytestmark = pytest.mark.usefixtures("one_thread_in_module")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks of the generators with plans beside them, and labels of every teacher."""
    base = tmp_path_factory.mktemp("slots")
    generate("blocksworld", base, ["train"], count=2, ranges={"blocks": [3]})
    for problem in (base / "train").glob("blocks*.pddl"):
        found = hstar.plan(base / "train" / "domain.pddl", problem)
        problem.with_suffix(".plan").write_text(found.plan_text)
    for name in TEACHERS:
        known = TEACHERS.find(name).options
        given = {"plans": str(base / "train")} if "plans" in known else {}
        if "states" in known:
            given["states"] = "60"
        if "rounds" in known:
            given["rounds"] = "3"
        options = LabelOptions(name, given, jobs=1)
        assert label(base / "train", base / f"{name}.parquet", options).solved == 2
    return base


@cache
def dataset(folder: Path, teacher: str) -> Dataset:
    return load_dataset(folder / f"{teacher}.parquet")


def options_of(model: str, features: str, objective: str, **given: Any) -> TrainOptions:
    chosen = {"steps": 4, "evaluate_every": 2, "batch": 8, "device": "cpu", **given}
    return TrainOptions(
        model=model,
        features=features,
        objective=make_objective(objective, **given.pop("objective_options", {})),
        model_options=small(model, features),
        **{name: value for name, value in chosen.items() if name != "objective_options"},
    )


def search_everywhere(space: Any, heuristic: Any, state: Any = None) -> None:
    """Every search finds a plan; searching replays it."""
    fitting = [name for name in SEARCHES if space.kind in SEARCHES.find(name).spaces]
    for algorithm in fitting:
        found = search(space, heuristic, algorithm, state=state, max_evaluations=3000)
        # A search that deepens remembers no states, so a limit may end it.
        may_give_up = SEARCHES.find(algorithm).settings.get("deepen", False)
        assert found.solved or (may_give_up and found.status == "gave up"), algorithm


@pytest.mark.parametrize(("teacher", "model", "features", "objective"), every_pair(TEACHERS))
def test_from_label_to_plan(
    teacher: str, model: str, features: str, objective: str, folder: Path, tmp_path: Path
) -> None:
    """Trains once, and searches with every decode and every search."""
    data = dataset(folder, teacher)
    output = tmp_path / "model.safetensors"
    chosen = options_of(model, features, objective)
    if data.has_open_variables:
        message, legal = with_open_variables(features, objective)
        if message is not None:
            with pytest.raises(ValueError, match=message):
                train(data, data, output, chosen)
        if legal is None:
            return
        chosen = options_of(model, features, objective, objective_options=legal)
    h = data.column("h_star")
    if OBJECTIVES.find(objective).form == "logits" and (h != np.round(h))[np.isfinite(h)].any():
        with pytest.raises(ValueError, match=r"whole numbers; take .* another teacher"):
            train(data.select([0]), data.select([0]), output, chosen)
        return
    if FEATURES.find(features).needs == "space":
        with pytest.raises(ValueError, match="of several problems; choose features"):
            train(data, data, output, chosen)
        data = data.select([0])
    train(data, data, output, chosen)
    form = OBJECTIVES.find(objective).form
    for name in DECODES:
        decode = DECODES.find(name)
        if decode_named(name, form).reads != form:
            with pytest.raises(ValueError, match=f"decode '{name}' reads .*; choose "):
                options_of(model, features, objective, decode=name)
            with pytest.raises(ValueError, match=f"decode '{name}' reads .*; choose "):
                hstar.load_model(output, name)
        elif decode.is_certified and decode.reads == form:
            certified = options_of(model, features, objective, decode=name)
            with pytest.raises(ValueError, match="exact value of every state; train on a pattern"):
                train(data, data, tmp_path / "other.safetensors", certified)
            with pytest.raises(ValueError, match=f"'{name}' needs a network .*; choose "):
                hstar.load_model(output, name)
        else:
            search_everywhere(data.tasks[0].task, hstar.load_model(output, name))


@pytest.mark.parametrize(
    ("model", "features", "objective"), [piece for piece in PIECES if piece not in FITTING]
)
def test_features_that_a_model_cannot_read(model: str, features: str, objective: str) -> None:
    readable = ", ".join(MODELS.find(model).features)
    message = f"model '{model}' cannot read features '{features}'; it reads {readable}"
    with pytest.raises(ValueError, match=message):
        options_of(model, features, objective)


# -- tables


@cache
def table(name: str, folder: Path) -> tuple[TableData, Any]:
    """A table of a puzzle, or of a projection of a task; and a state to search from."""
    if name == "puzzle":
        space: Any = make_puzzle("tiles-2x3")
        return TableData(build_pdb(space, [0, 1, 2]), space), space.scramble(6, 1)
    task = dataset(folder, "optimal").tasks[0].task
    return TableData(build_pdb(task, choose_pattern(task, 100), cost="one"), task), None


def reason(model: str, features: str, objective: str, decode: str, bits: int) -> str | None:
    """The part of the message that says why these do not fit a table; None if they fit."""
    held = OBJECTIVES.find(objective)
    if not FEATURES.find(features).reads_tables:
        return f"features '{features}' cannot read; take model"
    if held.batches != "states":
        return f"objective '{objective}' compares states of plans, .*; train on labels"
    if bits and held.form != "logits":
        return "a network in integers learns classes, .*; take --bits 0, or objective"
    if bits and not MODELS.find(model).can_round:
        return f"model '{model}' cannot become one in integers; take --bits 0, or model"
    if not bits and DECODES.find(decode).is_certified:
        return "a certified decode needs a network in integers; take --bits 8"
    return None


@pytest.mark.parametrize(
    ("kind", "bits", "model", "features", "objective"), every_pair(["puzzle", "task"], [0, 6])
)
def test_from_table_to_plan(
    kind: str, bits: int, model: str, features: str, objective: str, folder: Path, tmp_path: Path
) -> None:
    data, state = table(kind, folder)
    held = OBJECTIVES.find(objective)
    without = {key: "none" for key in ("base", "lower") if key in held.__dataclass_fields__}
    for name in DECODES:
        if DECODES.find(name).reads != held.form:
            continue
        output = tmp_path / f"{name}.safetensors"
        given = {**TABLE_DEFAULTS, "steps": 6, "batch": 64, "evaluate_every": 3, "bits": bits}
        del given["model"]
        chosen = options_of(
            model, features, objective, objective_options=without, decode=name, **given
        )
        wrong = reason(model, features, objective, name, bits)
        make: Any = learn if bits else learn_float
        if wrong is not None:
            with pytest.raises(ValueError, match=wrong):
                make(data, output, chosen)
            continue
        make(data, output, chosen)
        search_everywhere(data.space, hstar.load_model(output), state)
        if DECODES.find(name).is_certified:
            _, verification = verify_file(output, space=data.space)
            assert verification.holds and read_learned(output).certificate["overestimates"] == 0
            best = search(data.space, "blind", "astar", state=state)
            found = search(data.space, hstar.load_model(output), "astar", state=state)
            assert found.plan_cost == best.plan_cost


@pytest.mark.parametrize("name", ["base", "lower"])
def test_a_table_has_no_other_heuristics(name: str, folder: Path, tmp_path: Path) -> None:
    without = {key: "none" for key in ("base", "lower") if key != name}
    chosen = options_of("mlp", "digits", "gaussian", objective_options=without, bits=0)
    with pytest.raises(ValueError, match="give --base none --lower none"):
        learn_float(table("task", folder)[0], tmp_path / "model.safetensors", chosen)


# -- the same through the program


def problems(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "train").glob("*.pddl") if path.stem != "domain")


def program(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """What a command prints."""
    try:
        assert main([os.fspath(one) for one in arguments]) == 0
    except SystemExit as ended:
        assert ended.code == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "flags",
    [
        ["-m", "nlm", "-l", "cea", "--option", "depth=2", "--option", "breadth=2"],
        ["-m", "mlp", "-f", "relaxed-plans", "-l", "truncated-gaussian", "--hidden", "6"],
        ["-m", "mlp", "-f", "digits", "-l", "truncated-gaussian", "--hidden", "6"],
        ["-m", "linear", "-f", "wl", "-l", "squared", "--option", "rounds=1"],
    ],
    ids=["cea-nlm", "truncated-mlp", "truncated-digits", "squared-wl"],
)
def test_through_the_program(
    flags: list[str], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels, output = tmp_path / "labels.parquet", tmp_path / "model.safetensors"
    problem = problems(folder)[0]
    few = ["--limit-problems", "1"] if "digits" in flags else []
    program(capsys, "label", folder / "train", "-o", labels, "--jobs", "1", *few)
    quick = ["--steps", "5", "--evaluate-every", "5", "--device", "cpu", "--threads", "1"]
    program(capsys, "train", labels, "--validation", labels, "-o", output, *flags, *quick)
    plan = ["--json", "--plan-file", tmp_path / "plan"]
    out = program(capsys, "plan", problem, "-H", output, "-s", "astar", *plan)
    assert json.loads(out)["solved"]


def test_a_certified_projection_through_the_program(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hstar train` on a projection of a planning task, decoded without overestimates."""
    table, output, problem = tmp_path / "t.pdb", tmp_path / "model.safetensors", problems(folder)[0]
    program(capsys, "pdb", "build", problem, "--pattern", "auto:100", "-o", table)
    shape = ["--hidden", "6", "--width", "4", "--blocks", "1", "--steps", "10"]
    strict = ["--decode", "strict", "--device", "cpu", "--threads", "1"]
    out = program(capsys, "train", table, problem, "-o", output, *shape, *strict)
    assert "overestimated: 0." in out
    program(capsys, "pdb", "verify", output, problem)
    costs = []
    for heuristic in ("blind", output):
        plan = ["-s", "astar", "--json", "--plan-file", tmp_path / "plan"]
        out = program(capsys, "plan", problem, "-H", heuristic, *plan)
        costs.append(json.loads(out)["plan_cost"])
    assert costs[0] == costs[1]
