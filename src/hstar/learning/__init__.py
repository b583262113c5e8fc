"""Learning a heuristic from start to end: label, fit, choose by search, judge.

    outcome = learn(problems, RECIPES["domain"], LearnOptions(seconds=60), Budget())

The recipe says what to choose from; the outcome has the model file, its search and its verdict.
"""

from hstar.learning.judge import Verdict
from hstar.learning.options import LearnOptions
from hstar.learning.outcome import Outcome
from hstar.learning.pipeline import learn
from hstar.learning.recipe import RECIPES, Recipe, SlotChoice

__all__ = ["RECIPES", "LearnOptions", "Outcome", "Recipe", "SlotChoice", "Verdict", "learn"]
