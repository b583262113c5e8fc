"""The tasks of the speed table, chosen by what they cost Fast Downward on one core.

A rate over a search of a few milliseconds is noise, and a search that never ends wastes the
reader's time; the comments say which range a list was chosen for. Paths are below the suites.
"""

from __future__ import annotations

LT = "ipc23lt/{}/testing/{}/{}.pddl".format

# h^FF, 0.2 s to the limit of 20 s.
GBFS_TASKS = [
    "ipc23lt/blocksworld/testing/easy/p15.pddl",
    "ipc23lt/blocksworld/testing/medium/p05.pddl",
    "ipc23lt/ferry/testing/medium/p15.pddl",
    "ipc23lt/satellite/testing/medium/p01.pddl",
    "ipc23lt/rovers/testing/medium/p01.pddl",
    "ipc23lt/miconic/testing/hard/p01.pddl",
    "ipc23lt/transport/testing/medium/p01.pddl",
    "ipc/parking-sat11-strips/pfile08-031.pddl",
    "ipc/depot/p07.pddl",
    "ferber/moderate/visitall-opt14-strips/p-1-14/p1.pddl",
]
# A*, 1 s to 30 s.
LMCUT_TASKS = [
    "ipc/depot/p03.pddl",
    "ipc/satellite/p07-pfile7.pddl",
    "ipc/gripper/prob05.pddl",
    "ipc/transport-opt11-strips/p04.pddl",
    "ipc/pegsol-opt11-strips/p09.pddl",
    "ipc/parking-opt11-strips/pfile03-011.pddl",
    "ipc/scanalyzer-08-strips/p03.pddl",
]
# 1 to 3.4 million states.
BLIND_TASKS = [
    "ipc/gripper/prob06.pddl",
    "ipc/depot/p03.pddl",
    "ipc/driverlog/p04.pddl",
    "ipc/zenotravel/p06.pddl",
    "ipc/elevators-opt11-strips/p04.pddl",
    "ipc23lt/sokoban/testing/easy/p19.pddl",
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
    "ipc23lt/blocksworld/testing/easy/p15.pddl",
    "ipc23lt/rovers/testing/medium/p01.pddl",
    "ipc23lt/miconic/testing/hard/p01.pddl",
    "ipc23lt/transport/testing/medium/p01.pddl",
    "ipc/depot/p07.pddl",
    "ipc/satellite/p07-pfile7.pddl",
]
FIRST_PLAN_TASKS = [
    "ipc23lt/blocksworld/testing/easy/p15.pddl",
    "ipc23lt/blocksworld/testing/medium/p05.pddl",
    "ipc23lt/ferry/testing/medium/p15.pddl",
    "ipc23lt/miconic/testing/medium/p15.pddl",
    "ipc23lt/miconic/testing/hard/p01.pddl",
    "ipc23lt/rovers/testing/medium/p05.pddl",
    "ipc23lt/satellite/testing/medium/p15.pddl",
    "ipc23lt/satellite/testing/medium/p01.pddl",
    "ipc23lt/transport/testing/medium/p05.pddl",
    "ipc23lt/transport/testing/medium/p15.pddl",
    "ipc/depot/p07.pddl",
    "ipc/parking-sat11-strips/pfile08-031.pddl",
]
