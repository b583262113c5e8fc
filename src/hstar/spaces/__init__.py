"""What can be searched: planning tasks (task.py) and puzzles (puzzle.py).

A state is int32[V] in both. In a puzzle (cubes, sliding tiles, pancakes, TopSpin) variable i says
where piece i is, as location * orientations + orientation.
"""
