"""Models that recommend to take turns with the default planner, or to leave all to it."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hard_tasks import large_search, never_ending
from label_folders import write_folder
from linear_lessons import from_plans, linear_model
from program import COMMAND, SECONDS, Outcome, check_one_line, environment
from program import hstar as program

import hstar
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER
from hstar.runtime.resources import Budget
from hstar.slots.model_file import ModelFile, ModelFileError, write_model

BLOCKS = 8


def model_for(files: tuple[Path, Path], path: Path, recommended: Any) -> Path:
    """A model learned from one plan, recommended for such a search."""
    task = hstar.load_task(*files)
    plan = run(task, DEFAULT_PLANNER, Budget()).plan
    assert plan is not None
    file = linear_model(from_plans([task], [plan]))
    write_model(path, ModelFile({**file.metadata, "search": recommended}, file.tensors))
    return path


def plan(folder: Path, recommended: Any, *flags: str | Path) -> Outcome:
    files = large_search(folder, BLOCKS)
    model = model_for(files, folder / "model.safetensors", recommended)
    return program("plan", *files, "-H", model, "--plan-file", folder / "plan", *flags)


IN_TURNS = {"algorithm": "gbfs", "cost": "one", "alternating": [{"algorithm": "default"}]}


def test_a_model_that_recommends_turns(tmp_path: Path) -> None:
    done = plan(tmp_path, IN_TURNS)
    assert done.code == 0, done
    assert "; heuristic model, cost one; in turns with default planner.\n" in done.out
    finder = "(The learned search|The default planner) found the plan; it is in "
    assert len(re.findall(finder, done.out)) == 1
    found = json.loads(plan(tmp_path, IN_TURNS, "--json").out)
    assert found["found_by"] in ("learned", "default")
    named = plan(tmp_path, IN_TURNS, "-s", "gbfs", "--json")  # another search, alone
    assert "found_by" not in json.loads(named.out)


def test_a_model_that_recommends_the_default_planner(tmp_path: Path) -> None:
    found = json.loads(plan(tmp_path, {"algorithm": "default", "cost": "one"}, "--json").out)
    files = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    alone = json.loads(program("plan", *files, "--json", "--plan-file", tmp_path / "plan").out)
    for name in ("plan", "evaluated", "expanded", "generated", "initial_h"):
        assert found[name] == alone[name]
    assert "found_by" not in found


MALFORMED: list[tuple[dict[str, Any], str]] = [
    ({"alternating": 3}, "must be a list of objects"),
    ({"alternating": None}, "says nothing"),
    ({"alternating": {"algorithm": "default"}}, "must be a list of objects"),
    ({"alternating": ["default"]}, "must be an object with options, not 'default'"),
    ({"alternating": [{"algorithm": "magic"}]}, "unknown search 'magic'"),
    ({"alternating": [{"algorithm": ["gbfs"]}]}, "must be a text"),
    ({"alternating": [{"algorithm": None}]}, "says nothing"),
    ({"alternating": [{"algorithm": "gbfs", "speed": 3}]}, "no option 'speed'"),
    ({"alternating": [{"algorithm": "gbfs", "batch": "many"}]}, "must be a whole number"),
    (
        {"alternating": [{"algorithm": "gbfs", "alternating": [{"algorithm": "lazy"}]}]},
        "none alternates with those",
    ),
    ({"alternating": [{"algorithm": "default", "weight": 5}]}, "default planner takes no options"),
    ({"heuristic": 5}, "unknown heuristic: 5"),
    ({"heuristic": None}, "unknown heuristic: None"),
    ({"heuristic": ["ff", "hadd"]}, "unknown heuristic"),
    (
        {"algorithm": "lazy", "heuristic": "ff", "look_ahead": "yes"},
        "must be true or false, not 'yes'",
    ),
    ({"algorithm": "lazy", "look_ahead": True}, "use those of ff"),
    ({"algorithm": "default", "alternating": [{}]}, "default planner takes no options"),
]


def test_malformed_searches_in_a_model_are_refused(tmp_path: Path) -> None:
    files = large_search(tmp_path, 3)
    for recommended, message in MALFORMED:
        model = model_for(
            files, tmp_path / "model.safetensors", {"algorithm": "gbfs", **recommended}
        )
        with pytest.raises(ValueError, match=message):
            hstar.plan(*files, str(model))
    check_one_line(program("plan", *files, "-H", model), 36, MALFORMED[-1][1])


def test_a_search_with_code_from_outside_is_refused(tmp_path: Path) -> None:
    files = large_search(tmp_path, 3)
    search = {"algorithm": "gbfs", "heuristic": "os:getcwd"}
    model = model_for(files, tmp_path / "model.safetensors", search)
    with pytest.raises(ModelFileError, match="wants to run the code os:getcwd"):
        hstar.plan(*files, str(model))


def test_default_is_no_search_to_be_named() -> None:
    """It would ignore the heuristic."""
    with pytest.raises(ValueError, match="unknown search 'default'"):
        hstar.plan("domain.pddl", "problem.pddl", "lmcut", search="default")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_all_searches(number: int, code: int, tmp_path: Path) -> None:
    model = model_for(large_search(tmp_path, 4), tmp_path / "model.safetensors", IN_TURNS)
    files = never_ending(tmp_path)
    process = subprocess.Popen(
        [
            *COMMAND,
            "plan",
            *map(str, files),
            "-H",
            str(model),
            "--plan-file",
            str(tmp_path / "plan"),
        ],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    while process.stdout.readline() != b"translate exit code: 0\n":
        assert process.poll() is None

    def megabytes() -> float:
        statm = Path(f"/proc/{process.pid}/statm").read_text()
        return int(statm.split()[1]) * resource.getpagesize() / 1e6

    before = megabytes()
    while megabytes() < before + 20:  # both have searched for a while
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (code, b"")
    assert f"search exit code: {code}\n".encode() in out


@pytest.mark.parametrize(
    "recommended",
    [
        {"algorithm": "default", "cost": "one"},
        {
            "algorithm": "lazy",
            "heuristic": "ff",
            "look_ahead": True,
            "alternating": [{"algorithm": "default"}],
        },
    ],
)
def test_a_model_of_another_domain_is_refused_even_if_it_is_not_used(
    recommended: dict[str, Any], tmp_path: Path
) -> None:
    files = large_search(tmp_path, BLOCKS)
    model = model_for(files, tmp_path / "model.safetensors", recommended)
    used = program("plan", *files, "-H", model, "--plan-file", tmp_path / "plan")
    assert used.code == 0, used.err
    other = write_folder(tmp_path / "others", "gripper", 1) / "p00.pddl"
    refused = program("plan", other, "-H", model, "--plan-file", tmp_path / "other_plan")
    assert refused.code == 31 and "was trained on domain" in refused.err
    assert not (tmp_path / "other_plan").exists()


def test_switches_change_a_search_that_a_model_recommends(tmp_path: Path) -> None:
    following = {"algorithm": "lazy", "preferred_by": "ff", "look_ahead": True}
    without = plan(tmp_path, following, "--no-preferred", "-q")
    assert without.code == 0, without.err
    lazily = plan(tmp_path, {"algorithm": "lazy", "preferred_by": "ff"}, "--look-ahead")
    assert lazily.code == 0 and "look-ahead" in lazily.out
    check_one_line(plan(tmp_path, {"algorithm": "gbfs"}, "--look-ahead"), 36, "choose lazy")


def test_a_heuristic_of_ones_own_may_recommend_the_default_planner(tmp_path: Path) -> None:
    class Own:
        search = {"algorithm": "default"}  # noqa: RUF012

        def __call__(self, states: Any) -> Any:
            raise AssertionError("it is not used")

    files = large_search(tmp_path, 3)
    assert hstar.plan(*files, Own()).solved
