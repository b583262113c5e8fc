"""The slots of a learned heuristic: teachers, features, models, objectives, decodes; its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.slots.learned_heuristic import LearnedHeuristic as LearnedHeuristic
    from hstar.slots.loader import find_heuristic as find_heuristic
    from hstar.slots.model_file import ModelFile as ModelFile
    from hstar.slots.model_file import read_model as read_model
    from hstar.slots.model_file import write_model as write_model
    from hstar.slots.pattern_network import LearnedFile as LearnedFile
    from hstar.slots.pattern_network import read_learned as read_learned

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
