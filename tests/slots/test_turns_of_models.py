"""Models that are meant to take turns with the default planner, or to leave all to it."""

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
from hstar.learning.choices import choices_along
from hstar.learning.linear_model import linear_model
from label_folders import write_folder
from program import COMMAND, SECONDS, Outcome, check_one_line, environment
from program import hstar as program

import hstar
from hstar.planning.search import STRONGEST, run
from hstar.runtime.resources import Budget
from hstar.slots.model_file import ModelFile, write_model

BLOCKS = 8


def model_for(files: tuple[Path, Path], path: Path, meant: Any) -> Path:
    """A model learned from one plan, meant for such a search."""
    task = hstar.load_task(*files)
    plan = run(task, STRONGEST, Budget()).plan
    assert plan is not None
    file = linear_model([choices_along(task, plan)], {}, Budget())
    write_model(path, ModelFile({**file.metadata, "search": meant}, file.tensors))
    return path


def plan(folder: Path, meant: Any, *flags: str | Path) -> Outcome:
    files = large_search(folder, BLOCKS)
    model = model_for(files, folder / "model.safetensors", meant)
    return program("plan", *files, "-H", model, "--plan-file", folder / "plan", *flags)


IN_TURNS = {"algorithm": "gbfs", "cost": "one", "beside": [{"algorithm": "default"}]}


def test_a_model_that_is_meant_for_turns(tmp_path: Path) -> None:
    done = plan(tmp_path, IN_TURNS)
    assert done.code == 0, done
    assert "; heuristic model; in turns with default planner.\n" in done.out
    finder = "(The learned search|The default planner) found the plan; it is in "
    assert len(re.findall(finder, done.out)) == 1
    found = json.loads(plan(tmp_path, IN_TURNS, "--json").out)
    assert found["found_by"] in ("learned", "default")
    named = plan(tmp_path, IN_TURNS, "-s", "gbfs", "--json")  # another search, and nothing beside
    assert "found_by" not in json.loads(named.out)


def test_a_model_that_is_meant_for_the_default_planner(tmp_path: Path) -> None:
    found = json.loads(plan(tmp_path, {"algorithm": "default", "cost": "one"}, "--json").out)
    files = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    alone = json.loads(program("plan", *files, "--json", "--plan-file", tmp_path / "plan").out)
    for name in ("plan", "evaluated", "expanded", "generated", "initial_h"):
        assert found[name] == alone[name]
    assert "found_by" not in found


MALFORMED: list[tuple[dict[str, Any], str]] = [
    ({"beside": 3}, "must be a list of objects"),
    ({"beside": None}, "must be a list of objects"),
    ({"beside": {"algorithm": "default"}}, "must be a list of objects"),
    ({"beside": ["default"]}, "must be a list of objects"),
    ({"beside": [{"algorithm": "magic"}]}, "unknown search 'magic'"),
    ({"beside": [{"algorithm": ["gbfs"]}]}, "unknown search"),
    ({"beside": [{"algorithm": None}]}, "unknown search"),
    ({"beside": [{"algorithm": "gbfs", "speed": 3}]}, "unknown search"),
    ({"beside": [{"algorithm": "gbfs", "batch": "many"}]}, "unknown search"),
    ({"beside": [{"algorithm": "gbfs", "beside": [{"algorithm": "lazy"}]}]}, "none beside those"),
    ({"beside": [{"algorithm": "default", "weight": 5}]}, "default planner takes no options"),
    ({"heuristic": 5}, "unknown one: 5"),
    ({"heuristic": None}, "unknown one: None"),
    ({"heuristic": ["ff", "hadd"]}, "unknown one"),
    ({"heuristic": "os:getcwd"}, "unknown one: 'os:getcwd'"),
    ({"algorithm": "lazy", "heuristic": "ff", "follow": "yes"}, "must be true or false, not 'yes'"),
    ({"algorithm": "lazy", "follow": True}, "use those of ff"),
    ({"algorithm": "default", "beside": [{}]}, "default planner takes no options"),
]


def test_malformed_searches_in_a_model_are_refused(tmp_path: Path) -> None:
    files = large_search(tmp_path, 3)
    for meant, message in MALFORMED:
        model = model_for(files, tmp_path / "model.safetensors", {"algorithm": "gbfs", **meant})
        with pytest.raises(ValueError, match=message):
            hstar.plan(*files, str(model))
    check_one_line(program("plan", *files, "-H", model), 36, MALFORMED[-1][1])


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
    "meant",
    [
        {"algorithm": "default", "cost": "one"},
        {
            "algorithm": "lazy",
            "heuristic": "ff",
            "follow": True,
            "beside": [{"algorithm": "default"}],
        },
    ],
)
def test_a_model_of_another_domain_is_refused_even_if_it_is_not_used(
    meant: dict[str, Any], tmp_path: Path
) -> None:
    files = large_search(tmp_path, BLOCKS)
    model = model_for(files, tmp_path / "model.safetensors", meant)
    used = program("plan", *files, "-H", model, "--plan-file", tmp_path / "plan")
    assert used.code == 0, used.err
    other = write_folder(tmp_path / "others", "gripper", 1) / "p00.pddl"
    refused = program("plan", other, "-H", model, "--plan-file", tmp_path / "other_plan")
    assert refused.code == 31 and "was trained on domain" in refused.err
    assert not (tmp_path / "other_plan").exists()


def test_switches_change_a_search_that_a_model_means(tmp_path: Path) -> None:
    following = {"algorithm": "lazy", "preferred_by": "ff", "follow": True}
    without = plan(tmp_path, following, "--no-preferred", "-q")
    assert without.code == 0, without.err
    lazily = plan(tmp_path, {"algorithm": "lazy", "preferred_by": "ff"}, "--follow")
    assert lazily.code == 0 and "following relaxed plans" in lazily.out
    check_one_line(plan(tmp_path, {"algorithm": "gbfs"}, "--follow"), 36, "choose lazy")


def test_a_heuristic_of_ones_own_may_mean_the_default_planner(tmp_path: Path) -> None:
    class Own:
        search = {"algorithm": "default"}  # noqa: RUF012

        def __call__(self, states: Any) -> Any:
            raise AssertionError("it is not used")

    files = large_search(tmp_path, 3)
    assert hstar.plan(*files, Own()).solved
