"""Instance generators: what they draw, that splits stay apart, and the folders they write."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import SECONDS, environment, hstar

from hstar import cli
from hstar.commands.generate import SIZES, numbers
from hstar.domains import (
    DOMAINS,
    SPLITS,
    Drawn,
    FolderError,
    Instance,
    Parameters,
    draw,
    generate,
    regenerate,
)
from hstar.domains.blocksworld import completions, random_state
from hstar.domains.canonical import canonical_form
from hstar.domains.parking import random_rows
from hstar.domains.sliding_tiles import random_board
from hstar.domains.splits import draw_split, owner
from hstar.pddl import parse
from hstar.search import search
from hstar.spaces.task import ground

PAPER = ["blocksworld", "ferry", "gripper", "visitall"]
COUNTS = {
    "blocksworld": (456, 132, 132),
    "ferry": (400, 100, 100),
    "gripper": (400, 100, 100),
    "visitall": (420, 102, 102),
}
# The text of one problem of each domain: a change here changes what everybody generates.
GOLDEN = {
    "blocksworld": "f6da9523447c3045",
    "ferry": "14e77ee6923afe18",
    "gripper": "d2ad10a7218af8a6",
    "visitall": "b46ab0f614c1acbb",
    "logistics": "f0eeb1f84650ba01",
    "miconic": "31e582f1b470425e",
    "parking": "2719b933a884d0fa",
    "satellite": "a3d1eb82ece31432",
    "sliding-tiles": "e5650fc6671041c1",
}


@pytest.mark.parametrize("name", DOMAINS)
def test_small_problems_can_be_solved(name: str, tmp_path: Path) -> None:
    generator = DOMAINS[name]
    domain, problem = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    domain.write_text(generator.domain_pddl)
    sizes = generator.splits["train"].sizes
    for size, seed in itertools.product((sizes[0], sizes[len(sizes) // 2], sizes[-1]), (1, 2)):
        problem.write_text(regenerate(name, size, "train", seed, retry=0))
        result = search(ground(parse(domain, problem)), "ff", "lazy", max_evaluations=50_000)
        assert result.solved and result.plan_length  # the search validates its plans


@pytest.mark.parametrize("name", DOMAINS)
def test_large_problems_can_be_grounded(name: str, tmp_path: Path) -> None:
    generator = DOMAINS[name]
    (tmp_path / "domain.pddl").write_text(generator.domain_pddl)
    size = generator.splits["test"].sizes[-1]
    (tmp_path / "p.pddl").write_text(regenerate(name, size, "test", 1, 0))
    task = ground(parse(tmp_path / "domain.pddl", tmp_path / "p.pddl"))
    assert task.num_operators > 0 and not task.goal_is_false


@pytest.mark.parametrize("name", PAPER)
def test_usual_splits_have_the_numbers_of_the_paper(name: str) -> None:
    plans = [DOMAINS[name].plan(split) for split in SPLITS]
    assert tuple(sum(count for _, count in plan) for plan in plans) == COUNTS[name]


def test_usual_splits_have_the_sizes_of_the_paper() -> None:
    def sizes(name: str, split: str, parameter: str) -> list[int | float]:
        return sorted({size[parameter] for size in DOMAINS[name].splits[split].sizes})

    assert sizes("blocksworld", "train", "blocks") == list(range(5, 17))
    assert sizes("blocksworld", "test", "blocks") == list(range(11, 23))
    for parameter in ("locations", "cars"):
        assert sizes("ferry", "validation", parameter) == [2, 3, 4, 5, 6]
        assert sizes("ferry", "test", parameter) == [10, 15, 20, 25, 30]
    assert sizes("gripper", "train", "balls") == [2, 4, 6, 8, 10]
    assert sizes("gripper", "test", "balls") == [20, 30, 40, 50, 60]
    assert sizes("visitall", "train", "side") == [3, 4, 5]
    assert sizes("visitall", "test", "side") == [6, 7, 8]
    assert sizes("visitall", "test", "ratio") == [0.5, 1.0]


Atoms = frozenset[str]


def read(text: str) -> tuple[Atoms, Atoms]:
    """Initial and goal atoms of a problem file, read with no help of the generators."""
    init, goal = text.split("(:init")[1].split("(:goal (and")
    return frozenset(re.findall(r"\([^()]*\)", init)), frozenset(re.findall(r"\([^()]*\)", goal))


Splits = dict[str, list[tuple[Parameters, Drawn]]]  # the size asked for, and what was drawn


@cache
def usual_splits(name: str) -> Splits:
    """The usual splits of a domain; where nothing runs out, only a part of them."""
    generator = DOMAINS[name]
    count = None if name in ("gripper", "visitall") else 90
    return {
        split: draw_split(generator, split, generator.plan(split, count=count)) for split in SPLITS
    }


@pytest.mark.parametrize("name", DOMAINS)
def test_no_problem_occurs_twice_or_is_solved(name: str) -> None:
    splits = [[problem for _, problem in split] for split in usual_splits(name).values()]
    texts = [read(problem.text) for split in splits for problem in split]
    assert len(set(texts)) == len(texts)
    assert not any(goal <= init for init, goal in texts)
    assert all(len({problem.name for problem in split}) == len(split) for split in splits)


@pytest.mark.parametrize("name", DOMAINS)
def test_no_problem_occurs_in_two_splits_even_renamed(name: str) -> None:
    forms = [{one.canonical for _, one in split} for split in usual_splits(name).values()]
    for some, others in itertools.combinations(forms, 2):
        assert some and others and not some & others


def test_only_exhausted_sizes_are_replaced() -> None:
    gripper, visitall = usual_splits("gripper"), usual_splits("visitall")
    assert tuple(map(len, gripper.values())) == COUNTS["gripper"]
    assert tuple(map(len, visitall.values())) == COUNTS["visitall"]
    for asked, problem in gripper["train"] + gripper["validation"]:
        assert problem.parameters == asked or asked == {"balls": 2}
        assert 2 <= problem.parameters["balls"] <= 10
    for asked, problem in visitall["train"] + visitall["validation"]:
        assert problem.parameters["side"] == asked["side"]
        assert problem.parameters == asked or asked["ratio"] == 1.0
    for asked, problem in gripper["test"] + visitall["test"]:
        assert problem.parameters == asked


def test_exhausted_sizes_give_way_to_larger_ones() -> None:
    gripper = DOMAINS["gripper"]
    drawn = draw_split(gripper, "train", gripper.plan("train", {"balls": [1]}, 30))
    assert len({problem.digest for _, problem in drawn}) == 30
    sizes = Counter(problem.parameters["balls"] for _, problem in drawn)
    assert 0 < sizes[1] <= 4 and set(sizes) <= {1, 3, 5, 7}


def all_gripper_problems(balls: int) -> Iterator[Instance]:
    rooms = ("rooma", "roomb")
    names = [f"ball{number}" for number in range(balls)]
    for robot, *places in itertools.product(rooms, repeat=1 + 2 * balls):
        yield Instance(
            objects={"": (*rooms, *names)},
            init=(
                ("at-robby", robot),
                *(("at", ball, room) for ball, room in zip(names, places, strict=False)),
            ),
            goal=tuple(
                ("at", ball, room) for ball, room in zip(names, places[balls:], strict=True)
            ),
        )


def renamed(instance: Instance, renaming: dict[str, str]) -> Instance:
    def rename(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(renaming.get(word, word) for word in words)

    return Instance(
        objects={kind: rename(names) for kind, names in instance.objects.items()},
        init=tuple(map(rename, instance.init)),
        goal=tuple(map(rename, instance.goal)),
    )


def test_canonical_forms_are_the_classes_of_renamings() -> None:
    unsolved = [one for one in all_gripper_problems(2) if not one.solved]
    assert len(unsolved) == 24
    classes = set()
    for one in unsolved:
        rooms, balls = ("rooma", "roomb"), ("ball0", "ball1")
        classes.add(
            frozenset(
                renamed(one, dict(zip(rooms + balls, a + b, strict=True))).digest()
                for a in itertools.permutations(rooms)
                for b in itertools.permutations(balls)
            )
        )
    forms = {one.digest(): canonical_form(one) for one in unsolved}
    assert len(set(forms.values())) == len(classes) == 7
    assert all(len({forms[digest] for digest in alike}) == 1 for alike in classes)


@given(st.sampled_from(sorted(DOMAINS)), st.randoms(use_true_random=False))
def test_renaming_and_reordering_keep_the_form(name: str, rng: random.Random) -> None:
    generator = DOMAINS[name]
    instance = generator.sample(generator.splits["train"].sizes[0], rng)
    names = [one for group in instance.objects.values() for one in group]
    new = [f"x{number}" for number in range(len(names))]
    rng.shuffle(new)
    other = renamed(instance, dict(zip(names, new, strict=True)))
    shuffled = Instance(
        objects={kind: tuple(sorted(group)) for kind, group in other.objects.items()},
        init=tuple(rng.sample(other.init, len(other.init))),
        goal=tuple(rng.sample(other.goal, len(other.goal))),
    )
    assert canonical_form(shuffled) == canonical_form(instance)
    assert owner(generator, shuffled, canonical_form(shuffled)) == owner(
        generator, instance, canonical_form(instance)
    )


def test_the_owner_does_not_depend_on_what_was_asked_for() -> None:
    """A full grid can come from ratio 1 and from ratio 0.99; it stays in its split."""
    visitall = DOMAINS["visitall"]
    owners: dict[str, set[str]] = {}
    forms: dict[str, str] = {}
    for ratio, split, seed in itertools.product((0.99, 1.0), SPLITS, range(15)):
        drawn = draw(visitall, {"side": 6, "ratio": ratio}, split, seed, 0, forms)
        if drawn is not None:
            owners.setdefault(drawn.canonical, set()).add(split)
    assert all(len(splits) == 1 for splits in owners.values())


@pytest.mark.parametrize(("blocks", "states"), [(1, 1), (2, 3), (3, 13), (4, 73), (5, 501)])
def test_numbers_of_blocksworld_states(blocks: int, states: int) -> None:
    assert completions(blocks)[blocks][0] == states


def test_blocksworld_states_are_uniform() -> None:
    rng = random.Random(0)
    seen = Counter(
        tuple(sorted(map(tuple, random_state(("a", "b", "c"), rng)))) for _ in range(13_000)
    )
    assert len(seen) == 13
    assert all(850 < count < 1_150 for count in seen.values())  # 1000 +- 5 standard deviations


def test_sliding_tiles_draw_all_solvable_boards_and_no_others() -> None:
    goal = tuple(range(6))  # two rows, three columns, the gap is 5
    reached, waiting = {goal}, [goal]
    while waiting:
        board = list(waiting.pop())
        gap = board.index(5)
        for other in range(6):
            if abs(gap // 3 - other // 3) + abs(gap % 3 - other % 3) == 1:
                moved = board.copy()
                moved[gap], moved[other] = moved[other], moved[gap]
                if tuple(moved) not in reached:
                    reached.add(tuple(moved))
                    waiting.append(tuple(moved))
    rng = random.Random(0)
    assert {tuple(random_board(2, 3, rng)) for _ in range(6_000)} == reached
    assert len(reached) == 360


def test_parking_draws_all_arrangements() -> None:
    rng = random.Random(0)
    seen = {
        tuple(map(tuple, random_rows(("x", "y", "z"), ("a", "b", "c"), rng).values()))
        for _ in range(3_000)
    }
    assert len(seen) == 42  # 6 with one car each, 36 with two cars at a curb


def test_visitall_grids() -> None:
    init, goal = read(regenerate("visitall", {"side": 4, "ratio": 1.0}, "train", 1, 0))
    joined = {tuple(atom[1:-1].split()[1:]) for atom in init if "connected" in atom}
    assert len(joined) == 2 * 2 * 4 * 3 and all((b, a) in joined for a, b in joined)
    assert len(goal) == 16
    for seed in range(20):
        init, goal = read(regenerate("visitall", {"side": 3, "ratio": 0.01}, "train", seed, 0))
        (start,) = (atom for atom in init if "visited" in atom)
        assert start in goal and len(goal) >= 2


def test_satellite_images_can_be_taken() -> None:
    for seed in range(20):
        size = DOMAINS["satellite"].splits["train"].sizes[-1]
        init, goal = read(regenerate("satellite", size, "train", seed, 0))
        supported = {atom[1:-1].split()[2] for atom in init if "supports" in atom}
        assert {atom[1:-1].split()[2] for atom in goal if "have_image" in atom} <= supported


def test_regenerate_gives_the_problem_again_and_others_in_its_place(tmp_path: Path) -> None:
    generate("ferry", tmp_path, ["train"], count=30, ranges={"locations": [2, 3]})
    manifest = json.loads((tmp_path / "train/manifest.json").read_text())
    forms = set()
    for entry in manifest["problems"]:
        text = (tmp_path / "train" / entry["file"]).read_text()
        assert hashlib.sha256(text.encode()).hexdigest() == entry["digest"]
        again = [
            regenerate("ferry", entry["parameters"], "train", entry["seed"], retry)
            for retry in range(4)
        ]
        assert again[0] == text and entry["retry"] == 0
        assert len(set(again)) == 4
        assert all(f"(car c{entry['parameters']['cars'] - 1})" in text for text in again)
        forms.add(entry["canonical"])
    assert len(manifest["problems"]) == 30 and len(forms) > 15


ONE_LOCATION = dict.fromkeys(("airplanes", "cities", "locations", "packages"), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fery", {"locations": 2, "cars": 2}, "train", 1, 0), "unknown domain 'fery'"),
        (("ferry", {"locations": 2}, "train", 1, 0), "parameters locations, cars, not locations"),
        (("ferry", {"locations": 2, "cars": 0}, "train", 1, 0), "from 1 to 1000, not 0"),
        (("ferry", {"locations": 2, "cars": 2}, "tests", 1, 0), "unknown split 'tests'"),
        (("parking", {"curbs": 3, "cars": 5}, "train", 1, 0), "at most 4 cars, not 5"),
        (("logistics", ONE_LOCATION, "train", 1, 0), "has no problem of size"),
    ],
)
def test_regenerate_says_what_is_wrong(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regenerate(*arguments)


def test_sizes_and_counts() -> None:
    blocks = DOMAINS["blocksworld"]
    assert blocks.plan("train", {"blocks": [3, 4, 5, 6]}, 60) == [
        ({"blocks": number}, 15) for number in (3, 4, 5, 6)
    ]
    assert [size["blocks"] for size, _ in blocks.plan("train", count=4)] == [5, 8, 11, 14]
    ferry = DOMAINS["ferry"].plan("train", {"cars": [7]})
    assert [tuple(size.values()) for size, _ in ferry] == [(number, 7) for number in range(2, 7)]
    with pytest.raises(ValueError, match="ferry has no parameter 'blocks'"):
        DOMAINS["ferry"].plan("train", {"blocks": [3]})


def test_generators_from_elsewhere() -> None:
    assert DOMAINS.find("hstar.domains.ferry:GENERATOR") is DOMAINS["ferry"]
    for name in ("nowhere:GENERATOR", "hstar.domains.ferry:NOTHING", "hstar.domains.ferry:DOMAIN"):
        with pytest.raises(ValueError, match=name):
            DOMAINS.find(name)


SNAPSHOT = """
import hashlib
from hstar.domains import DOMAINS, regenerate
for name, generator in DOMAINS.items():
    text = regenerate(name, generator.splits["train"].sizes[-1], "train", 1, 0)
    print(name, hashlib.sha256(text.encode()).hexdigest()[:16])
"""


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_problems_are_the_same_everywhere(hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SNAPSHOT],
        env=environment({"PYTHONHASHSEED": hash_seed}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert dict(line.split() for line in done.stdout.splitlines()) == GOLDEN


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


def test_the_command_writes_folders(tmp_path: Path) -> None:
    arguments = ["--split", "train", "--blocks", "3-6", "--count", "8"]
    done = hstar("generate", "blocksworld", "-o", tmp_path / "new/dir", *arguments)
    assert (done.code, done.out) == (0, f"train: 8 problems in {tmp_path}/new/dir/train\n")
    names = sorted(path.name for path in (tmp_path / "new/dir/train").glob("blocks*.pddl"))
    assert names == [f"blocks0{n}-seed00{s}.pddl" for n in (3, 4, 5, 6) for s in (1, 2)]


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
