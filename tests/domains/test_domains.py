"""GeneratedProblem generators: what they draw, from the text of a problem to sizes and counts."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from drawn_problems import read
from program import python

from hstar import search
from hstar.domains import DOMAINS, generate, regenerate
from hstar.domains.blocksworld import completions, random_state
from hstar.domains.parking import random_rows
from hstar.domains.sliding_tiles import random_board
from hstar.pddl import parse
from hstar.planning.task import ground

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
    for name in ("nowhere:GENERATOR", "hstar.domains.ferry:NOTHING", "hstar.domains.ferry:SUMMARY"):
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
    said = python(SNAPSHOT, changes={"PYTHONHASHSEED": hash_seed})
    assert dict(line.split() for line in said.splitlines()) == GOLDEN
