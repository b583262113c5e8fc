"""What problems are for, which ones are of use, and ladders of growing ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hard_tasks import large_grounding, write_task
from label_folders import write_folder
from small_domains import BLOCKS, problem_text

from hstar.domains.walks import walk_states
from hstar.learning.options import LearnOptions
from hstar.learning.pipeline import learn
from hstar.learning.race import FIRST_RUNG, Ladder, problem_starts
from hstar.learning.recipe import RECIPES
from hstar.learning.split import split, usable_tasks
from hstar.pddl import parse
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER
from hstar.planning.task import Task, ground, load_task
from hstar.runtime.resources import Budget, OutOfResources


def tasks_in(folder: Path) -> list[Task]:
    return [load_task(folder / "domain.pddl", path) for path in sorted(folder.glob("p*.pddl"))]


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    return tasks_in(write_folder(tmp_path / "problems", "blocks", 10))


def names(ladder: Ladder) -> list[str]:
    return [start.problem.name + str(start.problem.path) for start in ladder.starts]


@pytest.mark.parametrize("most", [2, 100])
def test_the_largest_problems_choose_and_judge(tasks: list[Task], most: int) -> None:
    for count in range(3, len(tasks) + 1):
        parts = split(tasks[:count], most, 0, Budget())
        choice, verdict = names(parts.choice), names(parts.verdict)
        assert choice and verdict and not set(choice) & set(verdict)
        assert len(parts.training) + len(choice) + len(verdict) == count
        assert len(choice) + len(verdict) <= most or most == 2
        sizes = [[len(p.objects) for p in some] for some in (
            [task.problem for task in parts.training],
            *([start.problem for start in ladder.starts]
              for ladder in (parts.choice, parts.verdict)),
        )]  # fmt: skip
        assert all(part == sorted(part) for part in sizes)
        assert sizes[0][-1] <= min(sizes[1][0], sizes[2][0])
        assert parts.others and not {id(t) for t in parts.others} & {id(t) for t in parts.training}


@pytest.mark.parametrize("count", [1, 2])
def test_states_stand_for_problems_where_there_are_too_few(tasks: list[Task], count: int) -> None:
    parts = split(tasks[-count:], 100, 3, Budget())
    assert len(parts.training) == count and parts.text.endswith("others for the verdict")
    chosen, judged = ({start.state for start in ladder.starts} for ladder in (
        parts.choice, parts.verdict))  # fmt: skip
    assert chosen and judged and not chosen & judged and None not in chosen | judged
    rungs = [parts.choice.rung(number) for number in (0, 1, 2)]
    assert rungs[0] is not None and rungs[2] is None
    again = split(tasks[-count:], 100, 3, Budget())
    assert {start.state for start in again.choice.starts} == chosen


def test_walk_states_are_new_and_no_goals(tasks: list[Task]) -> None:
    task = tasks[-1]
    states = walk_states(task, 20, 3, Budget())
    assert 1 <= len(states) <= 20
    assert len({state.tobytes() for state in states}) == len(states)
    assert not any(task.is_goal(state) for state in states)
    assert not any(np.array_equal(state, task.initial_state) for state in states)
    others = walk_states(task, 8, 3, Budget(), but=states)
    assert not {state.tobytes() for state in others} & {state.tobytes() for state in states}


def test_rungs_double(tasks: list[Task]) -> None:
    problems = [task.problem for task in tasks]
    ladder = Ladder("verdict", problem_starts("verdict", problems), 0)
    first = ladder.rung(0)
    assert first is not None and [s.problem for s in first.starts] == problems[-FIRST_RUNG:]
    found = set()
    number = 1
    while (rung := ladder.rung(number)) is not None:
        for start in rung.starts:
            found.add(start.name)
            assert start.is_union and start.problem.name.count(" + ") == 2**number - 1
        number += 1
    assert number > 3 and len(found) == 3 * (number - 1)
    again, before = ladder.rung(2), ladder.rung(2)
    assert again is not None and before is not None
    assert [s.problem.objects for s in again.starts] == [s.problem.objects for s in before.starts]
    assert run(ground(again.starts[0].problem), DEFAULT_PLANNER, Budget()).solved
    second = ladder.rung(0, draw=1)
    assert second is not None and [s.problem for s in second.starts] == problems[:-FIRST_RUNG]
    assert ladder.rung(0, draw=2) is None and ladder.rung(1, draw=2) is not None


def test_problems_that_teach_nothing_are_counted(tmp_path: Path) -> None:
    init = ["(ontable a)", "(ontable b)", "(clear a)", "(clear b)"]  # "never" has no free hand
    starts = {"solved": ["(on a b)"], "never": [], "good": ["(handempty)"]}
    problems = {}
    for name, more in starts.items():
        (tmp_path / name).mkdir()
        text = problem_text("blocks", "a b", [*init, *more], ["(on a b)"])
        problems[name] = load_task(*write_task(tmp_path / name, BLOCKS, text)).problem
    said: list[str] = []
    every = [problems[name] for name in ("solved", "never", "good", "never")]
    assert len(usable_tasks(every, Budget(), said.append)) == 1
    assert said == ["left out: 1 already solved, 2 without a plan"]
    with pytest.raises(ValueError, match="no problem to learn from: 1 without a plan"):
        usable_tasks([problems["never"]], Budget(), said.append)


def test_a_problem_too_large_to_ground_is_left_out(tmp_path: Path) -> None:
    giant = parse(*large_grounding(tmp_path))
    with pytest.raises(ValueError, match="1 too large to ground"):
        usable_tasks([giant], Budget(), lambda _: None, each=0.3)
    with pytest.raises(OutOfResources, match="out of time"):  # the time of all is over
        usable_tasks([giant], Budget.starting_now(0.3, None), lambda _: None)
    with pytest.raises(OutOfResources, match="out of memory"):
        usable_tasks([giant], Budget(memory_bytes=1), lambda _: None)


def test_one_problem_may_take_all_the_time_to_ground(tmp_path: Path) -> None:
    """There is nothing else to learn from."""
    giant = parse(*large_grounding(tmp_path))
    with pytest.raises(OutOfResources, match="out of time"):
        learn([giant], RECIPES["problem"], LearnOptions(seconds=1.0), Budget())
