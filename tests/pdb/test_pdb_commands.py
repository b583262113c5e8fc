"""`hstar pdb` and `hstar solve` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

from program import hstar

from hstar.experiments.bench import BenchOptions, run_bench
from hstar.planning.algorithms import SEARCHES


def build(folder: Path, name: str, space: str, pattern: str, *more: str) -> Path:
    path = folder / name
    done = hstar("pdb", "build", space, "--pattern", pattern, "-o", path, *more)
    assert done.code == 0, done.err
    return path


def test_build_compress_show_and_solve(tmp_path: Path) -> None:
    corners = build(tmp_path, "corners.pdb", "cube2", "corners:0-4")
    first = build(tmp_path, "first.pdb", "cube2", "corners:0,1")
    small = tmp_path / "small.pdb"
    done = hstar("pdb", "compress", corners, "--subtract", first, "--div", "3", "-o", small)
    assert done.code == 0 and "Mean with its base" in done.out
    shown = json.loads(hstar("pdb", "show", small, "--json").out)
    assert shown["grouping"] == "div" and shown["base"]["cells"] == 7 * 6 * 9
    assert sum(shown["counts"]) == shown["cells"]
    lengths = set()
    for heuristic in ("blind", f"pdb:{corners}", f"pdb:{small},{first}"):
        for search in ("idastar", "astar"):
            run = hstar(
                "solve", "cube2", "--scramble", "5", "-H", heuristic, "-s", search, "--json"
            )
            result = json.loads(run.out)
            assert run.code == 0 and result["solved"]
            lengths.add(result["plan_length"])
    assert len(lengths) == 1


def test_sums_of_additive_databases(tmp_path: Path) -> None:
    one = build(tmp_path, "one.pdb", "tiles-3x3", "1-4", "--additive")
    two = build(tmp_path, "two.pdb", "tiles-3x3", "5-8", "--additive")
    done = hstar("solve", "tiles-3x3", "--moves", "right down left", "-H", f"pdb:{one}+{two}")
    assert done.code == 0 and "Plan length: 3 step(s)." in done.out


def test_moves_are_printed(tmp_path: Path) -> None:
    done = hstar("solve", "pancake-5", "--moves", "flip3 flip5")
    assert done.code == 0 and "flip5\nflip3\nPlan length: 2" in done.out


def test_the_command_knows_every_search_for_puzzles() -> None:
    for name, entry in SEARCHES.items():
        done = hstar("solve", "pancake-5", "--moves", "flip3 flip5", "-s", name)
        assert done.code == (0 if "puzzle" in entry.spaces else 36), name


def test_exit_codes(tmp_path: Path) -> None:
    assert hstar("solve", "cube4", "--scramble", "3").code == 36
    assert hstar("solve", "cube3", "--moves", "Q").code == 36
    assert hstar("solve", "cube3").code == 36
    assert hstar("solve", "pancake-5", "--state", "0 0 1 2 3").code == 36
    assert hstar("solve", "pancake-5", "--scramble", "3", "-H", "ff").code == 36
    missing = hstar("solve", "pancake-5", "--scramble", "3", "-H", "pdb:missing.pdb")
    assert missing.code == 31 and "cannot read" in missing.err
    gave_up = hstar("solve", "tiles-4x4", "--scramble", "99", "--max-expansions", "50", "--json")
    assert gave_up.code == 12 and json.loads(gave_up.out)["status"] == "gave up"
    late = hstar("solve", "tiles-4x4", "--scramble", "99", "--overall-time-limit", "0.3s")
    assert late.code == 23
    assert hstar("pdb", "build", "pancake-5", "--pattern", "9", "-o", tmp_path / "x").code == 36
    assert hstar("pdb", "build", "pancake-5", "--pattern", "0", "-o", "/nowhere/x").code == 36
    (tmp_path / "bad").write_bytes(b"nothing")
    assert hstar("pdb", "show", tmp_path / "bad").code == 31
    assert hstar("pdb").code == 36


def test_pattern_databases_run_in_benchmarks(tmp_path: Path) -> None:
    """Certified networks are given in the same way: pdb:FILE."""
    table = tmp_path / "tiles.pdb"
    assert hstar("pdb", "build", "tiles-2x2", "--pattern", "1-3", "-o", table).code == 0
    suite = "tiles-2x2:scramble=10:count=2"
    rows = run_bench(BenchOptions([suite], [f"pdb:{table}", "blind"], ["astar"]))
    assert set(rows["error"]) == {"solved"}
    assert rows["cost"][0] == rows["cost"][1] == rows["initial_h_value"][0]
    assert set(rows["model"]) == {f"pdb:{table}", ""}
