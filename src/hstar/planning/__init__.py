"""What can be searched (task.py, puzzle.py), heuristics, algorithms, and search itself.

A state is int32[V] in tasks and puzzles. In a puzzle (cubes, sliding tiles, pancakes, TopSpin)
variable i says where piece i is, as location * orientations + orientation.
"""
