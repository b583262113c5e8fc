"""Runs as tables, plots and one HTML page that needs nothing else."""

from __future__ import annotations

from hstar.experiments.report.compare import Comparison, compare
from hstar.experiments.report.page import Page
from hstar.experiments.report.plots import COLOURS, cactus, new_figure, panels, scatter
from hstar.experiments.report.ranksum import least_p, rank_sum_p
from hstar.experiments.report.runs import build_page, comparison_text, summary_text, write_report
from hstar.experiments.report.tables import (
    MISSING,
    Cell,
    Spans,
    markdown_table,
    number_text,
    text_table,
)
from hstar.experiments.report.titled_table import Table
from hstar.experiments.report.verdict import HEADERS, verdict_table, verdict_text

__all__ = [
    "COLOURS",
    "HEADERS",
    "MISSING",
    "Cell",
    "Comparison",
    "Page",
    "Spans",
    "Table",
    "build_page",
    "cactus",
    "compare",
    "comparison_text",
    "least_p",
    "markdown_table",
    "new_figure",
    "number_text",
    "panels",
    "rank_sum_p",
    "scatter",
    "summary_text",
    "text_table",
    "verdict_table",
    "verdict_text",
    "write_report",
]
