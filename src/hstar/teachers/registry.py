"""TEACHERS: where labels come from. To add a teacher, write its file and a line here.

A teacher outside the package is an object of the class Teacher. Name it as `module:attribute`, or
register it as an entry point of the group "hstar.teachers".
"""

from __future__ import annotations

from typing import Any

from hstar.runtime.registry import Registry
from hstar.teachers.teacher import Teacher


def _adopt(name: str, found: Any) -> Teacher:
    if not isinstance(found, Teacher):
        raise ValueError(f"'{name}' is not an object of the class hstar.teachers.Teacher")
    return found


TEACHERS: Registry[Teacher] = Registry(
    "teacher",
    {
        "optimal": "hstar.teachers.optimal:TEACHER",
        "plans": "hstar.teachers.plans:TEACHER",
        "exhaustive": "hstar.teachers.exhaustive:TEACHER",
    },
    "hstar.teachers",
    _adopt,
)
