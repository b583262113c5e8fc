"""DOMAINS: generators of problems by name. To add one, write its file and a line here."""

from __future__ import annotations

from hstar.domains import (
    blocksworld,
    ferry,
    gripper,
    logistics,
    miconic,
    parking,
    satellite,
    sliding_tiles,
    visitall,
)
from hstar.domains.generator import Generator
from hstar.runtime.registry import Registry, of_class

DOMAINS: Registry[Generator] = Registry(
    "domain",
    {
        "blocksworld": blocksworld.GENERATOR,
        "ferry": ferry.GENERATOR,
        "gripper": gripper.GENERATOR,
        "visitall": visitall.GENERATOR,
        "logistics": logistics.GENERATOR,
        "miconic": miconic.GENERATOR,
        "parking": parking.GENERATOR,
        "satellite": satellite.GENERATOR,
        "sliding-tiles": sliding_tiles.GENERATOR,
    },
    "hstar.domains",
    of_class(Generator),
)
