"""Teachers: where states and their labels come from.

label("problems/train", "labels.parquet", LabelOptions())
labels = read_labels("labels.parquet")
"""

from __future__ import annotations

from hstar.teachers.labelling import LabelOptions, LabelSummary, label
from hstar.teachers.labels import LabelledProblem, Labels, LabelsError, read_labels

__all__ = [
    "LabelOptions",
    "LabelSummary",
    "LabelledProblem",
    "Labels",
    "LabelsError",
    "label",
    "read_labels",
]
