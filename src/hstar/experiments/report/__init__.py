"""Runs as tables, plots and one HTML page that needs nothing else."""

from hstar.experiments.report.compare import Comparison
from hstar.experiments.report.excess import excess_figure
from hstar.experiments.report.page import Figures
from hstar.experiments.report.plots import COLOURS, cactus, draw_line, new_figure, panels, scatter
from hstar.experiments.report.ranksum import least_p, rank_sum_p, shift_interval
from hstar.experiments.report.tables import MISSING, Cell, Table, markdown_table, number_text

__all__ = ["COLOURS", "MISSING", "Cell", "Comparison", "Figures", "Table", "cactus", "draw_line"]
__all__ += ["excess_figure", "least_p", "markdown_table", "new_figure", "number_text", "panels"]
__all__ += ["rank_sum_p", "scatter", "shift_interval"]
