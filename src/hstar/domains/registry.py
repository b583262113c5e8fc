"""DOMAINS: generators of problems by name. To add one, write its module, the PDDL of the domain
beside it, and its name here."""

from __future__ import annotations

from importlib import import_module

from hstar.domains.generator import Generator
from hstar.runtime.registry import Registry, of_class

FILES = (
    *("blocksworld", "ferry", "gripper", "visitall", "logistics", "miconic", "parking"),
    *("satellite", "sliding_tiles"),
)
_GENERATORS = [import_module(f"hstar.domains.{name}").GENERATOR for name in FILES]

DOMAINS: Registry[Generator] = Registry(
    "domain", {one.name: one for one in _GENERATORS}, "hstar.domains", of_class(Generator)
)
