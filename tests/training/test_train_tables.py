"""Training on a table from `hstar train` to a solution: forms, refusals, interruptions."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import small_domains
from program import hstar as hstar_program
from small_patterns import OPTIONS, SETTINGS, SHAPE, data_of, database_of, learn_float

import hstar.commands.cli
from hstar.pdb import build_pdb, choose_pattern, read_pdb, write_pdb
from hstar.pddl import parse
from hstar.planning.puzzle import make_puzzle
from hstar.planning.task import Task, ground
from hstar.slots.features.pattern_states import PatternStates
from hstar.slots.loader import load_model
from hstar.slots.model_file import ModelFileError, read_model
from hstar.slots.objectives import make_objective
from hstar.training import train as training
from hstar.training.certified import learning
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.device_sweep import DeviceSweep
from hstar.training.certified.learning import learn, make_sweep
from hstar.training.certified.sweep import Sweep, SweepOptions
from hstar.training.checkpoint import CheckpointError
from hstar.training.options import TrainOptions
from hstar.training.train import choose_device, prepare_table

TILES = "tiles-2x3"
QUICK = "--hidden 24 --width 12 --blocks 1 --steps 150 --batch 256 --learning-rate 1e-2"
QUICK += " --evaluate-every 50 --device cpu --threads 1"
FORMS = {
    "gaussian": "-l gaussian --bits 0 --steps 800",
    "truncated-gaussian": "-l truncated-gaussian --bits 0 --steps 800",
    "fixed-sigma": "-l gaussian --sigma 1.41",
    "argmax": "-l cea --bits 0 --decode argmax",
    "quantile": "-l cea --bits 0 --decode quantile --tau 0.9",
    "integer-quantile": "-l cea --decode quantile",
    "strict": "",
}
FLOAT = replace(OPTIONS, bits=0, decode="argmax")


def command(*arguments: object) -> int:
    """In this process: loading torch takes longer than these trainings."""
    return hstar.commands.cli.run([str(one) for one in arguments])


@pytest.fixture(scope="module")
def tiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "tiles.pdb"
    write_pdb(path, database_of(TILES, "tiles"))
    return path


@pytest.fixture(scope="module")
def gripper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Task]:
    """The folder of a small problem with a projection of it, and its task."""
    folder = tmp_path_factory.mktemp("gripper")
    domain, problem = small_domains.ALL["gripper"](random.Random(3))
    (folder / "domain.pddl").write_text(domain)
    (folder / "problem.pddl").write_text(problem)
    task = ground(parse(folder / "domain.pddl", folder / "problem.pddl"))
    write_pdb(folder / "table.pdb", build_pdb(task, choose_pattern(task, 3000)))
    return folder, task


@pytest.mark.parametrize("form", FORMS)
def test_a_puzzle_from_table_to_solution(form: str, tiles: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.safetensors"
    assert command("train", tiles, *QUICK.split(), *FORMS[form].split(), "-o", model) == 0
    assert not model.with_name("model.safetensors.partial").exists()
    whole_numbers = form in ("strict", "integer-quantile")
    assert read_model(model).metadata["form"] == ("integers" if whole_numbers else "float")
    assert command("solve", TILES, "--scramble", 12, "-H", model, "-s", "astar") == 0
    puzzle = make_puzzle(TILES)
    states = puzzle.unrank(np.arange(puzzle.num_states or 0))
    exact = database_of(TILES, "tiles").lookup(states)
    bound = load_model(model).bind(puzzle)
    values = np.asarray(bound(states) if callable(bound) else bound.evaluate(states))
    assert np.isfinite(values).all() and values.std() > 0.5
    if form == "strict":
        assert (values <= exact).all() and verify_file(model)[1].holds
    elif "quantile" not in form:  # better than the best constant
        assert np.abs(values - exact).mean() < np.abs(exact - np.median(exact)).mean()


@pytest.mark.parametrize("form", FORMS)
def test_a_planning_task_from_table_to_plan(
    form: str, gripper: tuple[Path, Task], tmp_path: Path
) -> None:
    folder, task = gripper
    model, problem = tmp_path / "model.safetensors", folder / "problem.pddl"
    arguments = ["train", folder / "table.pdb", problem, "-o", model]
    assert command(*arguments, *QUICK.split(), *FORMS[form].split()) == 0
    plan = ["plan", problem, "-s", "gbfs", "--plan-file", tmp_path / "plan"]
    assert command(*plan, "-H", model) == 0
    assert command("validate", folder / "domain.pddl", problem, tmp_path / "plan") == 0
    learned = load_model(model)
    states = task.successors(task.initial_state)[1]
    values = learned.bind(task).evaluate(states)
    if form == "strict":
        exact = read_pdb(folder / "table.pdb").bind(task).lookup(states)
        assert (np.asarray(values) <= np.asarray(exact)).all()
    elif read_model(model).metadata["form"] == "float":  # the core computes what torch does
        assert values == pytest.approx(learned._in_torch(task)(states), abs=1e-4)


def test_a_float_model_is_refused_on_another_space(
    tiles: Path, gripper: tuple[Path, Task], tmp_path: Path
) -> None:
    model = tmp_path / "model.safetensors"
    prepare_table(data_of(TILES, "tiles"), replace(FLOAT, steps=2)).write(model)
    for space in (make_puzzle("tiles-3x2"), make_puzzle("pancake-6"), gripper[1]):
        with pytest.raises(ModelFileError, match="this is another one"):
            load_model(model).bind(space)
    assert command("solve", "pancake-6", "--scramble", 3, "-H", model) == 31


def test_float_models_are_deterministic_and_resume(tmp_path: Path) -> None:
    data = data_of(TILES, "tiles")
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    prepare_table(data, FLOAT).write(whole)
    with pytest.raises(KeyboardInterrupt):
        prepare_table(data, FLOAT).write(parts, stop_at(30))
    prepare_table(data, FLOAT).write(parts)
    assert parts.read_bytes() == whole.read_bytes()


def stop_at(step: int) -> Callable[[Any, int], None]:
    def report(line: Any, steps: int) -> None:
        if line["step"] >= step:
            raise KeyboardInterrupt

    return report


# -- what does not fit a table


def settings(**changes: Any) -> TrainOptions:
    return TrainOptions(**{**SETTINGS, **changes})


NUMBER = make_objective("gaussian", base="none", lower="none")
REFUSALS = {
    "features 'relaxed-plans' cannot read": {"features": "relaxed-plans", "model_options": SHAPE},
    "compares states of plans, and a table has none": {
        "objective": make_objective("l-gbfs", base="none"),
        "decode": None,
        "bits": 0,
    },
    "no base and no lower bound": {
        "objective": make_objective("gaussian"),
        "decode": None,
        "bits": 0,
    },
    "integers learns classes, but objective 'gaussian' learns a number": {
        "objective": NUMBER,
        "decode": None,
    },
    "a certified decode needs a network in integers; take --bits 8": {"bits": 0},
}


@pytest.mark.parametrize("message", REFUSALS)
def test_what_a_table_cannot_teach(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prepare_table(data_of("pancake-5", "pancakes"), settings(**REFUSALS[message]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("-m mlp -f relaxed-plans", "cannot read"),
        ("-l l-gbfs --bits 0", "a table has none"),
        ("-l gaussian --base ff --bits 0", "no base and no lower bound"),
        ("-l gaussian --bits 8", "learns a number"),
        ("--decode strict --bits 0", "needs a network in integers"),
        ("--budget 10k --mean 3", "not both"),
        ("--decode quantile --tau 1.5", "tau is a probability"),
        ("--validation other.parquet", "--validation is for labels"),
        ("--test other.parquet", "--test is for labels"),
        ("--seeds 1,2", "one seed"),
    ],
)
def test_the_command_refuses_the_same(
    given: str, message: str, tiles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.safetensors"
    assert command("train", tiles, *given.split(), *QUICK.split(), "-o", model) == 36
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_network_to_go_on_from_is_one_in_integers(
    tiles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    assert learn(data_of(TILES, "tiles"), first, OPTIONS) is not None
    start = ["--start", first, "--bits", 0, "--decode", "argmax"]
    assert command("train", tiles, *QUICK.split(), *start, "-o", second) == 36
    assert "leave out --bits;" in capsys.readouterr().err and not second.exists()


# -- where the sweep runs


def test_the_sweep_runs_where_training_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU by the device's own sweep, over the states that lie there already."""
    data = data_of(TILES, "tiles")
    states = PatternStates(data.database, data.space, choose_device("cpu"))
    options = SweepOptions(threads=1)
    assert isinstance(make_sweep(data, states, options), Sweep)
    made: list[Any] = []
    monkeypatch.setattr(learning, "DeviceSweep", lambda *given, **_: made.append(given) or "device")
    on_gpu = SimpleNamespace(device=SimpleNamespace(type="cuda"), database=data.database)
    assert make_sweep(data, on_gpu, options) == "device"  # type: ignore[arg-type, comparison-overlap]
    assert made == [(on_gpu,)]


