"""Nothing that Python code passes to the core, or does meanwhile, ends the process."""

from __future__ import annotations

import pickle
import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_tasks import large_search, write_task
from program import python
from small_domains import problem_text

import hstar
from hstar.pdb import PatternDatabase, PdbHeuristic, build_pdb
from hstar.planning.puzzle import make_puzzle
from hstar.planning.task import Task
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.pattern_network import read_learned
from hstar.training.certified.sweep import Sweep, SweepOptions

MODEL = Path(__file__).parents[2] / "models" / "6-edge.safetensors"
DONE = """(define (domain done) (:predicates (done))
(:action finish :parameters () :effect (done)))
"""


def test_more_states_than_the_core_can_count(tmp_path: Path) -> None:
    """A task without variables has states of no bytes, so there may be any number of them."""
    paths = write_task(tmp_path, DONE, problem_text("done", "", ["(done)"], ["(done)"]))
    task = hstar.load_task(*paths)
    assert task.num_variables == 0
    states = np.zeros((2**32 + 1, 0), np.int32)
    heuristic = hstar.make_heuristic(task, "ff")
    for call in (heuristic.evaluate, heuristic.preferred_operators, heuristic.plan_features):
        with pytest.raises(ValueError, match=r"too many states at once: 4294967297; split"):
            call(states)


CHANGING = """
import sys, threading
import numpy as np
import hstar
from hstar.pdb import build_pdb
from hstar.planning.puzzle import make_puzzle
task = hstar.load_task(sys.argv[1], sys.argv[2])
cube = make_puzzle("cube2")
pancakes = make_puzzle("pancake-7")
database = build_pdb(pancakes, (0, 1, 2, 3))
pairs = [
    (hstar.make_heuristic(task, "goalcount").evaluate, task.initial_state),
    (hstar.make_heuristic(task, "ff").evaluate, task.initial_state),
    (database.lookup, pancakes.goal),
    (pancakes.rank, pancakes.goal),
    (lambda states: cube.apply(states, 0), cube.goal),
]
running = True
def change(states, good):
    while running:
        states[:] = 2_000_000_000
        states[:] = good
for call, good in pairs:
    states = np.repeat(good[None], 20_000, axis=0)
    running = True
    thread = threading.Thread(target=change, args=(states, good))
    thread.start()
    for _ in range(40):
        try:
            call(states)
        except ValueError:
            pass
    running = False
    thread.join()
print("alive")
"""


def test_states_that_another_thread_changes(tmp_path: Path) -> None:
    assert python(CHANGING, *large_search(tmp_path, blocks=6)) == "alive\n"


SWEEP = """
import sys
import numpy as np
from hstar import _core
from hstar.slots.pattern_network import read_learned
from hstar.pdb import PatternDatabase
from hstar.planning.puzzle import make_puzzle
model = read_learned(sys.argv[1], need_certificate=False).model
space = make_puzzle("cube3")
table = np.zeros(model.layout.cells // 2, np.uint8)
exact = PatternDatabase(model.layout, table).bind(space)
def counts(threads):
    order = _core.SweepOrder(0, 20_000, threads, 512, 0, 0)
    return model.bind(space).count_values(exact, order)["classes"].tolist()
print(counts(20) == counts(1))
"""


def test_threads_that_cannot_start_are_not_needed() -> None:
    """A thread gets a stack as large as the main one may become: here, more than there can be."""
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        pytest.skip("the system limits stacks")
    huge = (2**47, resource.RLIM_INFINITY)
    said = python(
        SWEEP,
        MODEL,
        changes={"OPENBLAS_NUM_THREADS": "1"},
        prepare=lambda: resource.setrlimit(resource.RLIMIT_STACK, huge),
    )
    assert said == "True\n"


def test_a_sweep_keeps_its_limits_within_a_range() -> None:
    model = read_learned(MODEL, need_certificate=False).model
    table = np.zeros(model.layout.cells // 2, np.uint8)
    exact = PatternDatabase(model.layout, table)
    options = SweepOptions(1, 2**30, budget=Budget(deadline=1e-9))  # spent long ago
    sweep = Sweep(exact, make_puzzle("cube3"), options)
    for work in (
        lambda: sweep.count_values(model),
        lambda: sweep.find_overestimates(model),
        lambda: sweep.count_levels(model, [1, 2]),
    ):
        with pytest.raises(OutOfResources, match="out of time"):
            work()


def initial_atoms(task: Task) -> list[str]:
    return task.atoms(task.initial_state)


def test_tasks_travel_to_other_processes(tmp_path: Path) -> None:
    task = hstar.load_task(*large_search(tmp_path, blocks=4), keep_irrelevant=True)
    copy = pickle.loads(pickle.dumps(task))
    assert copy.domain_sizes == task.domain_sizes
    assert [copy.operator_name(i) for i in range(copy.num_operators)] == [
        task.operator_name(i) for i in range(task.num_operators)
    ]
    (tmp_path / "problem.pddl").unlink()  # the files are not read again
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(initial_atoms, task).result() == initial_atoms(task)
    heuristic = hstar.make_heuristic(task, "ff")
    again = pickle.loads(pickle.dumps(heuristic))
    assert again.evaluate(task.initial_state) == heuristic.evaluate(task.initial_state)
    puzzle = pickle.loads(pickle.dumps(make_puzzle("pancake-5")))
    assert puzzle.name == "pancake-5"
    database = build_pdb(make_puzzle("pancake-6"), (0, 1))
    database.lookup(make_puzzle("pancake-6").goal)
    assert np.array_equal(pickle.loads(pickle.dumps(database)).table, database.table)


def test_what_is_shown_of_objects(tmp_path: Path) -> None:
    task = hstar.load_task(*large_search(tmp_path, blocks=4))
    shown = f"<Task {task.problem.name} of {task.problem.domain.name}: 9 variables, "
    assert repr(task).startswith(shown)
    assert repr(hstar.make_heuristic(task, "ff", "one")).startswith(
        f"<MadeHeuristic ff, cost one, of {shown}"
    )
    assert repr(make_puzzle("cube2")) == "Puzzle('cube2')"
    database = build_pdb(make_puzzle("pancake-6"), (0, 1))
    assert repr(database) == "<PatternDatabase pancake-6:0,1, 30 entries of 4 bits>"
    assert repr(PdbHeuristic([database])) == "<PdbHeuristic pancake-6:0,1>"


class CountedSlices(list[int]):
    """Counts the items that slices copy."""

    copied = 0

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(index, slice):
            self.copied += len(found)
        return found


def test_atoms_look_at_each_variable_once(tmp_path: Path) -> None:
    task = hstar.load_task(*large_search(tmp_path, blocks=30))
    task.domain_sizes = sizes = CountedSlices(task.domain_sizes)
    assert len(task.atoms(task.initial_state)) == 61
    assert sizes.copied <= len(sizes)
