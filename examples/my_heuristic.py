"""A heuristic of your own: how many goals are open, plus how many of their variables never moved.

    hstar plan domain.pddl problem.pddl -H my_heuristic:OpenGoals -s astar
    hstar bench problems -H my_heuristic:OpenGoals ff -o runs.parquet

A class is made with the space, once per search. Its objects are called with states int32[B, V] and
return B numbers: a whole batch at once, because Python is slow per call.
"""

import numpy as np


class OpenGoals:
    def __init__(self, task):
        self.variables = np.array([variable for variable, _ in task.goal])
        self.values = np.array([value for _, value in task.goal])
        self.start = task.initial_state[self.variables]

    def __call__(self, states):
        now = states[:, self.variables]
        is_open = now != self.values
        return (is_open.sum(axis=1) + (is_open & (now == self.start)).sum(axis=1)).astype(float)
