"""The generators by name."""

from __future__ import annotations

import importlib

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

DOMAINS: dict[str, Generator] = {
    "blocksworld": blocksworld.GENERATOR,
    "ferry": ferry.GENERATOR,
    "gripper": gripper.GENERATOR,
    "visitall": visitall.GENERATOR,
    "logistics": logistics.GENERATOR,
    "miconic": miconic.GENERATOR,
    "parking": parking.GENERATOR,
    "satellite": satellite.GENERATOR,
    "sliding-tiles": sliding_tiles.GENERATOR,
}


def find_generator(name: str) -> Generator:
    """The generator with this name, or "module:attribute" for one outside hstar.

    Raises ValueError that lists the names.
    """
    if name in DOMAINS:
        return DOMAINS[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(f"unknown domain '{name}'; choose one of {', '.join(DOMAINS)}")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"there is no generator '{name}': {error}") from error
    if not isinstance(found, Generator):
        raise ValueError(f"'{name}' is not a Generator but a {type(found).__name__}")
    return found
