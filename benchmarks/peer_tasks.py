"""The tasks of the speed table, chosen by what they cost Fast Downward on one core.

A rate over a search of a few milliseconds is noise, and a search that never ends wastes the
reader's time; the comments say which range a list was chosen for. Paths are below the suites.
"""

from __future__ import annotations

LT = "ipc23lt/{}/testing/{}/{}.pddl".format

GBFS_TASKS = [  # h^FF, 0.2 s to the limit of 20 s
    LT("blocksworld", "easy", "p15"),
    LT("blocksworld", "medium", "p05"),
    LT("ferry", "medium", "p15"),
    LT("satellite", "medium", "p01"),
    LT("rovers", "medium", "p01"),
    LT("miconic", "hard", "p01"),
    LT("transport", "medium", "p01"),
    "ipc/parking-sat11-strips/pfile08-031.pddl",
    "ipc/depot/p07.pddl",
    "ferber/moderate/visitall-opt14-strips/p-1-14/p1.pddl",
]
LMCUT_TASKS = [  # A*, 1 s to 30 s
    "ipc/depot/p03.pddl",
    "ipc/satellite/p07-pfile7.pddl",
    "ipc/gripper/prob05.pddl",
    "ipc/transport-opt11-strips/p04.pddl",
    "ipc/pegsol-opt11-strips/p09.pddl",
    "ipc/parking-opt11-strips/pfile03-011.pddl",
    "ipc/scanalyzer-08-strips/p03.pddl",
]
BLIND_TASKS = [  # 1 to 3.4 million states
    "ipc/gripper/prob06.pddl",
    "ipc/depot/p03.pddl",
    "ipc/driverlog/p04.pddl",
    "ipc/zenotravel/p06.pddl",
    "ipc/elevators-opt11-strips/p04.pddl",
    LT("sokoban", "easy", "p19"),
]
GROUND_DOMAINS = [
    "blocksworld",
    "childsnack",
    "ferry",
    "floortile",
    "miconic",
    "rovers",
    "satellite",
    "sokoban",
    "spanner",
    "transport",
]
PYPERPLAN_TASKS = [
    LT("blocksworld", "easy", "p15"),
    LT("rovers", "medium", "p01"),
    LT("miconic", "hard", "p01"),
    LT("transport", "medium", "p01"),
    "ipc/depot/p07.pddl",
    "ipc/satellite/p07-pfile7.pddl",
]
FIRST_PLAN_TASKS = [
    LT("blocksworld", "easy", "p15"),
    LT("blocksworld", "medium", "p05"),
    LT("ferry", "medium", "p15"),
    LT("miconic", "medium", "p15"),
    LT("miconic", "hard", "p01"),
    LT("rovers", "medium", "p05"),
    LT("satellite", "medium", "p15"),
    LT("satellite", "medium", "p01"),
    LT("transport", "medium", "p05"),
    LT("transport", "medium", "p15"),
    "ipc/depot/p07.pddl",
    "ipc/parking-sat11-strips/pfile08-031.pddl",
]
