"""What the journal of a benchmark is for. See also runtime/test_long_runs.py."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from bench_suite import COUNTS, without_times, write_suite
from program import PACKAGES, python

from hstar.experiments.bench import BenchOptions, read_runs, run_bench
from hstar.runtime.code import code_digest
from hstar.runtime.journal import Journal, JournalError


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("suite"))


def run_and_keep_journal(options: BenchOptions) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "remove", lambda journal: None)
        run_bench(options)


def test_finished_runs_are_not_repeated(suite: Path, tmp_path: Path) -> None:
    """Rows from the journal are in the output as they are there."""
    output = tmp_path / "runs.parquet"
    options = BenchOptions([suite / "ferry"], ["ff"], output=output)
    run_and_keep_journal(options)
    journal = tmp_path / "runs.parquet.partial"
    before = read_runs(output).rows
    first, *others = entries(journal)
    for path in others:
        path.unlink()
    kept = json.loads(first.read_bytes().partition(b"\n")[2])["run"]
    after = run_bench(options)
    assert without_times(after).equals(without_times(before))
    again = (after["search_time"] == before["search_time"]).to_list()
    assert again == (before["run"] == kept).to_list()
    assert not journal.exists()


def entries(journal: Path) -> list[Path]:
    """The files of finished runs."""
    return sorted(journal.glob("[0-9a-f]*[0-9a-f]"))


def test_the_digest_of_the_code_follows_the_source(tmp_path: Path) -> None:
    """A copy of the package has the same digest until a line of it is changed."""
    copy = tmp_path / "hstar"
    shutil.copytree(PACKAGES + "/hstar", copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = "from hstar.runtime.code import code_digest; print(code_digest())"

    def digest() -> str:
        return python(program, changes={"PYTHONPATH": str(tmp_path)}).strip()

    assert digest() == code_digest()
    with (copy / "slots/features/wl.py").open("a") as file:
        file.write("# changed\n")
    assert digest() != code_digest()


def test_a_foreign_file_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "runs.parquet.partial").write_text("something else\n")
    with (
        pytest.raises(JournalError, match="this is not a journal"),
        Journal(tmp_path / "runs.parquet", {}, print).held(),
    ):
        pass
    assert (tmp_path / "runs.parquet.partial").read_text() == "something else\n"


def test_the_default_planner_is_not_eager_search_with_its_heuristic(suite: Path) -> None:
    rows = run_bench(BenchOptions([suite / "blocks"], ["ff", "default"]))
    assert rows["run"].n_unique() == rows.height == 2 * COUNTS["blocks"]
    assert rows["algorithm"].unique().sort().to_list() == ["default", "gbfs(ff)"]
    assert rows["search"].unique().sort().to_list() == ["gbfs", "lazy"]
