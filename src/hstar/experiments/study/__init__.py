"""A study: what is learned and searched, as pieces that a stopped run keeps; its claims; its page.

A paper is a subclass of StudyRun with its settings and tables. One of learners and columns is a
subclass of TrialRun, whose two stages are the same for all.
"""

from hstar.experiments.study.claims import HOLDS, UNKNOWN, Claim, Look
from hstar.experiments.study.page import (
    BASELINE,
    DEFAULT_LABEL,
    Report,
    compare_searches,
    planning_table,
)
from hstar.experiments.study.published import Spread, build, choose, read_rows, read_toml
from hstar.experiments.study.run import Piece, Row, StudyRun, make, read_part, write_part
from hstar.experiments.study.subjects import SPLITS, Entry, Subject, make_task
from hstar.experiments.study.trials import (
    DEFAULT,
    Column,
    Learner,
    LearnerTask,
    Learnt,
    Searches,
    TrialResults,
    TrialRun,
    TrialScale,
    TrialStudy,
    read_columns,
    read_scales,
)
from hstar.experiments.study.wording import Wording

__all__ = ["BASELINE", "DEFAULT", "DEFAULT_LABEL", "HOLDS", "SPLITS", "UNKNOWN", "Claim", "Column"]
__all__ += ["Entry"]
__all__ += ["Learner", "LearnerTask", "Learnt", "Look", "Piece", "Report", "Row", "Searches"]
__all__ += ["Spread", "StudyRun", "Subject", "TrialResults", "TrialRun", "TrialScale", "TrialStudy"]
__all__ += ["Wording", "build", "choose", "compare_searches", "make", "make_task"]
__all__ += ["planning_table", "read_columns", "read_part", "read_rows", "read_scales", "read_toml"]
__all__ += ["write_part"]
