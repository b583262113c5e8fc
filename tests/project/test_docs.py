"""The pages of docs that can go stale: their patches apply, their commands run, their lists are
those of the registries.

`python tests/project/test_docs.py` prints the lists of docs/slots.md.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest

import hstar
from hstar.domains import DOMAINS
from hstar.papers import PAPERS, prepare_paper
from hstar.planning.algorithms import SEARCHES
from hstar.planning.heuristics import HEURISTICS
from hstar.slots.decode import DECODES
from hstar.slots.features import FEATURES
from hstar.slots.models import MODELS
from hstar.slots.objectives import OBJECTIVES
from hstar.slots.teachers import TEACHERS, LabelOptions, label

DOCS = Path(__file__).parents[2] / "docs"
PACKAGE = Path(hstar.__file__).parent


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_the_exercise_of_extending(tmp_path: Path) -> None:
    """Its patches apply to a copy of the package, and its commands train and plan with it."""
    from label_folders import generated
    from program import hstar as hstar_program

    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, copy / "src" / "hstar", symlinks=True, ignore=ignored)
    patches = blocks("extending.md", "diff")
    assert len(patches) == 3
    for patch in patches:
        subprocess.run(
            ["git", "apply", "-p1", "-"],
            input=patch,
            text=True,
            cwd=copy,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)},
            check=True,
        )
    folder = generated(tmp_path, blocks="3-3", count=3)
    label(folder, tmp_path / "labels.parquet", LabelOptions(jobs=1))
    shutil.copy(folder / "domain.pddl", tmp_path / "domain.pddl")
    problem = next(path for path in sorted(folder.glob("*.pddl")) if path.stem != "domain")
    shutil.copy(problem, tmp_path / "problem.pddl")
    quick = ["--steps", "5", "--device", "cpu", "--threads", "1"]
    for line in blocks("extending.md", "sh")[0].splitlines():
        arguments = shlex.split(line)[1:] + (quick if " train " in line else [])
        done = hstar_program(
            *arguments, cwd=tmp_path, changes={"PYTHONPATH": os.fspath(copy / "src")}
        )
        assert done.code == 0, done.err
    assert (tmp_path / "sas_plan").is_file()


def lists() -> str:
    """What docs/slots.md says of the entries of every registry."""
    parts = []

    def table(title: str, headers: str, rows: list[tuple[str, ...]]) -> None:
        names = headers.split(", ")
        lines = [f"### {title}", "", f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        parts.append("\n".join(lines) + "\n")

    def first_sentence(found: object) -> str:
        text = " ".join((type(found).__doc__ or "").split())
        return text.partition(". ")[0].rstrip(".")

    def options(held: Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in held) or "none"

    teachers = {name: TEACHERS.find(name) for name in TEACHERS}
    rows = [(f"`{n}`", one.description, options(one.options)) for n, one in teachers.items()]
    table("Teachers", "name, what it gives, options", rows)
    features = {name: FEATURES.find(name) for name in FEATURES}
    rows = [(f"`{n}`", f"one {one.needs}", options(one.options)) for n, one in features.items()]
    table("Features", "name, states must share, options", rows)
    models = {name: MODELS.find(name) for name in MODELS}
    rows = [
        (f"`{n}`", options(one.features), "yes" if one.can_round else "no", options(one.options))
        for n, one in models.items()
    ]
    table("Models", "name, reads features, can be rounded to integers, options", rows)
    objectives = {name: OBJECTIVES.find(name) for name in OBJECTIVES}
    rows = [
        (
            f"`{n}`",
            one.form,
            one.batches,
            options(one.decodes),
            options(field.name for field in fields(one)),
        )
        for n, one in objectives.items()
    ]
    table("Objectives", "name, form of outputs, batches of, decodes, options", rows)
    decodes = {name: DECODES.find(name) for name in DECODES}
    rows = [
        (f"`{n}`", one.reads, first_sentence(one), options(one.options))
        for n, one in decodes.items()
    ]
    table("Decodes", "name, reads outputs of the form, value, options", rows)
    rows = [
        (f"`{n}`", one.description, ", ".join(one.spaces), "yes" if one.admissible else "no")
        for n, one in ((name, HEURISTICS.find(name)) for name in HEURISTICS)
    ]
    table("Heuristics", "name, value, spaces, admissible", rows)
    rows = [
        (f"`{n}`", one.description, ", ".join(one.spaces), options(one.options))
        for n, one in ((name, SEARCHES.find(name)) for name in SEARCHES)
    ]
    table("Searches", "name, what it is, spaces, options", rows)
    rows = [(f"`{n}`", DOMAINS.find(n).summary) for n in DOMAINS]
    table("Domains", "name, problems", rows)
    rows = [(f"`{n}`", PAPERS.find(n).title, ", ".join(PAPERS.find(n).scales)) for n in PAPERS]
    table("Papers", "name, subject, scales", rows)
    return "\n".join(parts)


def test_the_lists_of_slots() -> None:
    """If this fails, put what this file prints when it is run at the end of docs/slots.md."""
    _, _, found = (DOCS / "slots.md").read_text().partition("<!-- lists -->\n")
    assert found == lists()


def test_papers_name_their_scales() -> None:
    for name, paper in PAPERS.items():
        for scale in paper.scales:
            prepare_paper(name, scale, Path("unused"), {})
        with pytest.raises(ValueError, match=f"choose one of {', '.join(paper.scales)}$"):
            prepare_paper(name, "unheard-of", Path("unused"), {})


if __name__ == "__main__":
    print(lists(), end="")
