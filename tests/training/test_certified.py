"""Certified heuristics from learning to search: no state overestimated, no damaged file used."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from program import DATA
from program import hstar as run
from small_patterns import OPTIONS, data_of, database_of, difference

import hstar
from hstar import _core, search
from hstar.pdb import PatternDatabase, build_pdb, write_pdb
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.planning.task import Task
from hstar.slots.features.pattern_states import PatternStates
from hstar.slots.loader import load_pattern_heuristic
from hstar.slots.model_file import ModelFileError, to_bytes, write_model
from hstar.slots.objectives import make_objective
from hstar.slots.pattern_network import Decoding, ExceptionSet, LearnedFile, read_learned
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.device_sweep import DeviceSweep
from hstar.training.certified.learning import learn
from hstar.training.certified.sweep import Sweep, SweepOptions
from hstar.training.certified.thresholds import GRID
from hstar.training.source import TableData

PANCAKE = "pancake-6"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certified")


@pytest.fixture(scope="module")
def strict(folder: Path) -> Path:
    path = folder / "strict.safetensors"
    assert learn(data_of(PANCAKE, "pancakes"), path, OPTIONS) is not None
    return path


@pytest.fixture(scope="module")
def argmax(folder: Path) -> Path:
    path = folder / "argmax.safetensors"
    options = replace(OPTIONS, steps=30, objective=make_objective("ce"), decode="argmax")
    assert learn(data_of(PANCAKE, "pancakes"), path, options) is not None
    return path


def all_values(
    path: Path, database: PatternDatabase, puzzle: Puzzle
) -> tuple[np.ndarray, np.ndarray]:
    states = puzzle.unrank(np.arange(puzzle.num_states or 0))
    model = read_learned(path, need_certificate=False).model
    return model.lookup(states), database.lookup(states)


def test_strict_never_overestimates(strict: Path) -> None:
    database, puzzle = database_of(PANCAKE, "pancakes"), make_puzzle(PANCAKE)
    learned, exact = all_values(strict, database, puzzle)
    assert (learned <= exact).all()
    file, verification = verify_file(strict)
    certificate = verification.certificate
    assert verification.holds
    assert certificate["states"] == 720 and certificate["overestimates"] == 0
    assert certificate["mean"] == pytest.approx(float(learned.astype(float).mean()))
    assert dict(map(tuple, certificate["histogram"])) == {
        int(value): int(count)
        for value, count in zip(*np.unique(learned, return_counts=True), strict=True)
    }
    assert file.model.exceptions and 0 < certificate["mean"] <= database.mean


def test_threads_and_batches_change_nothing(strict: Path) -> None:
    results = [
        verify_file(strict, options=SweepOptions(threads, batch))[1]
        for threads, batch in ((1, 4096), (2, 7), (3, 100), (1, 1))
    ]
    assert all(result == results[0] and result.holds for result in results)


def test_argmax_overestimates_and_is_refused_as_admissible(argmax: Path) -> None:
    database, puzzle = database_of(PANCAKE, "pancakes"), make_puzzle(PANCAKE)
    learned, exact = all_values(argmax, database, puzzle)
    assert (learned > exact).any()
    model = read_learned(argmax, need_certificate=False).model
    counts = Sweep(database, puzzle, SweepOptions()).count_values(model)
    assert int(counts.overestimates.sum()) == int((learned > exact).sum())
    with pytest.raises(ModelFileError, match="not admissible"):
        read_learned(argmax)
    with pytest.raises(ModelFileError, match="not admissible"):
        load_pattern_heuristic(f"pdb:{argmax}")


def test_every_changed_byte_is_noticed(strict: Path, tmp_path: Path) -> None:
    content = strict.read_bytes()
    rng = np.random.default_rng(0)
    places = {0, 7, 8, 9, len(content) - 1, *rng.integers(0, len(content), 150).tolist()}
    places |= {content.index(b"digest") + offset for offset in range(0, 80, 5)}
    damaged = tmp_path / "damaged.safetensors"
    for place in sorted(places):
        for flip in (1, 0x20, 0x80):
            changed = bytearray(content)
            changed[place] ^= flip
            damaged.write_bytes(changed)
            with pytest.raises(ModelFileError):
                read_learned(damaged)
    for cut in (0, 5, len(content) // 2, len(content) - 1):
        damaged.write_bytes(content[:cut])
        with pytest.raises(ModelFileError):
            read_learned(damaged)
    damaged.write_bytes(content + b"\0")
    with pytest.raises(ModelFileError):
        read_learned(damaged)


def test_a_certificate_of_something_else_is_refused(strict: Path, tmp_path: Path) -> None:
    """Files whose digest matches, but whose certificate is not about what they hold."""
    file = read_learned(strict)
    path = tmp_path / "forged.safetensors"
    model = file.model
    thresholds = model.decoding.thresholds
    assert thresholds is not None and file.certificate is not None
    other = Decoding((thresholds[0] // 2, *thresholds[1:]), model.decoding.ratio + 1)
    for forged in (
        replace(file, certificate=None),
        replace(file, certificate={**file.certificate, "overestimates": 1}),
        replace(file, model=replace(model, exceptions=model.exceptions[:-1])),
        replace(file, model=replace(model, exceptions=(ExceptionSet.encode([3]),))),
        replace(file, model=replace(model, decoding=other)),
    ):
        write_model(path, forged.to_model_file())
        with pytest.raises(ModelFileError):
            read_learned(path)
        with pytest.raises(ModelFileError):
            verify_file(path)
    for key, wrong in (("total", 1), ("states", 1), ("table_sha256", "0" * 64)):
        other = replace(file, certificate={**file.certificate, key: wrong})
        write_model(path, other.to_model_file())
        _, verification = verify_file(path)
        assert not verification.holds and key in verification.differences
    assert to_bytes(file.to_model_file()) == strict.read_bytes()


def test_damaged_parts_do_not_crash(strict: Path, tmp_path: Path) -> None:
    """What a file with a right digest may still hold wrongly is an error, not a crash."""
    file = read_learned(strict)
    path = tmp_path / "odd.safetensors"
    first = file.model.exceptions[0]
    for exceptions in (
        (replace(first, count=first.count + 50),),
        (replace(first, parameter=first.parameter + 9),),
        (replace(first, code=first.code[:-1]),),
        (replace(first, code=b""),),
    ):
        bare = LearnedFile(replace(file.model, exceptions=exceptions), None, {})
        write_model(path, bare.to_model_file())
        with pytest.raises((ModelFileError, ValueError)):
            read_learned(path, need_certificate=False).model.core  # noqa: B018


def test_the_maximum_with_a_table(strict: Path, folder: Path) -> None:
    puzzle = make_puzzle(PANCAKE)
    small = database_of(PANCAKE, "pancakes:0-2")
    write_pdb(folder / "small.pdb", small)
    both = load_pattern_heuristic(f"pdb:{strict},{folder / 'small.pdb'}")
    states = puzzle.unrank(np.arange(720))
    learned = read_learned(strict).model.lookup(states)
    assert np.array_equal(both.evaluate(puzzle, states), np.maximum(learned, small.lookup(states)))


def test_budget_and_mean(folder: Path) -> None:
    data = data_of(PANCAKE, "pancakes")
    path = folder / "wanted.safetensors"
    usual = learn(data, path, OPTIONS)
    assert usual is not None
    means = []
    for budget in (usual.num_bytes - 50, usual.num_bytes + 500):
        learned = learn(data, path, replace(OPTIONS, decode_options={"budget": budget}))
        assert learned is not None and learned.num_bytes == path.stat().st_size <= budget
        means.append(learned.file.certificate["mean"])
    assert means == sorted(means)
    middle = sum(means) / 2
    learned = learn(data, path, replace(OPTIONS, decode_options={"mean": middle}))
    assert learned is not None and learned.file.certificate["mean"] >= middle
    with pytest.raises(ValueError, match="budget"):
        learn(data, path, replace(OPTIONS, decode_options={"budget": 500}))


def test_a_difference_counts_its_base(folder: Path) -> None:
    database, puzzle = difference()
    path = folder / "difference.safetensors"
    learned = learn(TableData(database, puzzle), path, OPTIONS)
    assert learned is not None and database.base is not None
    file, verification = verify_file(path)
    assert verification.holds and learned.num_bytes > database.base.table.nbytes
    states = np.concatenate([puzzle.scramble(n % 9, n)[None] for n in range(200)])
    assert (file.model.lookup(states) <= database.lookup(states)).all()
    assert (file.model.lookup(states) >= database.base.lookup(states)).all()


def test_sweeps_on_the_device_equal_those_of_the_core(strict: Path, argmax: Path) -> None:
    for path, name in ((strict, PANCAKE), (argmax, PANCAKE)):
        database, puzzle = database_of(name, "pancakes"), make_puzzle(name)
        states = PatternStates(database, puzzle, torch.device("cpu"))
        model = read_learned(path, need_certificate=False).model
        core, device = Sweep(database, puzzle, SweepOptions(1)), DeviceSweep(states, 100)
        bare = replace(model, exceptions=())
        for one in (model, bare):
            ours, theirs = device.count_values(one), core.count_values(one)
            assert np.array_equal(ours.classes, theirs.classes)
            assert np.array_equal(ours.overestimates, theirs.overestimates)
            assert (ours.states, ours.unreached) == (theirs.states, theirs.unreached)
        pairs = zip(device.find_overestimates(bare), core.find_overestimates(bare), strict=True)
        assert all(np.array_equal(ours, theirs) for ours, theirs in pairs)
        levels = device.count_levels(bare, GRID), core.count_levels(bare, GRID)
        for part in ("below", "just", "within"):
            ours, theirs = (getattr(one, part).astype(np.int64) for one in levels)
            assert np.array_equal(ours.sum(axis=1), theirs.sum(axis=1))
            assert np.abs(ours - theirs).sum() <= 0.01 * theirs.sum()


def test_tiles_with_unreachable_indices(folder: Path) -> None:
    database, puzzle = database_of("tiles-2x3", "tiles"), make_puzzle("tiles-2x3")
    path = folder / "tiles.safetensors"
    assert learn(TableData(database, puzzle), path, OPTIONS) is not None
    _, verification = verify_file(path)
    certificate = verification.certificate
    assert verification.holds
    assert certificate["states"] + certificate["unreached"] == database.layout.cells
    heuristic = load_pattern_heuristic(f"pdb:{path}")
    for seed in range(5):
        state = puzzle.scramble(30, seed)
        learned = search(puzzle, heuristic, "astar", state=state)
        assert learned.plan_length == search(puzzle, "blind", "astar", state=state).plan_length


def test_a_planning_task(folder: Path) -> None:
    from hstar.pddl import parse
    from hstar.planning.task import ground

    where = DATA / "strips"
    task: Task = ground(parse(where / "domain.pddl", where / "problem.pddl"))
    pattern = list(range(task.num_variables))[:4]
    database = build_pdb(task, pattern)
    path = folder / "task.safetensors"
    assert learn(TableData(database, task), path, OPTIONS) is not None
    assert verify_file(path, space=task)[1].holds
    with pytest.raises(ModelFileError, match="PDDL"):
        verify_file(path)
    heuristic = load_pattern_heuristic(f"pdb:{path}")
    learned = hstar.plan(where / "domain.pddl", where / "problem.pddl", heuristic, "astar")
    lmcut = hstar.plan(where / "domain.pddl", where / "problem.pddl", "lmcut", "astar")
    assert learned.plan_cost == lmcut.plan_cost


def test_commands(strict: Path, folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.pdb"
    write_pdb(table, database_of(PANCAKE, "pancakes"))
    model = tmp_path / "model.safetensors"
    quick = "--hidden 12 --width 8 --blocks 1 --steps 20 --batch 128 --device cpu --threads 1"
    done = run("pdb", "learn", str(table), "-o", str(model), *quick.split(), "--json")
    assert done.code == 0, done.err
    learned = json.loads(done.out)
    assert learned["overestimates"] == 0 and learned["bytes"] == model.stat().st_size
    done = run("pdb", "verify", str(model), "--threads", "2", "--batch", "50", "--json")
    assert done.code == 0 and json.loads(done.out)["holds"]
    done = run("pdb", "show", str(model))
    assert done.code == 0 and "overestimated: 0" in done.out
    done = run("solve", PANCAKE, "--scramble", "5", "-H", f"pdb:{model}", "-s", "astar")
    assert done.code == 0
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    for command in (
        ["pdb", "verify", str(model)],
        ["solve", PANCAKE, "--scramble", "5", "-H", f"pdb:{model}"],
    ):
        done = run(*command)
        assert done.code == 31 and "changed" in done.err


def test_another_space_is_refused(strict: Path) -> None:
    with pytest.raises(ValueError, match="pancake"):
        load_pattern_heuristic(f"pdb:{strict}").bind(make_puzzle("pancake-7"))
    model = read_learned(strict).model
    index = database_of("pancake-7", "pancakes:0-5").index(make_puzzle("pancake-7"))
    with pytest.raises(ValueError, match="too few values"):
        _core.LearnedPdb(
            index, model.network.core, model.decoding.ratio, None, list(model.values), [], None
        )
