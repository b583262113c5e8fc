"""The truncated-Gaussian recipe from end to end on tiny problems, and what its scales promise."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hstar.experiments.study import TrialStudy
from hstar.papers.truncated_gaussian.scales import SCALES, VARIANTS, GaussianScale
from hstar.papers.truncated_gaussian.study import TruncatedGaussians
from hstar.papers.truncated_gaussian.tables import Measured, compared_table
from hstar.pddl import find_domain
from hstar.slots.loader import load_model
from hstar.slots.teachers.labels import manifest_path
from hstar.training.options import TrainOptions

pytestmark = pytest.mark.usefixtures("one_thread")

COLUMNS = ("nlm N:learn/ff/lmcut", "nlm N+clip:learn/ff/lmcut", "nlm TN:learn/ff/lmcut")
SHAPE = {"width": 3, "depth": 3}
TINY = GaussianScale(
    memory_limit=2**31,
    cost="seconds",
    domains=("blocks", "ferry"),
    problems={
        "counts": [6, 3, 3],
        "blocks": [{"blocks": [3]}, {"blocks": [4]}],
        "ferry": [{"locations": [2], "cars": [2]}, {"locations": [3], "cars": [2]}],
    },
    training_problems=5,
    label_limits=dict.fromkeys(("train", "validation", "test"), 20.0),
    training={"evaluate_every": 10, "batch": 16},
    models={"nlm": {"model_options": SHAPE}},
    studies=(
        TrialStudy(
            "paper",
            (*COLUMNS, "linear TN:fixed/none/lmcut", "ff", "plan"),
            60.0,
            seeds=(0, 1),
            tests=2,
            steps={"nlm": 20, "linear": 20},
            max_evaluations=300,
        ),
    ),
)


def tiny(directory: Path, **changes: Any) -> TruncatedGaussians:
    directory.mkdir(exist_ok=True)
    return TruncatedGaussians(TINY, directory, say=lambda _: None, **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("gaussians") / "run"
    tiny(path).execute()
    return path


def test_the_recipe_runs_from_end_to_end(folder: Path) -> None:
    """And again: all it made is there, so nothing is made twice."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    run = tiny(folder)
    results = run.execute()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")} == before
    assert not results.failures()
    learners, seeds, domains = 3, 2, 2
    assert len(before) == learners * seeds * domains
    trained = results.trainings["paper"]
    assert all(math.isfinite(row[name]) for row in trained for name in ("mse", "nll"))
    searches = results.searches["paper"]
    with_seeds = [row for row in searches if row["column"] not in ("ff", "plan")]
    assert len(with_seeds) == 4 * seeds * domains * 2
    assert len(searches) - len(with_seeds) == 2 * domains * 2
    report = run.report(results, "tiny")
    files = report.write(folder, "a command", 1.0)
    page = "\n".join((folder / name).read_text() for name in files if name.endswith(".md"))
    assert "3 of 3 labelled" in page
    assert "TN - N+clip" in page and "one seed" not in page


def test_the_likelihood_is_that_of_the_likeliest_weights(folder: Path) -> None:
    """Weights are chosen twice: by the squared error, and for the table of likelihoods."""
    run = tiny(folder)
    found = [json.loads(part.read_text()) for part in folder.glob("models/**/*.json")]
    assert len(found) == 12
    for row in found:
        subject = run.subject(row["domain"])
        study = TINY.studies[0]
        part = run.model(study, subject.name, row["learner"], row["seed"])
        trained = load_model(part.with_suffix(".safetensors")).metadata["training"]
        best = trained["best"]["step"]
        assert best == min(trained["curve"], key=lambda line: line["validation_mse"])["step"]


