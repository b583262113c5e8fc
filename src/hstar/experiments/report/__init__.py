"""Runs as tables, plots and one HTML page that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.experiments.report.compare import Comparison as Comparison
    from hstar.experiments.report.page import Figures as Figures
    from hstar.experiments.report.plots import COLOURS as COLOURS
    from hstar.experiments.report.plots import cactus as cactus
    from hstar.experiments.report.plots import new_figure as new_figure
    from hstar.experiments.report.plots import panels as panels
    from hstar.experiments.report.plots import scatter as scatter
    from hstar.experiments.report.ranksum import least_p as least_p
    from hstar.experiments.report.ranksum import rank_sum_p as rank_sum_p
    from hstar.experiments.report.tables import MISSING as MISSING
    from hstar.experiments.report.tables import Cell as Cell
    from hstar.experiments.report.tables import Table as Table
    from hstar.experiments.report.tables import markdown_table as markdown_table
    from hstar.experiments.report.tables import number_text as number_text

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
