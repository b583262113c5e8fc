"""A study: what is learned and searched, as pieces that a stopped run keeps; its claims; its page.

A paper is a subclass of StudyRun with its settings and tables. One of learners and columns is a
subclass of TrialRun, whose two stages are the same for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.experiments.study.claims import HOLDS as HOLDS
    from hstar.experiments.study.claims import Check as Check
    from hstar.experiments.study.claims import Claim as Claim
    from hstar.experiments.study.claims import Look as Look
    from hstar.experiments.study.claims import judge as judge
    from hstar.experiments.study.page import BASELINE as BASELINE
    from hstar.experiments.study.page import DEFAULT_LABEL as DEFAULT_LABEL
    from hstar.experiments.study.page import Report as Report
    from hstar.experiments.study.page import compare_searches as compare_searches
    from hstar.experiments.study.page import planning_table as planning_table
    from hstar.experiments.study.published import Spread as Spread
    from hstar.experiments.study.published import build as build
    from hstar.experiments.study.published import choose as choose
    from hstar.experiments.study.published import read_rows as read_rows
    from hstar.experiments.study.published import read_toml as read_toml
    from hstar.experiments.study.run import Piece as Piece
    from hstar.experiments.study.run import Row as Row
    from hstar.experiments.study.run import StudyRun as StudyRun
    from hstar.experiments.study.run import make as make
    from hstar.experiments.study.run import read_part as read_part
    from hstar.experiments.study.run import write_part as write_part
    from hstar.experiments.study.subjects import SPLITS as SPLITS
    from hstar.experiments.study.subjects import Entry as Entry
    from hstar.experiments.study.subjects import Subject as Subject
    from hstar.experiments.study.subjects import make_task as make_task
    from hstar.experiments.study.trials import DEFAULT as DEFAULT
    from hstar.experiments.study.trials import Column as Column
    from hstar.experiments.study.trials import Learner as Learner
    from hstar.experiments.study.trials import LearnerTask as LearnerTask
    from hstar.experiments.study.trials import Learnt as Learnt
    from hstar.experiments.study.trials import Searches as Searches
    from hstar.experiments.study.trials import TrialResults as TrialResults
    from hstar.experiments.study.trials import TrialRun as TrialRun
    from hstar.experiments.study.trials import TrialScale as TrialScale
    from hstar.experiments.study.trials import TrialStudy as TrialStudy
    from hstar.experiments.study.trials import read_scales as read_scales

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
