"""`hstar generate` and the folders it writes: the same bytes again, repairs, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from program import hstar

from hstar.commands import cli
from hstar.commands.generate import SIZES, numbers
from hstar.domains import DOMAINS, SPLITS, FolderError, generate, regenerate
from hstar.slots.teachers.folder import read_folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_equal_arguments_give_equal_bytes_whatever_splits_are_made_together(tmp_path: Path) -> None:
    generate("gripper", tmp_path / "all", count=20)
    for split in SPLITS:
        generate("gripper", tmp_path / "apart", [split], count=20)
    generate("gripper", tmp_path / "other", count=20, seed=1)
    assert contents(tmp_path / "all") == contents(tmp_path / "apart")
    assert len(contents(tmp_path / "all")) == 3 * 22
    assert not set(contents(tmp_path / "all").values()) & {
        text
        for name, text in contents(tmp_path / "other").items()
        if not name.endswith("domain.pddl")
    }


def test_the_same_problems_again_repair_a_folder(tmp_path: Path) -> None:
    first = generate("ferry", tmp_path, ["train"], count=5)
    assert [one.written for one in first] == [7]
    before = contents(tmp_path)
    damaged, missing = sorted((tmp_path / "train").glob("locations*"))[:2]
    damaged.write_text("(define")
    missing.unlink()
    (tmp_path / "train" / "notes.txt").write_text("mine")
    assert [one.written for one in generate("ferry", tmp_path, ["train"], count=5)] == [2]
    assert contents(tmp_path) == before | {"train/notes.txt": b"mine"}
    assert [one.written for one in generate("ferry", tmp_path, ["train"], count=5)] == [0]


def test_folders_are_never_mixed(tmp_path: Path) -> None:
    generate("ferry", tmp_path / "a", ["train"], count=3)
    (tmp_path / "b/train").mkdir(parents=True)
    (tmp_path / "b/train/mine.pddl").write_text("(define)")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/train").write_text("a file")
    generate("ferry", tmp_path / "d", ["train"], count=3)
    (tmp_path / "d/train/mine.pddl").write_text("(define)")
    before = contents(tmp_path)
    for domain, folder, count, message in [
        ("ferry", "a", 4, r"a/train holds problems made with other options; choose"),
        ("gripper", "a", 3, r"a/train holds problems of ferry, not of gripper; choose"),
        ("ferry", "b", 3, r"b/train is not empty and has no manifest"),
        ("ferry", "c", 3, r"c/train is not a folder"),
        ("ferry", "d", 3, r"d/train/mine.pddl is not listed in the manifest"),
    ]:
        with pytest.raises(FolderError, match=message):
            generate(domain, tmp_path / folder, ["test", "train"], count=count)
    assert contents(tmp_path) == before


def test_a_folder_left_half_written_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".train.partial").mkdir()
    (tmp_path / ".train.partial/domain.pddl").write_text("(define")
    (tmp_path / "train").mkdir()
    generate("ferry", tmp_path, ["train"], count=3)
    assert [path.name for path in tmp_path.iterdir()] == ["train"]
    assert len(contents(tmp_path)) == 5


def test_a_folder_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / ".train.partial").mkdir()
    (tmp_path / ".train.partial/thesis.txt").write_text("years of work")
    (tmp_path / ".test.partial").symlink_to(".train.partial")
    for split in ("train", "test"):
        with pytest.raises(FolderError, match="was not written by hstar; move it away"):
            generate("ferry", tmp_path, [split], count=3)
    assert (tmp_path / ".train.partial/thesis.txt").exists()


@pytest.mark.parametrize(("count", "said"), [("8", "8 problems"), ("1", "1 problem")])
def test_the_command_writes_folders(count: str, said: str, tmp_path: Path) -> None:
    arguments = ["--split", "train", "--blocks", "3-6", "--count", count]
    done = hstar("generate", "blocksworld", "-o", tmp_path / "new/dir", *arguments)
    assert (done.code, done.out) == (0, f"train: {said} in {tmp_path}/new/dir/train\n")
    names = sorted(path.name for path in (tmp_path / "new/dir/train").glob("blocks*.pddl"))
    every = [f"blocks0{n}-seed00{s}.pddl" for n in (3, 4, 5, 6) for s in (1, 2)]
    assert names == every[: int(count)]


def test_every_size_has_an_option() -> None:
    assert set(SIZES) == {one.name for g in DOMAINS.values() for one in g.parameters}


def test_the_command_lists_all_domains(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["generate", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{name}: {generator.summary}" in listed for name, generator in DOMAINS.items())
    assert "train: 400 problems; balls 2,4,6,8,10" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "expected DOMAIN"),
        ("ferry", "expected -o DIR"),
        (
            "fery -o DIR",
            "unknown domain 'fery' (did you mean 'ferry'?); choose one of",
        ),
        ("ferry -o DIR --blocks 3", "ferry has no parameter 'blocks', only locations, cars"),
        ("ferry -o DIR --cars 0-3", "cars must be a whole number from 1 to 1000, not 0"),
        ("visitall -o DIR --side 3.5", "side must be a whole number from 2 to 1000, not 3.5"),
        ("visitall -o DIR --ratio nan", "ratio must be a number from 0.01 to 1, not nan"),
        ("parking -o DIR --cars 20", "3 curbs take at most 4 cars, not 20"),
        ("ferry -o DIR --seed -1", "the seed must be at least 0, not -1"),
        ("ferry -o FILE --count 1 --split train", "file is not a folder; choose another name"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    words = arguments.replace("DIR", str(tmp_path / "dir")).replace("FILE", str(tmp_path / "file"))
    assert cli.run(["generate", *words.split()]) == 36
    assert message in capsys.readouterr().err
    assert not (tmp_path / "dir").exists()


@pytest.mark.parametrize("text", ["x", "", "3-", "-3", "6-3", "1,,2", "1-99999999", "1-2-3"])
def test_ranges_that_are_none(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run(["generate", "ferry", "-o", "nowhere", f"--cars={text}"])
    assert ended.value.code == 36 and f"'{text}' is not a range" in capsys.readouterr().err


def test_ranges() -> None:
    assert numbers("5") == [5]
    assert numbers("2,4-6,5") == [2, 4, 5, 6]
    assert numbers("1.0,0.5") == [0.5, 1.0]


def test_a_folder_says_that_its_problems_may_repeat(tmp_path: Path) -> None:
    """And replacements are then drawn like it."""
    arguments = (
        "generate",
        "blocksworld",
        "-o",
        str(tmp_path),
        "--split",
        "train",
        "--blocks",
        "4",
    )
    assert hstar(*arguments, "--count", "30", "--as-drawn").code == 0
    manifest = json.loads((tmp_path / "train" / "manifest.json").read_text())
    assert manifest["apart"] is False
    assert {one["parameters"]["blocks"] for one in manifest["problems"]} == {4}
    folder = read_folder(tmp_path / "train")
    assert not folder.apart
    for number in range(30):
        made_with = ({"blocks": 4}, "train", number + 1)
        texts = [regenerate("blocksworld", *made_with, 1, apart=apart) for apart in (False, True)]
        if texts[0] != texts[1]:  # its form belongs to another split
            break
    else:
        pytest.fail("every replacement belongs to the split")
    again = hstar(*arguments, "--count", "30")
    assert again.code == 36 and "holds problems made with other options" in again.err
