"""`hstar learn`: what it makes of folders and problems, and what it refuses."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

import pytest
from hard_tasks import large_grounding
from label_folders import write_folder
from learning_runs import (
    QUICK,
    ROLLOUTS,
    check_learned,
    input_of,
    learn,
    model_in,
    partial_of,
    pieces,
)
from program import COMMAND, check_one_line, hstar

import hstar as package
from hstar.domains import generate
from hstar.experiments.bench import read_runs
from hstar.planning.specification import SearchSpecification
from hstar.slots.loader import find_heuristic
from hstar.slots.model_file import ModelFile, read_model, write_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "problems", "gripper", 8)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Of each recipe: the model, and what was said."""
    found = {}
    for recipe, options in QUICK.items():
        folder = write_folder(tmp_path_factory.mktemp(recipe) / "problems", "gripper", 8)
        run = learn(input_of(recipe, folder), model_in(folder), *options)
        check_learned(run, model_in(folder))
        found[recipe] = model_in(folder), run.out
    return found


PARTS = {
    "domain": "problems to learn from, 1 larger ones to choose by, 2 for the verdict",
    "problem": "states to choose by, 32 others for the verdict",
    "rollouts": "step 60: ",
}
MODELS = {"domain": ("wl", "linear"), "problem": ("facts", "mlp"), "rollouts": ("atoms", "nlm")}


@pytest.mark.parametrize("recipe", QUICK)
def test_each_recipe_makes_a_model_that_names_its_verdict(
    recipe: str, learned: dict[str, tuple[Path, str]], tmp_path: Path
) -> None:
    model, said = learned[recipe]
    assert PARTS[recipe] in said
    held = read_model(model).metadata
    assert (held["features"]["name"], held["model"]["name"]) == MODELS[recipe]
    assert f"Verdict: {held['verdict']['sentence']}.\n" in said
    assert held["verdict"]["use"] in ("learned", "trade", "default") and held["search"]
    assert held["training"]["chosen"]
    folder = model.parent / "problems"
    problem, plan = input_of("problem", folder), tmp_path / "plan"
    for more in ((), ("-s", "gbfs")):
        assert hstar("plan", problem, "-H", model, "--plan-file", plan, *more).code == 0
        assert hstar("validate", folder / "domain.pddl", problem, plan).code == 0
    shown = hstar("model", "show", model)
    assert shown.code == 0 and held["model"]["name"] in shown.out


@pytest.mark.parametrize("recipe", QUICK)
def test_the_verdict_is_kept(
    recipe: str, learned: dict[str, tuple[Path, str]], tmp_path: Path
) -> None:
    """In `plan`, `bench` and Python; a named search still forces the model."""
    given, _ = learned[recipe]
    file = read_model(given)
    folder = given.parent / "problems"
    problem = input_of("problem", folder)
    own = {"algorithm": "gbfs", "cost": "one", "alternating": [{"algorithm": "default"}]}
    cases = {"default": {"algorithm": "default"}, "learned": own, "trade": own}
    for use, search in cases.items():
        model = tmp_path / f"{use}.safetensors"
        about = {**file.metadata["verdict"], "use": use}
        write_model(
            model, ModelFile({**file.metadata, "search": search, "verdict": about}, file.tensors)
        )
        heuristic = find_heuristic(str(model), None)
        is_default = use == "default"
        chosen = SearchSpecification(heuristic).searches()
        expected = [True] if is_default else [False, True]
        assert [one.is_default_planner for one in chosen] == expected
        (forced,) = SearchSpecification(heuristic, "gbfs").searches()
        assert forced.heuristics == [heuristic]
        found = package.plan(folder / "domain.pddl", problem, heuristic=str(model))
        assert found.solved and (found.found_by is None) == is_default
        if use == "trade":
            continue
        flags = ("--plan-file", tmp_path / "plan", "--json")
        for more, takes_turns in (((), not is_default), (("-s", "gbfs"), False)):
            run = hstar("plan", problem, "-H", model, *more, *flags)
            assert ("found_by" in json.loads(run.out)) == takes_turns
        rows = tmp_path / f"{use}.parquet"
        bench = hstar("bench", problem, "-H", model, "-o", rows, "--time-limit", "60s")
        assert bench.code == 0, bench.err
        label = f"{use}: default" if is_default else "learned + default"
        assert read_runs(rows).rows["algorithm"].to_list() == [label]


def test_what_a_learner_says_is_what_its_file_does(learned: dict[str, tuple[Path, str]]) -> None:
    for model, said in learned.values():
        held = read_model(model).metadata
        if held["verdict"]["use"] == "default":
            assert held["search"] == {"algorithm": "default"}
            assert "runs the default planner, and with -s gbfs the model" in said
        else:
            assert held["search"]["alternating"][-1] == {"algorithm": "default"}
            assert f"use it with 'hstar plan PROBLEM -H {model}'" in said