def test_learning_takes_that_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        learning, "make_sweep", lambda data, states, options: DeviceSweep(states, 100)
    )
    model = tmp_path / "model.safetensors"
    learned = learn(data_of(TILES, "tiles"), model, OPTIONS)
    assert learned is not None and isinstance(learned.sweep, DeviceSweep)
    assert verify_file(model)[1].holds


# -- the partial file of another run


@pytest.mark.parametrize("bits", [0, 6])
def test_a_partial_file_of_another_run_is_refused_and_kept(
    bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, model = data_of(TILES, "tiles"), tmp_path / "model.safetensors"
    partial = tmp_path / "model.safetensors.partial"
    run: Callable[..., Any] = learn if bits else learn_float
    options = settings(bits=bits, decode="argmax")
    with pytest.raises(KeyboardInterrupt):
        run(data, model, options, report=stop_at(30))
    kept = partial.read_bytes()
    others = [
        (data, replace(options, steps=61)),
        (data, replace(options, seed=1)),
        (data_of("pancake-6", "pancakes"), options),
    ]
    for other, changed in others:
        with pytest.raises(CheckpointError, match="other labels, options or code; delete it"):
            run(other, model, changed)
    with monkeypatch.context() as patch:
        patch.setattr(training, "code_digest", lambda: "another version of the code")
        with pytest.raises(CheckpointError, match="other labels, options or code"):
            run(data, model, options)
    assert partial.read_bytes() == kept and not model.exists()
    run(data, model, options)
    assert model.exists() and not partial.exists()


@pytest.mark.parametrize("name", ["train", "pdb learn"])
def test_the_commands_refuse_it_too(name: str, tiles: Path, tmp_path: Path) -> None:
    model, partial = tmp_path / "model.safetensors", tmp_path / "model.safetensors.partial"
    with pytest.raises(KeyboardInterrupt):
        learn(data_of(TILES, "tiles"), model, OPTIONS, report=stop_at(30))
    kept = partial.read_bytes()
    done = hstar_program(*name.split(), tiles, *QUICK.split(), "-o", model)
    assert done.code == 36 and "delete it to start anew" in done.err
    assert partial.read_bytes() == kept and not model.exists()
    partial.write_bytes(b"damaged")
    done = hstar_program(*name.split(), tiles, *QUICK.split(), "-o", model)
    assert done.code == 36 and "cannot be read" in done.err
    assert partial.read_bytes() == b"damaged" and not model.exists()
