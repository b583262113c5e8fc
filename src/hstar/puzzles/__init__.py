"""Puzzles: cubes, sliding tiles, pancakes, TopSpin; spaces whose states can be numbered.

A state is int32[V], as in a planning task: variable i says where piece i is, as
location * orientations + orientation.
"""

from hstar.puzzles.puzzle import Group, Puzzle, make_puzzle
from hstar.puzzles.solving import PUZZLE_ALGORITHMS, solve

__all__ = ["PUZZLE_ALGORITHMS", "Group", "Puzzle", "make_puzzle", "solve"]
