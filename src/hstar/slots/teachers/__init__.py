"""Teachers: where states and their labels come from.

label("problems/train", "labels.parquet", LabelOptions(teacher="optimal"))
labels = read_labels("labels.parquet")
"""

from __future__ import annotations

from hstar.slots.teachers.attempt import Attempt, labelled
from hstar.slots.teachers.folder import content_digest
from hstar.slots.teachers.labelling import LabelOptions, LabelSummary, label
from hstar.slots.teachers.labels import LabelledProblem, LabelRows, Labels, LabelsError, read_labels
from hstar.slots.teachers.registry import TEACHERS
from hstar.slots.teachers.teacher import Option, Teacher

__all__ = ["TEACHERS", "Attempt", "LabelOptions", "LabelRows", "LabelSummary", "LabelledProblem"]
__all__ += ["Labels", "LabelsError", "Option", "Teacher", "content_digest", "label", "labelled"]
__all__ += ["read_labels"]
