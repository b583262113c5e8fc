"""Teachers: where states and their labels come from.

label("problems/train", "labels.parquet", LabelOptions(teacher="optimal"))
labels = read_labels("labels.parquet")
"""

from __future__ import annotations

from hstar.teachers.attempt import Attempt, labelled
from hstar.teachers.labelling import LabelOptions, LabelSummary, label
from hstar.teachers.labels import LabelledProblem, LabelRows, Labels, LabelsError, read_labels
from hstar.teachers.registry import TEACHERS
from hstar.teachers.teacher import Option, Teacher

__all__ = [
    "TEACHERS",
    "Attempt",
    "LabelOptions",
    "LabelRows",
    "LabelSummary",
    "LabelledProblem",
    "Labels",
    "LabelsError",
    "Option",
    "Teacher",
    "label",
    "labelled",
    "read_labels",
]
