"""Model files: what is written is read, and files that are bad or do not fit are refused."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import small_domains
from hard_tasks import write_task
from program import SECONDS, environment
from safetensors.numpy import save_file
from small_trainings import TINY
from untrained_models import untrained

import hstar
from hstar.commands.cli import run as run_cli
from hstar.pddl import parse
from hstar.planning.task import ground, load_task
from hstar.slots.loader import load_model
from hstar.slots.model_file import (
    SCHEMA,
    UNCOMPARED,
    ModelFile,
    ModelFileError,
    read_model,
    write_model,
)
from hstar.slots.objectives import make_objective

MODELS = Path(__file__).parents[2] / "models"

pytestmark = pytest.mark.usefixtures("one_thread")


@dataclass(frozen=True, slots=True)
class Saved:
    """A model file and a problem for it."""

    model: Path
    domain: Path
    problem: Path


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    return save_blocks_model(tmp_path, "nlm")


def save_blocks_model(folder: Path, kind: str) -> Saved:
    domain, problem = write_task(folder, *small_domains.blocks(random.Random(1)))
    task = load_task(domain, problem)
    path = folder / f"{kind}.safetensors"
    write_model(path, untrained(kind, task, make_objective("truncated-gaussian")).file)
    return Saved(path, domain, problem)


@pytest.mark.parametrize("kind", TINY)
def test_a_model_file_is_read_as_it_was_written(kind: str, tmp_path: Path) -> None:
    files = save_blocks_model(tmp_path, kind)
    task = load_task(files.domain, files.problem)
    model = untrained(kind, task, make_objective("truncated-gaussian")).file
    held = read_model(files.model)
    written = json.loads(json.dumps(model.metadata))  # no tuples in it
    assert held.metadata == written
    assert held.tensors.keys() == model.tensors.keys()
    assert all(np.array_equal(held.tensors[name], model.tensors[name]) for name in held.tensors)
    content = files.model.read_bytes()
    write_model(files.model, held)
    assert files.model.read_bytes() == content
    assert load_model(files.model).label == kind


PROGRAM = """import sys
from hstar.commands.cli import run
code = run(sys.argv[1:])
print("torch" in sys.modules, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("kind", TINY)
def test_the_command_plans_with_a_model(kind: str, tmp_path: Path) -> None:
    """Without torch, except for networks on graphs."""
    files = save_blocks_model(tmp_path, kind)
    plan = tmp_path / "found.plan"
    arguments = ["plan", "-H", files.model, files.domain, files.problem, "--plan-file", plan]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment({"OMP_NUM_THREADS": "1"}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, f"{kind in ('hgn', 'gnn')}\n")
    assert f"heuristic {kind}." in done.stdout
    assert run_cli(["validate", str(files.domain), str(files.problem), str(plan)]) == 0


def test_plan_takes_the_path_of_a_model(saved: Saved) -> None:
    files = (saved.domain, saved.problem)
    expected = hstar.plan(*files, heuristic=hstar.load_model(saved.model))
    for given in (saved.model, str(saved.model)):
        found = hstar.plan(*files, heuristic=given)
        assert found.solved
        assert (found.plan, found.evaluated) == (expected.plan, expected.evaluated)


@pytest.mark.parametrize("kind", [*TINY, "pdb"])
def test_show_describes_a_file(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = MODELS / "8-corner-small.safetensors"
    if kind != "pdb":
        path = save_blocks_model(tmp_path, kind).model
    assert run_cli(["model", "show", str(path)]) == 0
    out = capsys.readouterr().out
    assert f"Size: {path.stat().st_size} bytes" in out
    assert "in 1 tensors." not in out
    assert ("0 of 88179840 states overestimated" in out) == (kind == "pdb")
    assert run_cli(["model", "show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["bytes"] == path.stat().st_size
    assert {key: shown[key] for key in read_model(path).metadata} == read_model(path).metadata


def check_refused(files: Saved, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both the library and the command say what is wrong with a model, in one line."""
    task = ground(parse(files.domain, files.problem))
    with pytest.raises(ModelFileError, match=message) as caught:
        load_model(files.model).bind(task)
    assert caught.value.path == str(files.model)
    plan = files.problem.with_suffix(".plan")
    arguments = ["-H", str(files.model), str(files.domain), str(files.problem)]
    assert run_cli(["plan", *arguments, "--plan-file", str(plan)]) == 31
    assert capsys.readouterr().err == f"hstar: {caught.value}\n"
    assert "\n" not in str(caught.value)
    assert not plan.exists()


Edit = Callable[[bytes], bytes]


def flipped(position: int) -> Edit:
    def edit(content: bytes) -> bytes:
        changed = bytearray(content)
        changed[position] ^= 1
        return bytes(changed)

    return edit


def edited_metadata(content: bytes) -> bytes:
    """The bound less open than in training; the file is as long as before."""
    old = rb"\"epsilon\":0.1"
    assert content.count(old) == 2  # of the objective, and of the decode
    return content.replace(old, rb"\"epsilon\":0.2")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda content: b"", "no intact"),
        (lambda content: content[:100], "no intact"),
        (lambda content: content[:-1], "no intact"),
        (lambda content: content + b"more", "no intact"),
        (lambda content: b"(define (domain blocks))" * 40, "no intact"),
        (lambda content: b"\x00" * 64, "no intact|no hstar metadata"),
        (flipped(-1), "changed after training"),
        (flipped(-500), "changed after training"),
        (edited_metadata, "changed after training"),
    ],
)
def test_a_damaged_file_is_refused(
    edit: Edit, message: str, saved: Saved, capsys: pytest.CaptureFixture[str]
) -> None:
    saved.model.write_bytes(edit(saved.model.read_bytes()))
    check_refused(saved, message, capsys)


def test_no_flipped_bit_goes_unnoticed(saved: Saved) -> None:
    content = saved.model.read_bytes()
    rng = random.Random(0)
    for position in rng.sample(range(len(content)), 300):
        changed = bytearray(content)
        changed[position] ^= 1 << rng.randrange(8)
        saved.model.write_bytes(changed)
        with pytest.raises(ModelFileError):
            read_model(saved.model)


def test_a_missing_file_is_refused(saved: Saved, capsys: pytest.CaptureFixture[str]) -> None:
    saved.model.unlink()
    check_refused(saved, "no such model file; train one with 'hstar train'", capsys)


def test_a_folder_is_no_model(saved: Saved, capsys: pytest.CaptureFixture[str]) -> None:
    saved.model.unlink()
    saved.model.mkdir()
    check_refused(saved, "cannot read the model|no intact", capsys)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "it was not made by hstar"),
        ({"other": "{}"}, "it was not made by hstar"),
        ({"hstar": "{"}, "the metadata is malformed"),
        ({"hstar": "[]"}, "the metadata is malformed"),
        ({"hstar": "{}"}, "format None, this hstar reads 'hstar-model-2'"),
        ({"hstar": '{"format": "hstar-model-3"}'}, "format 'hstar-model-3', this hstar"),
        ({"hstar": '{"format": "hstar-model-2", "digest": "00"}'}, "changed after training"),
    ],
)
def test_files_of_other_programs_are_refused(
    metadata: dict[str, str] | None,
    message: str,
    saved: Saved,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save_file({"theta": np.zeros(3, dtype=np.float32)}, saved.model, metadata=metadata)
    check_refused(saved, message, capsys)


@pytest.mark.parametrize("key", sorted(SCHEMA.keys() - UNCOMPARED))
def test_a_file_that_lacks_something_is_refused(key: str, saved: Saved) -> None:
    held = read_model(saved.model)
    del held.metadata[key]
    write_model(saved.model, held)
    with pytest.raises(ModelFileError, match=f"lacks '{key}'"):
        load_model(saved.model)


def test_an_unknown_form_is_refused(saved: Saved) -> None:
    held = read_model(saved.model)
    write_model(saved.model, ModelFile({**held.metadata, "form": "fractions"}, held.tensors))
    with pytest.raises(ModelFileError, match="unknown form 'fractions'"):
        load_model(saved.model)


def test_a_file_names_its_search_and_its_verdict(saved: Saved) -> None:
    held = read_model(saved.model)
    assert held.metadata["search"] == {"algorithm": "gbfs"}
    assert load_model(saved.model).search == {}  # it recommends no other than the usual one
    assert held.metadata["verdict"]["use"] == "unknown"
    said = {"search": {"algorithm": "lazy"}, "verdict": {"sentence": "Use it.", "use": "learned"}}
    write_model(saved.model, ModelFile({**held.metadata, **said}, held.tensors))
    assert read_model(saved.model).metadata == {**held.metadata, **said}
    assert load_model(saved.model).search == said["search"]
    for key in said:
        write_model(saved.model, ModelFile({**held.metadata, key: {}}, held.tensors))
        with pytest.raises(ModelFileError, match=f"'{key}' lacks"):
            load_model(saved.model)


def test_an_unknown_kind_of_model_is_refused(
    saved: Saved, capsys: pytest.CaptureFixture[str]
) -> None:
    held = read_model(saved.model)
    held.metadata["model"]["name"] = "forest"
    write_model(saved.model, held)
    check_refused(saved, "this hstar cannot use the model: unknown model 'forest'", capsys)


@pytest.mark.parametrize("kind", TINY)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([("(not (handempty))", ""), ("(handempty)", "")], "lacks the predicate 'handempty'"),
        ([("(clear ?x) (hand", "(clear ?x) (wet ?x) (hand")], "has the predicate 'wet'"),
        ([("(handempty)", "(handempty b0)")], "'handempty' has 1 parameters in .*, 0 where"),
        ([("(not (ontable ?x))", "")], ""),
        ([("(:action stack", "(:action put")], ""),
    ],
)
def test_another_domain_is_refused(
    kind: str,
    changes: list[tuple[str, str]],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = save_blocks_model(tmp_path, kind)
    for old, new in changes:
        domain = files.domain.read_text()
        assert old in domain
        files.domain.write_text(domain.replace(old, new.replace("b0", "?x")))
        files.problem.write_text(files.problem.read_text().replace(old, new))
    if kind not in ("nlm", "gnn") or not message:
        message = "whose predicates, types or actions differ from those of 'blocks'; use the domain"
    check_refused(files, f"the model was trained on domain 'blocks'.*{message}", capsys)


WIDE = """(define (domain wide) (:predicates (a ?x) (b ?x) (c ?x) (next ?x ?y))
(:action make :parameters (?x) :precondition (c ?x) :effect (and (a ?x) (b ?x)))
(:action move :parameters (?x ?y) :precondition (and (c ?x) (next ?x ?y)) :effect (c ?y)))
"""


def test_a_problem_that_needs_more_slots_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where b is never wanted, grounding drops it, and the network has seen no action with both."""
    init = ["(c u)", "(next u v)", "(next v w)"]
    problem = small_domains.problem_text("wide", "u v w", init, ["(a w)"])
    domain_file, problem_file = write_task(tmp_path, WIDE, problem)
    task = load_task(domain_file, problem_file)
    write_model(
        tmp_path / "hgn.safetensors",
        untrained("hgn", task, make_objective("truncated-gaussian")).file,
    )
    problem_file.write_text(problem.replace("(a w)", "(a w) (b w)"))
    files = Saved(tmp_path / "hgn.safetensors", domain_file, problem_file)
    check_refused(files, "2 adds, but the network was made for at most 1", capsys)