def test_what_replaced_a_test_problem_is_planned_for(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "run"
    shutil.copytree(folder, copied)
    scale = replace(TINY, test_retries=1)
    run = TruncatedGaussians(scale, copied, say=lambda _: None)
    manifest = manifest_path(run.labels("blocks", "test"))
    held = json.loads(manifest.read_text())
    other = held["problems"][0]["pddl"].replace("(define", "; drawn again\n(define")
    held["problems"][0]["pddl"] = other
    manifest.write_text(json.dumps(held))
    files = [entry.path for entry in run.subject("blocks").test]
    assert [path.read_text() for path in files] == [one["pddl"] for one in held["problems"]]
    given = folder / "problems/blocks/test/domain.pddl"
    assert find_domain(files[0]).read_text() == given.read_text()
    kept = [entry.path for entry in tiny(copied).subject("blocks").test]
    assert other not in [path.read_text() for path in kept]


def test_networks_that_were_trained_together_are_only_written(folder: Path, tmp_path: Path) -> None:
    """What a GPU does: the checkpoints of all networks are complete before the first is judged."""
    run = tiny(tmp_path / "run")
    study = TINY.studies[0]
    for stage in (run.make_problems, run.make_labels):
        for split in ("train", "validation", "test"):
            stage("blocks", split)
    run.learn_together(study, run.subject("blocks"))
    partial = sorted((tmp_path / "run").rglob("model.partial"))
    assert len(partial) == 4
    results = run.trainings(study, [run.subject("blocks")])
    run.carry_out("learning", results)
    for part, _, (_, _, learner, seed) in results:
        row = json.loads(part.read_text())
        alone = json.loads((folder / part.relative_to(tmp_path / "run")).read_text())
        assert row["error"] == "" and row["curve"][-1][0] == 20
        for name in ("mse", "nll"):
            assert row[name] == pytest.approx(alone[name], rel=2e-3), (learner, seed)


def test_seeds_tell_whether_a_difference_is_one(folder: Path) -> None:
    def rows(loss: str, numbers: list[float]) -> list[dict[str, Any]]:
        about = {"domain": "ferry", "model": "nlm", "sigma": "learn", "base": "ff"}
        return [
            {**about, "lower": "lmcut", "loss": loss, "seed": seed, "mse": number, "mse_clip": 4.0}
            for seed, number in enumerate(numbers)
        ]

    truncated = rows("truncated-gaussian", [1.0, 1.1, 1.2, 1.3, 1.4])
    for plain, verdict in (
        ([2.0, 2.1, 2.2, 2.3, 2.4], "-1 [-1.3, -0.7], p 0.0079: better"),
        ([0.0, 0.1, 0.2, 0.3, 0.4], "+1 [+0.7, +1.3], p 0.0079: worse"),
        ([1.0, 1.1, 1.2, 1.3, 1.5], "cannot be told"),
    ):
        found = Measured.of([*truncated, *rows("gaussian", plain)], [], [])
        (row,) = compared_table(found).rows
        assert str(row[6]).endswith(verdict)


FAITHFUL = ("full", "as-run")


@pytest.mark.parametrize("name", FAITHFUL)
def test_a_scale_named_after_the_paper_has_nothing_of_ours(name: str) -> None:
    scale = SCALES[name]
    assert not scale.fit_cap and scale.epochs is None
    assert scale.test_retries == scale.label_retries == 20
    run = TruncatedGaussians(scale, Path("nowhere"))
    for learner in {"nlm-truncated-gaussian-fixed-ff-lmcut", "hgn-gaussian-learn-none-lmcut"}:
        given = run.training_options(VARIANTS[learner], scale.studies[0], 1000)
        options = TrainOptions(patience=0, **given)
        assert options.objective.constants()["cap"] is None
        assert (options.schedule, options.batches, options.batch) == ("constant", "shuffled", 256)
        assert options.rate(0) == options.rate(10**4) == options.learning_rate
        if options.model == "hgn":
            assert options.model_options == {"normalise": False}
            continue
        wanted = {"init": "torch", "exclude_self": False, "types": False}
        assert options.model_options == {**wanted, "width": 8 if name == "full" else 16}
        sigma = math.sqrt(0.5) if name == "full" else math.sqrt(2)
        assert options.objective.constants()["sigma"] == pytest.approx(sigma, rel=1e-15)
        assert options.steps == (40_000 if name == "full" else 100_000)


def test_every_scale_says_what_it_costs(tmp_path: Path) -> None:
    assert all(scale.cost for scale in SCALES.values())
