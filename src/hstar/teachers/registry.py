"""TEACHERS: where labels come from. To add a teacher, write its file and a line here.

A teacher outside the package is an object of the class Teacher. Name it as `module:attribute`, or
register it as an entry point of the group "hstar.teachers".
"""

from __future__ import annotations

from hstar.runtime.registry import Registry, of_class
from hstar.teachers.teacher import Teacher

TEACHERS: Registry[Teacher] = Registry(
    "teacher",
    {
        "optimal": "hstar.teachers.optimal:TEACHER",
        "plans": "hstar.teachers.plans:TEACHER",
        "exhaustive": "hstar.teachers.exhaustive:TEACHER",
        "regression": "hstar.teachers.regression:ROLLOUTS",
        "fsm": "hstar.teachers.regression:FOCUSED",
        "given-states": "hstar.teachers.given_states:TEACHER",
        "bootstrap": "hstar.learning.bootstrap:TEACHER",
        "value-iteration": "hstar.learning.value_iteration:TEACHER",
        "rollouts": "hstar.learning.rollout_labels:TEACHER",
    },
    "hstar.teachers",
    of_class(Teacher),
)
