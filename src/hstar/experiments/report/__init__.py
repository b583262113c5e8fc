"""Runs as tables, plots and one HTML page that needs nothing else."""

from __future__ import annotations

from hstar.experiments.report.compare import Comparison, compare
from hstar.experiments.report.page import Page
from hstar.experiments.report.plots import cactus, new_figure, scatter
from hstar.experiments.report.runs import build_page, comparison_text, summary_text, write_report
from hstar.experiments.report.tables import MISSING, Cell, Spans, markdown_table, text_table
from hstar.experiments.report.verdict import verdict_table, verdict_text

__all__ = [
    "MISSING",
    "Cell",
    "Comparison",
    "Page",
    "Spans",
    "build_page",
    "cactus",
    "compare",
    "comparison_text",
    "markdown_table",
    "new_figure",
    "scatter",
    "summary_text",
    "text_table",
    "verdict_table",
    "verdict_text",
    "write_report",
]
