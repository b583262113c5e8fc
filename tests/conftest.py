"""Fixtures that several files share: labels, tasks, puzzles, folders, one thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hstar.pdb import PatternDatabase
    from hstar.planning.puzzle import Puzzle
    from hstar.planning.task import Task
    from hstar.training.dataset import Dataset


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the tests marked exhaustive as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    left_out = [item for item in items if item.get_closest_marker("exhaustive")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]


def _with_one_thread() -> Iterator[None]:
    """For small networks: threads that wait for each other on a busy machine take longest."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


one_thread = pytest.fixture(_with_one_thread)
one_thread_in_module = pytest.fixture(scope="module")(_with_one_thread)


@pytest.fixture(scope="session")
def cube() -> Puzzle:
    from hstar.planning.puzzle import make_puzzle

    return make_puzzle("cube3")


@pytest.fixture(scope="session")
def corners() -> PatternDatabase:
    """Of the 3x3x3 cube: 88 million states."""
    from small_patterns import database_of

    return database_of("cube3", "corners")


@pytest.fixture(scope="session")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six blocksworld problems with 3 and 4 blocks."""
    from label_folders import generated
    from small_trainings import LABELLING

    from hstar.slots.teachers import label

    folder = tmp_path_factory.mktemp("blocks")
    label(generated(folder, "3-4", count=6), folder / "blocks.parquet", LABELLING)
    return folder / "blocks.parquet"


@pytest.fixture(scope="session")
def other_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two problems of another domain."""
    from label_folders import write_folder
    from small_trainings import LABELLING

    from hstar.slots.teachers import label

    folder = tmp_path_factory.mktemp("gripper")
    label(write_folder(folder / "p", "gripper", count=2), folder / "gripper.parquet", LABELLING)
    return folder / "gripper.parquet"


@pytest.fixture(scope="session")
def dataset(labels: Path) -> Dataset:
    from hstar.training.dataset import load_dataset

    return load_dataset(labels)


@pytest.fixture
def parcels(tmp_path: Path) -> Path:
    """A folder with a good domain and a good problem."""
    from hard_tasks import write_task
    from pddl_mistakes import DOMAIN, PROBLEM

    write_task(tmp_path, DOMAIN, PROBLEM)
    return tmp_path


@pytest.fixture(scope="session")
def towers() -> Task:
    from example_tasks import STRIPS

    from hstar import load_task

    return load_task(*STRIPS)
