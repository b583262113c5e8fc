"""Random problems of well-known planning domains, for training, validation and test.

generate("blocksworld", "problems")            the sizes and numbers of the literature
text = regenerate("ferry", {"locations": 3, "cars": 4}, "train", seed=7, retry=0)
text = DOMAINS["gripper"].make({"balls": 4}, random.Random(0), "my-problem")
"""

from __future__ import annotations

from hstar.domains.folder import FolderError, WrittenSplit, generate
from hstar.domains.generated_problem import GeneratedProblem
from hstar.domains.generator import SPLITS, Generator, Parameter, Parameters, SplitPlan
from hstar.domains.registry import DOMAINS
from hstar.domains.sliding_tiles import random_board
from hstar.domains.splits import Drawn, draw, regenerate

__all__ = ["DOMAINS", "SPLITS", "Drawn", "FolderError", "GeneratedProblem", "Generator"]
__all__ += ["Parameter", "Parameters", "SplitPlan", "WrittenSplit", "draw", "generate"]
__all__ += ["random_board", "regenerate"]
