"""FITS: how the weights of a model are found, by name. To add one: one file and one line here.

    fit(lesson, row, limits) -> ModelFile

A lesson is what there is to learn from; a row says what is to be learned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy
from hstar.runtime.registry import Registry, of_class
from hstar.slots.models import MODELS
from hstar.training.fit.fit import Fit, Lesson, Limits, ModelRow

if TYPE_CHECKING:
    from hstar.training.fit.rtdp import ActingLearner as ActingLearner
    from hstar.training.fit.rtdp import rtdp_settings as rtdp_settings

__all__ = ["FITS", "Fit", "Lesson", "Limits", "ModelRow", "fit_for"]

# The first that takes a row is used.
FITS: Registry[Fit] = Registry(
    "fit",
    {
        "linear": "hstar.training.fit.linear:LINEAR",
        "mlp": "hstar.training.fit.mlp:MLP",
        "rtdp": "hstar.training.fit.rtdp:RTDP",
        "torch": "hstar.training.fit.torch:TORCH",
    },
    "hstar.fits",
    of_class(Fit),
)


def fit_for(row: ModelRow) -> Fit:
    """The fit that a row names, or the first that takes it. Raises ValueError if none does."""
    if row.fit is not None:
        chosen = FITS.find(row.fit)
        if not chosen.takes(row):
            raise ValueError(f"the fit '{row.fit}' {chosen.refusal}; name another or none")
        return chosen
    for name in FITS:
        if name != "rtdp" or row.teacher == "rollouts":  # importing it loads reinforcement learning
            found = FITS.find(name)
            if found.takes(row):
                return found
    reads = MODELS.find(row.model).features
    if row.features not in reads:
        known = ", ".join(reads)
        raise ValueError(
            f"model '{row.model}' cannot read features '{row.features}'; it reads {known}"
        )
    raise ValueError(f"no fit takes {row.label}; choose another objective")


if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
