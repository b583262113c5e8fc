"""How well a trained network with rounding and its integers agree."""

from __future__ import annotations

import numpy as np
import torch

from hstar.slots.models.export import export
from hstar.slots.models.integer_network import LOGIT_UNITS
from hstar.training.loop import Loop


def agreement(loop: Loop, batch: int = 4096) -> tuple[float, float]:
    """The share of states on whose likeliest class they agree, and the mean distance of their
    logits, in nats."""
    source = loop.source
    drawn = [source.draw(0)[0][:batch]]
    digits = source.states.digits(drawn[0]).cpu().numpy().astype(np.int32)
    with torch.no_grad():
        logits = loop.network(source.inputs(drawn).float()).cpu().numpy()
    whole = export(loop.network, source.states.domain_sizes).forward(digits) / LOGIT_UNITS
    same = logits.argmax(axis=1) == whole.argmax(axis=1)
    return float(np.mean(same)), float(np.mean(np.abs(logits - whole)))
