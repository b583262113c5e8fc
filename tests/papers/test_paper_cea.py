"""The recipe of the admissible-learning paper: a whole run of a tiny scale, killed and resumed."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import PACKAGES, SECONDS, environment, hstar
from small_patterns import database_of
from tiny_cea_scale import PAIR, TILES, TINY

from hstar import plan, search
from hstar.experiments.study import HOLDS, planning_table
from hstar.experiments.study import run as study_run
from hstar.experiments.study.claims import FAILS, UNKNOWN
from hstar.papers.admissible_cea.scales import MODELS, SCALES, TABLE_1, TABLE_3
from hstar.papers.admissible_cea.study import (
    AdmissibleCea,
    PatternResults,
    make_classical,
)
from hstar.papers.admissible_cea.tables import (
    PatternSpace,
    claims,
    frontier,
    table_1,
    table_2,
    table_3,
    verdict,
)
from hstar.pdb import table_row
from hstar.planning.puzzle import make_puzzle
from hstar.runtime.journal import JournalError
from hstar.slots.model_file import ModelFileError
from hstar.slots.pattern_network import read_learned

Tiny = tuple[AdmissibleCea, PatternResults]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    said: list[str] = []
    folder = tmp_path_factory.mktemp("cea")
    experiment = AdmissibleCea(TINY, folder, device="cpu", say=said.append)
    results = experiment.execute()
    assert "1 networks of the 3x3x3 cube are to be learned: minutes each on a GPU" in said[0]
    assert "table of tiles: 360 states" in said[2]
    return experiment, results


def test_networks_are_certified_and_measured(tiny: Tiny) -> None:
    experiment, results = tiny
    one = results.networks["tiles"]["cea"]
    assert one["certified"]["overestimates"] == 0
    assert one["certified"]["states"] == one["argmax"]["states"] == 360
    assert one["certified"]["mean"] <= results.tables["tiles"]["mean"]
    overestimated = sum(count for _, _, count in one["argmax"]["overestimates"])
    assert one["argmax"]["rate"] == overestimated / 360
    assert all(exact < guess for exact, guess, _ in one["argmax"]["overestimates"])
    path = experiment.model(TINY.learnings[0])
    assert one["certified"]["bytes"] == path.stat().st_size
    model = read_learned(path).model
    puzzle = make_puzzle("tiles-2x3")
    states = puzzle.unrank(np.arange(puzzle.num_states or 0))
    assert float(model.lookup(states).mean()) == pytest.approx(one["certified"]["mean"], abs=1e-5)
    start = puzzle.scramble(12, 3)
    assert (
        search(puzzle, model.lookup, "astar", state=start).plan_length
        == search(puzzle, "blind", "bfs", state=start).plan_length
    )


def test_files_hold_json_that_every_reader_takes(
    tiny: Tiny,
) -> None:
    """Cross-entropy has neither beta nor eta, and phases begin without a best loss."""
    experiment, results = tiny
    assert results.networks["tiles"]["ce"]["curve"][0][-2:] == [None, None]
    for learning in TINY.learnings:
        content = experiment.model(learning).read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        metadata = json.loads(header["__metadata__"]["hstar"], parse_constant=pytest.fail)
        assert metadata["objective"]["name"] == learning.options.objective.name


def test_tables_name_what_is_missing(tiny: Tiny) -> None:
    _, results = tiny
    first = {str(row[0]): row for row in table_1(results).rows}
    assert str(first["tiles"][2]) == "360"
    assert str(first["8-corner"][1]) == "not built"
    second = table_2(results)
    kinds = [(str(row[1]), str(row[0]), str(row[3])) for row in second.rows]
    assert ("8-corner", "networks", "not learned") in kinds
    assert ("8-corner", "compressed PDB", "6.84") in kinds
    assert any(name == "tiles" and kind == "certified NN, CEA loss" for name, kind, _ in kinds)
    assert any(name == "tiles" and "strongest classical" in kind for name, kind, _ in kinds)
    found = {claim.text: claim for claim in claims(results)}
    ahead = next(one for text, one in found.items() if text.startswith("a certified network"))
    assert "tiles certified" in ahead.numbers and ahead.verdict in (HOLDS, FAILS)
    fewer = found["Table 2: CE overestimates more states than CEA"]
    rates = [f"{results.networks['tiles'][loss]['argmax']['rate']:.1e}" for loss in ("ce", "cea")]
    assert f"tiles ce {rates[0]} against cea {rates[1]}" in fewer.numbers
    third = table_3(results)
    assert third.headers == ["h", "pancakes", "tiles", "difference"]
    total = sum(int(str(row[2]).replace(",", "")) for row in third.rows if str(row[2]) != "\u2013")
    assert total == 360


def test_counts_beside_the_papers(tiny: Tiny) -> None:
    """Equal and unequal counts are told apart."""
    _, results = tiny
    counts = list(TABLE_3["6-edge"])
    row = {**table_row(database_of("pancake-5", "0-4"), 0.0), "counts": counts}
    same = replace(results, tables={"6-edge": row})
    assert _verdict(same) == (HOLDS, "1 of 1: 6-edge here 11 and printed 11")
    row["counts"] = [*counts[:-1], counts[-1] + 1]
    assert _verdict(same) == (FAILS, "0 of 1: NOT 6-edge here 10 and printed 11")
    row["counts"] = [*counts, 1]
    assert _verdict(same) == (FAILS, "0 of 1: NOT 6-edge here 11 and printed 12")
    assert _verdict(results) == (UNKNOWN, "")


def _verdict(results: PatternResults) -> tuple[str, str]:
    claim = next(one for one in claims(results) if one.text.startswith("Table 3"))
    return claim.verdict, claim.numbers


def test_states_and_means_are_those_that_are_printed(tiny: Tiny) -> None:
    """States exactly, means within 0.01."""
    _, results = tiny
    row = {**table_row(database_of("pancake-5", "0-4"), 0.0), **TABLE_1["6-edge"]}
    for change, verdicts in (
        ({}, [HOLDS, HOLDS]),
        ({"mean": row["mean"] + 0.009}, [HOLDS, HOLDS]),
        ({"mean": row["mean"] - 0.011}, [HOLDS, FAILS]),
        ({"states": row["states"] + 1}, [FAILS, HOLDS]),
    ):
        found = claims(replace(results, tables={"6-edge": {**row, **change}}))
        assert [claim.verdict for claim in found[:2]] == verdicts


def test_the_paper_holds_to_its_claims(tiny: Tiny) -> None:
    found = claims(tiny[1])
    own = [one for one in found if "certified" in one.text]  # the paper has no certificates
    assert {one.paper_verdict for one in own} == {UNKNOWN}
    assert {one.paper_verdict for one in found if one not in own} == {HOLDS}


def test_frontier_says_who_leads(tiny: Tiny) -> None:
    _, results = tiny
    certified = results.networks["tiles"]["cea"]["certified"]
    strong = {**certified, "total": 99.0, "bytes": 1}
    weak = {**certified, "total": 0.0, "bytes": 10**6}
    for row, text in ((strong, "1 of 1 networks lead"), (weak, "A classical table is ahead of")):
        one = replace(results, networks={"tiles": {"cea": {"certified": row}}})
        assert text in verdict(frontier(PatternSpace.of(one, "tiles")))
    points = frontier(PatternSpace.of(results, "tiles"))
    best = -1.0
    for point in points:
        assert point.leads == (point.mean > best)
        best = max(best, point.mean)


def test_everything_is_written(tiny: Tiny, tmp_path: Path) -> None:
    experiment, results = tiny
    report = experiment.report(results, "tiny")
    report.write(tmp_path, "hstar paper", 1.0)
    page = (tmp_path / "report.html").read_text()
    for heading in (
        "Table 1",
        "Table 2",
        "Table 3",
        "Table 5",
        "Figure 2",
        "Figure 5",
        "Figures 6",
    ):
        assert f"<h3>{heading}" in page
    assert page.count("<svg") == 7  # three spaces, Figures 2 and 5, two of Figures 6 to 9
    assert "http" not in page.replace("http://www.w3.org", "")
    text = (tmp_path / "rows.json").read_text()
    rows = json.loads(text, parse_constant=pytest.fail)  # NaN is not JSON
    assert rows["tables"]["tiles"]["states"] == 360
    for table in report.tables:
        lines = list(csv.reader(io.StringIO((tmp_path / "csv" / f"{table.name}.csv").read_text())))
        assert {len(line) for line in lines} == {len(lines[0])}
        assert len(lines) == len(table.rows) + 1


def test_boards_are_planned_for_beside_the_default_planner(
    tiny: Tiny,
) -> None:
    """A* is optimal with the table and with the network; all planners read the same boards."""
    _, results = tiny
    assert results.compared is not None
    table = planning_table(results.compared)
    planners = {str(row[1]): row for row in table.rows}
    assert list(planners) == [
        "A*, certified network",
        "A*, exact table",
        "eager h^FF",
        "default planner",
    ]
    assert {str(row[2]) for row in planners.values()} == {"3/3"}
    costs = {name: float(str(row[-1])) for name, row in planners.items()}
    assert costs["A*, certified network"] == costs["A*, exact table"]
    assert costs["A*, exact table"] <= min(costs["eager h^FF"], costs["default planner"])
    blind = results.planning[0][2].parent / "domain.pddl"
    for row in results.compared.own("A*, exact table").iter_rows(named=True):
        problem = blind.with_name(f"{row['instance'].partition('/')[2]}.pddl")
        assert plan(blind, problem, search="astar", heuristic="blind").plan_cost == row["cost"]
    page = tiny[0].report(results, "tiny").page("hstar paper", 1.0).to_html()
    assert "Planning beside the default planner" in page


def test_a_stopped_run_goes_on(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, results = tiny
    before = {path: path.stat().st_mtime_ns for path in experiment.directory.rglob("*.*")}
    part = experiment.part("classical", "tiles")
    part.unlink()
    done: list[object] = []
    original = study_run.make
    monkeypatch.setattr(study_run, "make", lambda *a: (done.append(a[1]), original(*a))[1])
    again = experiment.execute()
    assert done == [make_classical]
    assert again == results
    after = {path: path.stat().st_mtime_ns for path in experiment.directory.rglob("*.*")}
    changed = {path.name for path, time in after.items() if before.get(path) != time}
    assert changed == {"tiles.json", "experiment.json"}


RUN = """
import sys
from pathlib import Path
from tiny_cea_scale import PAIR
from hstar.papers.admissible_cea.study import AdmissibleCea
AdmissibleCea(PAIR, Path(sys.argv[1]), jobs=2, device="cpu").execute()
"""


def test_a_killed_run_ends_like_an_undisturbed_one(tiny: Tiny, tmp_path: Path) -> None:
    """Killed with its processes at work, then started again."""
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    paths = os.pathsep.join([PACKAGES, str(Path(__file__).parents[1] / "support")])
    changed = environment({"PYTHONPATH": paths})
    with subprocess.Popen(command, env=changed, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 4 * SECONDS  # processes that load torch on a busy machine
        while not list(tmp_path.glob("parts/networks/*")) and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    done = len(list(tmp_path.glob("parts/*/*.json")))
    time.sleep(0.5)  # whoever had outlived it would go on writing
    assert 0 < len(list(tmp_path.glob("parts/*/*.json"))) <= done + 1
    subprocess.run(command, env=changed, stdout=subprocess.DEVNULL, check=True, timeout=4 * SECONDS)
    experiment, _ = tiny
    undisturbed = replace(experiment, scale=PAIR).collect()
    again = AdmissibleCea(PAIR, tmp_path).collect()
    assert list(again.networks["pancakes"]) == ["phases", "model-1"]
    assert _without_times(again.to_dict()) == _without_times(undisturbed.to_dict())


def _without_times(held: Any) -> Any:
    if isinstance(held, dict):
        return {key: _without_times(value) for key, value in held.items() if key != "seconds"}
    return [_without_times(one) for one in held] if isinstance(held, list) else held


def test_another_experiment_is_refused(tiny: Tiny) -> None:
    experiment, _ = tiny
    with pytest.raises(JournalError, match="other settings"):
        replace(experiment, seed=1).execute()


def test_certified_files_take_the_place_of_training(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a known name fills the row of its database; nothing is trained for it."""
    experiment, trained = tiny
    results_of_all = trained.networks["tiles"]["cea"]
    monkeypatch.setitem(MODELS, "8-corner", "tiles")
    folder = tmp_path / "models"
    folder.mkdir()
    file = folder / "8-corner.safetensors"
    file.write_bytes(experiment.model(TINY.learnings[0]).read_bytes())
    scale = replace(
        TINY,
        subjects=(TILES,),
        learnings=(replace(TINY.learnings[0], model="8-corner"),),
        generalisations=(),
        sampled=300,
    )
    other = AdmissibleCea(scale, tmp_path / "out", device="cpu", models=folder, say=lambda _: None)
    other.directory.mkdir()
    results = other.execute()
    assert results.networks == {}
    held = results.models["8-corner"]
    assert held["certified"]["bytes"] == file.stat().st_size
    assert 100 <= held["argmax"]["states"] <= 200  # about half of the drawn indices are states
    whole = results_of_all["argmax"]
    assert held["argmax"]["mean"] == pytest.approx(whole["mean"], abs=0.5)
    assert other.collect() == results
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="changed"):
        other.execute()


def test_scales_hold_together() -> None:
    for scale in SCALES.values():
        names = {subject.name for subject in scale.subjects}
        assert {one.subject for one in scale.learnings} <= names
        assert {one.subject for one in scale.generalisations} <= names
        labels = [(one.subject, one.label) for one in scale.learnings]
        assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["admissible-cea", "--scale", "proposed"], "unknown scale 'proposed'"),
        (["admissible-cea", "--models", "no/such/folder"], "there is no folder no/such/folder"),
        (["truncated-gaussian", "--models", "."], "--models is for admissible-cea"),
        (["unknown"], "choose one of truncated-gaussian, admissible-cea"),
    ],
)
def test_bad_options(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = hstar("paper", *arguments, "-o", str(tmp_path / "out"))
    assert result.code == 36
    assert message in result.err
