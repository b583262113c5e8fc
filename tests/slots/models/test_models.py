"""The shipped networks of the cube: what they promise, checked against tables built here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from program import hstar

from hstar.papers.admissible_cea.scales import GOALS, SUBJECTS
from hstar.pdb import build_pdb, parse_pattern, subtract
from hstar.planning.puzzle import make_puzzle
from hstar.slots.model_file import ModelFileError
from hstar.slots.pattern_network import read_learned
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.sweep import SweepOptions

MODELS = Path(__file__).parents[3] / "models"
WANTED = {"8-corner": 8.76, "8-corner-small": 8.70, "6-edge": 7.30, "7-edge": 7.70}
WANTED |= {"delta-6-4": 1.45}
BAD_INPUT = 31


def path_of(name: str) -> Path:
    return MODELS / f"{name}.safetensors"


@pytest.mark.parametrize("name", list(GOALS))
def test_each_goal_is_reached(name: str) -> None:
    certificate = read_learned(path_of(name)).certificate
    assert certificate is not None and certificate["overestimates"] == 0
    assert certificate["mean"] >= WANTED[name]
    assert path_of(name).stat().st_size <= GOALS[name].budget


@pytest.mark.parametrize("name", ["8-corner", "8-corner-small"])
@pytest.mark.parametrize(("threads", "batch"), [(1, 1000), (2, 4096)])
def test_certificates_of_corners_hold(name: str, threads: int, batch: int) -> None:
    _, verification = verify_file(path_of(name), options=SweepOptions(threads, batch))
    assert verification.holds
    assert verification.certificate["states"] == 88_179_840


@pytest.mark.parametrize("name", ["8-corner", "8-corner-small", "6-edge", "delta-6-4"])
def test_values_are_those_of_the_certificate(name: str) -> None:
    """On random states: never above the table, and as large as promised."""
    cube, subject = make_puzzle("cube3"), SUBJECTS[GOALS[name].subject]
    table = build_pdb(cube, parse_pattern(cube, subject.pattern))
    model = read_learned(path_of(name)).model
    rng = np.random.default_rng(0)
    index = table.index(cube)
    states = np.tile(cube.goal, (20_000, 1))
    states[:, list(table.layout.pattern)] = index.unrank(rng.integers(index.size, size=20_000))
    exact, found = table.lookup(states), model.lookup(states)
    assert np.all(found <= exact)
    of_base = 0.0
    if subject.base is not None:
        base = build_pdb(cube, parse_pattern(cube, subject.base))
        of_base = float(base.lookup(states).mean())
        assert np.all(found <= subtract(table, base, cube).lookup(states))
    certificate = read_learned(path_of(name)).certificate
    assert certificate is not None
    assert found.mean() - of_base == pytest.approx(certificate["mean"], abs=0.03)


@pytest.mark.parametrize("name", list(GOALS))
@pytest.mark.parametrize("share", [0.0005, 0.02, 0.5, 0.999])
def test_a_changed_byte_is_noticed(name: str, share: float, tmp_path: Path) -> None:
    """In the header, in biases or weights, in weights or exceptions, in the exceptions."""
    content = bytearray(path_of(name).read_bytes())
    content[int(share * len(content))] ^= 1
    changed = tmp_path / "changed.safetensors"
    changed.write_bytes(content)
    with pytest.raises(ModelFileError):
        read_learned(changed)


def test_programs_refuse_a_changed_file(tmp_path: Path) -> None:
    content = bytearray(path_of("8-corner-small").read_bytes())
    content[-100] ^= 1
    changed = tmp_path / "changed.safetensors"
    changed.write_bytes(content)
    verified = hstar("pdb", "verify", str(changed))
    solved = hstar("solve", "cube3", "--scramble", "3", "-H", f"pdb:{changed}")
    assert verified.code == solved.code == BAD_INPUT
    assert "digest" in verified.err and "digest" in solved.err