def test_json_has_the_outcome(folder: Path) -> None:
    run = learn(folder, model_in(folder), *QUICK["domain"], "--json")
    found = json.loads(run.out)
    assert run.code == 0 and found["labelled"] > 2 and found["models"] >= 1
    assert found["chosen"] and not found["interrupted"] and found["seconds"] > 0
    assert found["verdict"] == read_model(model_in(folder)).metadata["verdict"]
    assert 0 <= found["verdict"]["learned_solved"] <= found["verdict"]["problems"]
    assert found["verdict"]["unit"] == "units of work"


def test_a_folder_of_one_problem_is_learned_from(folder: Path) -> None:
    for path in sorted(folder.glob("p*.pddl"))[1:]:
        path.unlink()
    for recipe in ("domain", "rollouts"):
        run = learn(folder, model_in(folder), *QUICK[recipe])
        check_learned(run, model_in(folder))
        assert "states to choose by" in run.out


def test_equal_problems_count_once(folder: Path) -> None:
    (folder / "p99.pddl").write_text((folder / "p00.pddl").read_text())
    run = learn(folder, model_in(folder), *QUICK["domain"])
    assert run.code == 0 and "left out: 1 that say the same as others" in run.out


def test_problems_of_one_size(tmp_path: Path) -> None:
    sizes = {"locations": [3], "cars": [3]}
    generate("ferry", tmp_path, ["train"], count=6, ranges=sizes)
    run = learn(tmp_path / "train", tmp_path / "m.safetensors", *QUICK["domain"])
    check_learned(run, tmp_path / "m.safetensors")
    assert "4 problems to learn from, 1 larger ones to choose by, 1 for the verdict" in run.out


def test_a_giant_problem_is_left_out(folder: Path) -> None:
    """It would take all the time there is, or the memory."""
    (folder.parent / "giant").mkdir()
    domain, giant = large_grounding(folder.parent / "giant")
    words = domain.read_text().partition("(:predicates")[2]
    predicates, _, action = words.partition(")\n(:action")
    text = (folder / "domain.pddl").read_text()
    head, _, rest = text.partition("(:predicates")
    merged = f"{head}(:predicates {predicates} {rest}".rstrip()[:-1] + f"(:action{action}"
    (folder / "domain.pddl").write_text(merged)
    (folder / "p99.pddl").write_text(
        giant.read_text().replace("(:domain wide)", "(:domain gripper)")
    )
    for more in (ROLLOUTS, ()):
        run = learn(folder, model_in(folder), "--time", "3s", *more)
        assert "1 too large to ground" in run.out
        check_learned(run, model_in(folder))


def test_a_problem_that_takes_long_to_read_is_left_out(folder: Path) -> None:
    """Reading counts for the time, and one file may take a part of it only."""
    text = (folder / "p00.pddl").read_text()
    balls = [f"more{i}" for i in range(300_000)]
    larger = text.replace("(:objects", f"(:objects {' '.join(balls)} - ball", 1)
    places = " ".join(f"(at {ball} ra)" for ball in balls)
    (folder / "p99.pddl").write_text(larger.replace("(:init", f"(:init {places}", 1))
    run = learn(folder, model_in(folder), "--time", "4s", "--jobs", "1")
    assert "left out, too large to read: p99.pddl\n" in run.out
    assert run.code in (0, 12), run.err


def test_nothing_is_labelled_within_the_limits(folder: Path) -> None:
    run = learn(folder, model_in(folder), "--steps", "1")
    assert run.code == 12
    assert "siblings: no labels of 4 of 4 problems: gave up\n" in run.out
    assert "keep the default planner, because no training problem was labelled" in run.out
    assert not model_in(folder).exists() and not pieces(model_in(folder))


LOCKS = """(define (domain locks) (:requirements :strips)
 (:predicates (at ?r) (door ?a ?b))
 (:action go :parameters (?a ?b) :precondition (and (at ?a) (door ?a ?b))
  :effect (and (at ?b) (not (at ?a)))))"""


def locks(folder: Path, *goals: str, requirement: str = ":strips") -> Path:
    """Corridors of growing length, with doors that open in one direction."""
    folder.mkdir()
    (folder / "domain.pddl").write_text(LOCKS.replace(":strips", requirement))
    for number, goal in enumerate(goals):
        rooms = [f"r{i}" for i in range(number + 4)]
        doors = " ".join(f"(door {a} {b})" for a, b in itertools.pairwise(rooms))
        (folder / f"p{number}.pddl").write_text(
            f"(define (problem p{number}) (:domain locks) (:objects {' '.join(rooms)}) "
            f"(:init (at r1) {doors}) (:goal {goal.format(*rooms[-2:])}))"
        )
    return folder


