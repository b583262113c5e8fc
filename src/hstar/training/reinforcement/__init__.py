"""Reinforcement learning: planning as a decision process, whose rewards a heuristic makes dense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.training.reinforcement.ppo import PPOOptions as PPOOptions
    from hstar.training.reinforcement.ppo import train_policy as train_policy
    from hstar.training.reinforcement.rtdp import Rtdp as Rtdp
    from hstar.training.reinforcement.rtdp import find_preset as find_preset

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
