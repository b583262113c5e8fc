"""Certified learning: no state at all is overestimated.

A network in integers reads a state. A table of exceptions lowers the few states it overestimates. A
sweep over every state shows that none is left, and the certificate in the file records this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.training.certified.certificate import argmax_row as argmax_row
    from hstar.training.certified.certificate import certified_row as certified_row
    from hstar.training.certified.certificate import count_sampled as count_sampled
    from hstar.training.certified.certificate import without_exceptions as without_exceptions
    from hstar.training.certified.device_sweep import DeviceSweep as DeviceSweep
    from hstar.training.certified.generalisation import (
        measure_generalisation as measure_generalisation,
    )
    from hstar.training.certified.learning import learn as learn
    from hstar.training.certified.measurement import measure as measure
    from hstar.training.certified.sweep import SweepOptions as SweepOptions

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
