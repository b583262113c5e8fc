"""What can be searched (task.py, puzzle.py), heuristics, algorithms, and search itself.

A state is int32[V] in tasks and puzzles. In a puzzle (cubes, sliding tiles, pancakes, TopSpin)
variable i says where piece i is, as location * orientations + orientation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.planning.puzzle import Puzzle as Puzzle
    from hstar.planning.puzzle import make_puzzle as make_puzzle
    from hstar.planning.result import SearchResult as SearchResult
    from hstar.planning.search import plan_problem as plan_problem
    from hstar.planning.specification import DEFAULT_PLANNER as DEFAULT_PLANNER
    from hstar.planning.specification import SearchSpecification as SearchSpecification
    from hstar.planning.task import Task as Task
    from hstar.planning.task import ground as ground

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
