"""Learning a heuristic from start to end: label, fit, choose by search, judge.

    outcome = learn(problems, RECIPES["domain"], LearnOptions(seconds=60), Budget())

The recipe says what to choose from; the outcome has the model file, its search and its verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.learning.judge import Verdict as Verdict
    from hstar.learning.options import LearnOptions as LearnOptions
    from hstar.learning.options import NotKept as NotKept
    from hstar.learning.pipeline import Outcome as Outcome
    from hstar.learning.pipeline import learn as learn
    from hstar.learning.planning import plan_with_learning as plan_with_learning
    from hstar.learning.recipe import RECIPES as RECIPES
    from hstar.learning.recipe import Recipe as Recipe
    from hstar.learning.split import split_states as split_states
    from hstar.learning.split import usable_tasks as usable_tasks
    from hstar.learning.trials import mean_ratio as mean_ratio

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
