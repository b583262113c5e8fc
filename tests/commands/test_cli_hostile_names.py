"""Names from files reach the terminal as text: no control character, no line of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from program import COMMAND, SECONDS, Outcome, environment, hstar
from small_domains import BLOCKS, problem_text
from untrained_models import untrained

from hstar.experiments.bench import read_runs
from hstar.planning.task import load_task
from hstar.slots.model_file import ModelFile, write_model
from hstar.slots.objectives import make_objective

ESCAPE = "\x1b[2j\x07"  # PDDL has small letters
SHOWN = r"\x1b[2j\x07"
LINE = "\nhstar! all is well"
INIT = ["(ontable a)", "(ontable b)", "(clear a)", "(clear b)", "(handempty)"]
QUICK = ("--steps", "2", "--evaluate-every", "2", "--device", "cpu", "--threads", "1")


def write_problem(folder: Path, name: str = "p.pddl", title: str = "small") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "domain.pddl").write_text(BLOCKS)
    text = problem_text("blocks", "a b", INIT, ["(on a b)"])
    assert "(problem " in text
    head, _, rest = text.partition("(problem ")
    (folder / name).write_text(f"{head}(problem {title}{rest[rest.index(')') :]}")
    return folder / name


def check_harmless(done: Outcome) -> None:
    for text in (done.out, done.err):
        assert not [char for char in text if not char.isprintable() and char != "\n"], done
        assert not [line for line in text.splitlines() if line == LINE.strip()], done
        assert "Traceback" not in text


def test_names_in_pddl(tmp_path: Path) -> None:
    problem = write_problem(tmp_path, title=f"small{ESCAPE}")
    done = hstar("plan", problem, cwd=tmp_path)
    assert done.code == 0
    assert f"Problem: small{SHOWN}." in done.out
    check_harmless(done)
    check_harmless(hstar("info", problem, cwd=tmp_path))


def test_names_of_files(tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "suite", f"p{ESCAPE}{LINE}.pddl")
    output = f"runs{ESCAPE}{LINE}.parquet"
    assert (
        hstar("pdb", "build", "tiles-2x2", "--pattern", "1-3", "-o", "eight.pdb", cwd=tmp_path).code
        == 0
    )
    for command in (
        ["plan", problem, "--plan-file", f"plan{ESCAPE}{LINE}"],
        ["bench", tmp_path / "suite", "-o", output],
        ["report", output, "-o", f"report{ESCAPE}{LINE}.html"],
        ["label", tmp_path / "suite", "-o", f"labels{ESCAPE}{LINE}.parquet", "--jobs", "1"],
        ["plan", problem, "-H", f"no{ESCAPE}{LINE}.safetensors"],
    ):
        done = hstar(*command, cwd=tmp_path)
        assert done.code == (31 if "-H" in command else 0), done
        check_harmless(done)
    model = f"model{ESCAPE}{LINE}.safetensors"
    labels = f"labels{ESCAPE}{LINE}.parquet"
    (tmp_path / "eight.pdb").rename(tmp_path / f"eight{ESCAPE}{LINE}.pdb")
    for command in (
        ["train", labels, "--validation", labels, "-o", model, *QUICK],
        ["generate", "ferry", "-o", f"ferry{ESCAPE}{LINE}", "--split", "train", "--count", "2"],
        ["solve", "tiles-2x2", "--scramble", "3", "-H", f"pdb:eight{ESCAPE}{LINE}.pdb"],
    ):
        done = hstar(*command, cwd=tmp_path)
        assert done.code == 0, done
        check_harmless(done)
    page = (tmp_path / f"report{ESCAPE}{LINE}.html").read_text()
    assert "\x1b" not in page and "\x07" not in page


def test_metadata_of_models(tmp_path: Path) -> None:
    problem = write_problem(tmp_path)
    task = load_task(tmp_path / "domain.pddl", problem)
    held = untrained("linear", task, make_objective("gaussian", sigma=1.0)).file
    metadata = json.loads(json.dumps(held.metadata))
    metadata["domain"]["name"] += ESCAPE + LINE
    metadata["objective"]["name"] = f"x{ESCAPE}{LINE}"
    write_model(tmp_path / "m.safetensors", ModelFile(metadata, held.tensors))
    for command in (["model", "show", "m.safetensors"], ["plan", problem, "-H", "m.safetensors"]):
        done = hstar(*command, cwd=tmp_path)
        assert done.code == 0, done
        check_harmless(done)


def test_a_name_with_dollars_is_no_formula(tmp_path: Path) -> None:
    problem = write_problem(tmp_path)
    task = load_task(tmp_path / "domain.pddl", problem)
    name = r"b$\frac{1}{$.safetensors"
    write_model(tmp_path / name, untrained("linear", task, make_objective("squared")).file)
    done = hstar("bench", problem, "-H", name, "ff", "-o", "runs.parquet", cwd=tmp_path)
    assert done.code == 0, done
    done = hstar("report", "runs.parquet", "-o", "report.html", cwd=tmp_path)
    assert done.code == 0, done
    assert r"b$\frac{1}{$: evaluations" in (tmp_path / "report.html").read_text()


def test_a_folder_whose_name_is_not_unicode(tmp_path: Path) -> None:
    """The work is not lost when it is done."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    write_problem(folder)
    for command in (
        ["bench", folder, "-o", folder / "runs.parquet"],
        ["report", folder / "runs.parquet", "-o", folder / "report.html"],
        ["label", folder, "-o", folder / "labels.parquet", "--jobs", "1"],
        ["generate", "ferry", "-o", folder / "ferry", "--split", "train", "--count", "3"],
        ["label", folder / "ferry/train", "-o", folder / "l.parquet", "--jobs", "1"],
        ["train", folder / "l.parquet", "-m", "linear", "-o", folder / "m.safetensors", *QUICK],
        ["plan", folder / "p.pddl", "--plan-file", folder / "plan"],
        ["pdb", "build", "pancake-5", "--pattern", "0,1,2", "-o", folder / "t.pdb"],
        ["solve", "pancake-5", "--scramble", "3", "-H", f"pdb:{folder}/t.pdb"],
    ):
        done = hstar(*command, cwd=tmp_path)
        assert done.code == 0, (command, done)
        check_harmless(done)
    assert read_runs(folder / "runs.parquet").rows["suite"].to_list() == [rf"{tmp_path}/\udcff"]


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    problem = write_problem(tmp_path)
    for arguments, code in (
        (["plan", problem], 0),
        (["plan", "no.pddl"], 31),
        (["plan"], 36),
        (["bench", problem, "-o", "runs.parquet"], 0),
    ):
        command = ["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, timeout=SECONDS
        )
        assert done.returncode == code, (arguments, done)
