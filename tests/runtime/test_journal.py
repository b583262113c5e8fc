"""A journal takes nothing for its own that it did not write, and removes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import hstar
from small_domains import BLOCKS, problem_text

from hstar.papers import prepare_paper
from hstar.runtime.journal import LOCK, MARK, Journal, JournalError
from hstar.training.checkpoint import Checkpoint, CheckpointError


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "runs.parquet"


def refused(output: Path) -> None:
    with pytest.raises(JournalError, match="not a journal of hstar"), opened(output).held():
        pass


def opened(output: Path) -> Journal:
    return Journal(output, {"n": 1}, print)


def partial(output: Path) -> Path:
    return output.with_name("runs.parquet.partial")


def test_a_link_to_a_folder_is_refused(output: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    partial(output).symlink_to("victim")
    refused(output)
    assert not list((tmp_path / "victim").iterdir())


def test_a_link_to_nothing_is_refused(output: Path, tmp_path: Path) -> None:
    partial(output).symlink_to("nothing")
    refused(output)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("name", ["thesis.txt", "run.json", LOCK])
def test_a_folder_of_the_user_is_refused(name: str, output: Path) -> None:
    partial(output).mkdir()
    (partial(output) / name).write_text("years of work\n")
    refused(output)
    assert [path.read_text() for path in partial(output).iterdir()] == ["years of work\n"]


def test_a_lock_that_is_a_link_is_not_followed(output: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work\n")
    partial(output).mkdir()
    (partial(output) / LOCK).symlink_to("../thesis.txt")
    refused(output)
    assert (tmp_path / "thesis.txt").read_text() == "years of work\n"


@pytest.mark.parametrize("name", ["../thesis.txt", "/thesis.txt", "..", ""])
def test_a_lock_that_lists_files_of_other_folders_is_refused(
    name: str, output: Path, tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work\n")
    partial(output).mkdir()
    (partial(output) / LOCK).write_text(f"{MARK}\n{name}\nrun.json\n")
    refused(output)
    assert (tmp_path / "thesis.txt").read_text() == "years of work\n"


def test_only_files_of_the_journal_are_removed(
    output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = opened(output)
    with journal.held():
        journal.write("piece", b"content")
        (partial(output) / ".piece.half").write_text("a kill while it was written")
        (partial(output) / "thesis.txt").write_text("years of work\n")
        assert journal.count() == 1
        journal.remove()
    assert [path.name for path in partial(output).iterdir()] == ["thesis.txt"]
    assert "hstar did not write thesis.txt" in capsys.readouterr().out


def test_a_journal_goes_on_where_a_kill_left_it(output: Path) -> None:
    partial(output).mkdir()
    for before in ("", None):  # killed before the mark was written, and afterwards
        if before is not None:
            (partial(output) / LOCK).write_text(before)
        with opened(output).held():
            opened(output).write("piece", b"content")
        assert opened(output).read("piece") == b"content"
    with opened(output).held():
        opened(output).remove()
    assert not partial(output).exists()


def test_a_command_leaves_a_folder_of_that_name_alone(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(BLOCKS)
    init = ["(ontable a)", "(clear a)", "(handempty)"]
    (tmp_path / "p.pddl").write_text(problem_text("blocks", "a", init, ["(clear a)"]))
    victim = tmp_path / "runs.parquet.partial"
    victim.mkdir()
    (victim / "thesis.txt").write_text("years of work\n")
    done = hstar("bench", tmp_path / "p.pddl", "-o", "runs.parquet", cwd=tmp_path)
    assert done.code == 36
    assert "this is not a journal of hstar; move it away, or choose another -o" in done.err
    assert (victim / "thesis.txt").read_text() == "years of work\n"


@pytest.mark.parametrize("kind", ["a link to nothing", "a link to a file", "a folder"])
def test_a_checkpoint_is_a_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors.partial"
    if kind == "a folder":
        path.mkdir()
    else:
        path.symlink_to("thesis.txt")
    if kind == "a link to a file":
        (tmp_path / "thesis.txt").write_text("years of work\n")
    with pytest.raises(CheckpointError, match="the checkpoint is no file"):
        Checkpoint.read(path, "fingerprint")


def test_a_paper_writes_into_no_folder_of_other_work(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work\n")
    with pytest.raises(JournalError, match="this folder holds files of other work"):
        prepare_paper("truncated-gaussian", "smoke", tmp_path, {}).keep_settings()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
