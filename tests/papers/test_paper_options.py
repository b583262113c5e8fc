"""Options take the place of a scale's own values, on the command line and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from program import check_one_line, hstar

from hstar.papers import OVERRIDES, PAPERS, prepare_paper

CEA = ("admissible-cea", "smoke")
GAUSSIAN = ("truncated-gaussian", "smoke")
REGRESSION = ("regression-sampling", "smoke")
SHAPING = ("reward-shaping", "smoke")


def scale_with(paper: str, scale: str, **options: Any) -> Any:
    return prepare_paper(paper, scale, Path("unused"), options).scale


def test_one_number_of_steps_is_for_all_learners() -> None:
    assert scale_with(*GAUSSIAN, steps=7).studies[0].steps == {"nlm": 7, "linear": 7}
    assert scale_with(*SHAPING, steps=7).studies[0].steps == dict.fromkeys(
        ("paper", "own", "hgn", "gnn"), 7
    )
    assert {one.options.steps for one in scale_with(*CEA, steps=7).learnings} == {7}


def test_named_steps_are_for_those_learners() -> None:
    assert scale_with(*GAUSSIAN, steps={"linear": 7}).studies[0].steps["nlm"] == 900
    scale = scale_with("truncated-gaussian", "proposed", steps={"nlm": 7})
    assert (scale.epochs, scale.studies[0].steps) == (None, {"nlm": 7})


def test_columns_are_those_that_are_named() -> None:
    first, second = scale_with(*SHAPING, columns=["plan", "H^FF", "rollouts"]).studies
    assert first.columns == ("plan", "H^FF") and second.columns == ("plan", "rollouts")
    (only,) = scale_with(*SHAPING, columns=["H^FF"]).studies
    assert only.name == "paper"
    added = scale_with("reward-shaping", "systems", columns=["own H"], steps={"own": 5})
    assert added.studies[0].columns == ("own H",)
    assert {one.label for one in scale_with(*CEA, columns=["ce"]).learnings} == {"ce"}
    (study,) = scale_with(*GAUSSIAN, columns=["linear"]).studies
    assert study.columns == ("linear TN:learn/ff/lmcut", "ff", "plan")
    assert scale_with(*REGRESSION, columns=["FSM"]).studies[0].columns == ("FSM",)


def test_other_values_replace_those_of_the_scale() -> None:
    study = scale_with(*SHAPING, seeds=[4, 5], tests=3, limit=2.5, learn=9.0).studies[0]
    assert (study.seeds, study.tests, study.limit, study.learn) == ((4, 5), 3, 2.5, 9.0)
    assert scale_with(*REGRESSION, states=[3]).studies[0].states == (3,)
    scale = scale_with(*GAUSSIAN, seeds=[4], tests=5, domains=["ferry"])
    (study,) = scale.studies
    assert (study.seeds, scale.domains, study.tests) == ((4,), ("ferry",), 5)
    (study,) = scale_with(*GAUSSIAN, limit=2.5).studies
    assert (study.limit, study.limits) == (2.5, {})  # also that of the default planner
    scale = scale_with(*CEA, seeds=[4], tests=5, states=[6], limit=2.5, domains=["8-puzzle"])
    assert (scale.boards, scale.sampled, scale.limit, len(scale.subjects)) == (5, 6, 2.5, 1)
    assert scale.generalisations[0].seeds == (4,)


@pytest.mark.parametrize(
    ("paper", "options", "message"),
    [
        (SHAPING, {"columns": ["H^F"]}, "unknown column 'H^F'; choose one of h^blind"),
        (("reward-shaping", "small"), {"columns": ["GBFS-H"]}, "add --steps gnn=NUMBER"),
        (GAUSSIAN, {"columns": ["all"]}, "add --steps hgn=NUMBER"),
        (GAUSSIAN, {"domains": ["depot"]}, "unknown domain 'depot'"),
        (CEA, {"steps": {"nlm": 3}}, "one number"),
        (GAUSSIAN, {"learn": 3.0}, "means nothing for truncated-gaussian, which has --seeds, --st"),
        (REGRESSION, {"seeds": [1]}, "--seeds is for truncated-gaussian, admissible-cea, reward-"),
        (("truncated-gaussian", "proposed"), {"steps": 3}, "add --steps nlm=NUMBER"),
    ],
)
def test_what_means_nothing_is_refused(
    paper: tuple[str, str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as raised:
        scale_with(*paper, **options)
    assert message in str(raised.value)


def test_every_option_is_of_some_paper() -> None:
    used = {option for paper in PAPERS.values() for option in paper.options}
    assert used == {*OVERRIDES, "models", "suite", "peer"}


@pytest.mark.parametrize("option", ["tests", "limit", "columns", "domains"])
def test_help_says_which_papers_take_an_option(option: str) -> None:
    text = " ".join(hstar("paper", "--help").out.split()).replace("- ", "-")  # of broken names
    _, _, about = text.rpartition(f" --{option} ")
    named = about.partition(" --")[0]
    for name, paper in PAPERS.items():
        assert (f" {name}" in named.partition("; for")[2]) == (option in paper.options)


def test_the_command_takes_them(tmp_path: Path) -> None:
    where = ("-o", tmp_path / "out")
    run = hstar("paper", "reward-shaping", *where, "--limit", "1", "--steps", "x=y")
    assert run.code == 36 and "--steps: 'y' is not a positive whole number" in run.err
    run = hstar("paper", "truncated-gaussian", *where, "--learn", "1s")
    check_one_line(run, 36, "--learn is for regression-sampling, reward-shaping")
    options = ("--domains", "visitall", "--columns", "h^FF", "plan", "--tests", "1", "--jobs", "1")
    run = hstar("paper", "reward-shaping", *where, *options, "--limit", "20")
    assert run.code == 0, run.err
    tables = (tmp_path / "out" / "tables.md").read_text()
    assert "| visitall | 4 |" in tables and "| blocks" not in tables
