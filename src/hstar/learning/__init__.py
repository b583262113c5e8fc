"""Learning a heuristic from start to end: sample, train, choose by search, judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.learning.initial_states import write_walks as write_walks
    from hstar.learning.instance import InstanceLearner as InstanceLearner
    from hstar.learning.instance import LearnOptions as LearnOptions
    from hstar.learning.networks import Candidate as Candidate
    from hstar.learning.networks import hashes_of as hashes_of
    from hstar.learning.planning import plan_with_learning as plan_with_learning
    from hstar.learning.rollouts import RolloutLearner as RolloutLearner
    from hstar.learning.rollouts import usable_tasks as usable_tasks

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