@pytest.mark.parametrize("recipe", ["domain", "rollouts"])
@pytest.mark.parametrize(
    ("goals", "message"),
    [
        (("(at r0)", "(at r0)"), "no problem to learn from: 2 without a plan"),
        (("(at r1)", "(and)"), "no problem to learn from: 2 already solved"),
        (("(at r0)", "(at r1)"), "1 already solved, 1 without a plan"),
    ],
)
def test_a_folder_without_a_usable_problem(
    goals: tuple[str, ...], message: str, recipe: str, tmp_path: Path
) -> None:
    folder = locks(tmp_path / "problems", *goals)
    run = learn(folder, model_in(folder), *QUICK[recipe])
    check_one_line(run, 36, f"nothing can be learned from {folder}: ", message)
    assert [path.name for path in tmp_path.iterdir()] == ["problems"]


def test_disjunctive_goals_do_not_end_the_run(tmp_path: Path) -> None:
    """A union of many of them has too many disjuncts to be grounded."""
    folder = locks(tmp_path / "p", *["(or (at {0}) (at {1}))"] * 6, requirement=":adl")
    run = learn(folder, model_in(folder), "--steps", "2000", "--option", "rounds=0")
    check_learned(run, model_in(folder))
    assert "no training problem" not in run.out
    refused = learn(folder, model_in(folder), *QUICK["rollouts"])
    assert refused.code in (31, 34) and "contains a choice" in refused.err


def test_several_domains_in_one_folder(folder: Path, tmp_path: Path) -> None:
    other = write_folder(tmp_path / "other", "blocks", 1)
    (other / "p00.pddl").rename(folder / "p99.pddl")
    for options in (QUICK["domain"], QUICK["rollouts"]):
        run = learn(folder, model_in(folder), *options)
        check_one_line(run, 31, "p99.pddl", "unknown predicate")
    check_one_line(learn(tmp_path, model_in(folder)), 31, "name one of its folders")
    (tmp_path / "empty").mkdir()
    run = learn(tmp_path / "empty", model_in(folder))
    assert run.code == 31 and "no problem files" in run.err
    assert not list(tmp_path.glob("m.safetensors*"))


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--recipe", "domian"), ("unknown recipe 'domian'", "did you mean 'domain'")),
        (("--teacher", "fms"), ("did you mean 'fsm'",)),
        (("--teacher", "plans"), ("reads files beside the problems",)),
        (("--features", "wll"), ("did you mean 'wl'",)),
        (("--model", "linaer"), ("did you mean 'linear'",)),
        (("--objective", "square"), ("unknown objective",)),
        (("--option", "states=5"), ("--option states is --states here",)),
        (("--option", "nobody=5"), ("no option 'nobody'",)),
        (("--option", "rounds"), ("NAME=VALUE",)),
        ((*ROLLOUTS, "--option", "heuristic=nonsense"), ("nonsense",)),
        ((*ROLLOUTS, "--option", "preset=pape"), ("did you mean 'paper'",)),
        (("--time", "5s", "--steps", "5"), ("--time or --steps, not both",)),
        (("-o", "model"), ("must end in .safetensors",)),
        (("-o", "no/m.safetensors"), ("cannot write",)),
    ],
)  # fmt: skip
def test_wrong_options(options: tuple[str, ...], parts: tuple[str, ...], folder: Path) -> None:
    check_one_line(learn(folder, model_in(folder), *options), 36, *parts)
    assert [path.name for path in folder.parent.iterdir()] == ["problems"]


def test_a_full_disk_loses_nothing(folder: Path) -> None:
    """Files may not grow beyond some bytes: the model cannot be written, and is not half there."""
    model = model_in(folder)
    options = [str(folder), "-o", str(model), *QUICK["domain"]]
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "-", *COMMAND, "learn", *options]
    run = subprocess.run(limited, capture_output=True, text=True, timeout=600)
    assert run.returncode == 36 and "cannot write" in run.stderr, run
    assert not model.exists()
    assert learn(folder, model, *QUICK["domain"]).code == 0 and model.exists()


def test_an_output_that_turns_into_a_folder_loses_nothing(folder: Path) -> None:
    model = model_in(folder)
    model.mkdir()
    check_one_line(learn(folder, model, *QUICK["domain"]), 36, "cannot write", "Is a directory")
    assert not partial_of(model).exists()


def test_a_model_of_another_domain_or_problem_is_refused(
    learned: dict[str, tuple[Path, str]], tmp_path: Path
) -> None:
    other = write_folder(tmp_path / "other", "blocks", 1) / "p00.pddl"
    for model, _ in learned.values():
        run = hstar("plan", other, "-H", model, "--plan-file", tmp_path / "plan")
        check_one_line(run, 31, "was trained on domain")
    model = learned["problem"][0]
    own = input_of("problem", model.parent / "problems")
    changed = own.with_name("changed.pddl")
    changed.write_text(own.read_text().replace(" - room", " another - room", 1))
    run = hstar("plan", changed, "-H", model, "--plan-file", tmp_path / "plan")
    check_one_line(run, 31, "m.safetensors: ", "has the object 'another")
    changed.unlink()
    assert not (tmp_path / "plan").exists()
