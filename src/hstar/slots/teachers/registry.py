"""TEACHERS: where labels come from. To add a teacher, write its file and a line here.

A teacher outside the package is an object of the class Teacher. Name it as `module:attribute`, or
register it as an entry point of the group "hstar.teachers".
"""

from __future__ import annotations

from hstar.runtime.registry import Registry, of_class
from hstar.slots.teachers.teacher import Teacher

TEACHERS: Registry[Teacher] = Registry(
    "teacher",
    {
        "optimal": "hstar.slots.teachers.plans:OPTIMAL",
        "siblings": "hstar.training.teachers.siblings:TEACHER",
        "plans": "hstar.slots.teachers.plans:PLANS",
        "planner": "hstar.slots.teachers.plans:PLANNER",
        "exhaustive": "hstar.slots.teachers.exhaustive:TEACHER",
        "regression": "hstar.slots.teachers.regression:WALKS",
        "fsm": "hstar.slots.teachers.regression:FOCUSED",
        "given-states": "hstar.slots.teachers.given_states:TEACHER",
        "bootstrap": "hstar.training.teachers.bootstrap:TEACHER",
        "value-iteration": "hstar.training.teachers.value_iteration:TEACHER",
        "rollouts": "hstar.training.teachers.rollouts:TEACHER",
    },
    "hstar.teachers",
    of_class(Teacher),
)
