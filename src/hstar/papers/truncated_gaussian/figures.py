"""Figure 2 of the truncated-gaussian paper: validation error during training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.papers.truncated_gaussian.measured import CURVES_COLUMNS, check_columns, learning_curves
from hstar.papers.truncated_gaussian.published import DOMAINS, LEARN_FF, Group
from hstar.report import new_figure
from hstar.report.plots import COLOURS

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

LOSSES = {"gaussian": "Gaussian", "truncated-gaussian": "truncated Gaussian"}


def figure2(curves: pl.DataFrame, group: Group = LEARN_FF) -> Figure:
    """A panel per domain that there are curves for (all four where there are none).

    For the columns of `curves` see `measured`; raises ValueError if one is missing. `group` is the
    configuration to draw.
    """
    check_columns(curves, CURVES_COLUMNS, "curves")
    present = set() if curves.is_empty() else set(curves["domain"].unique())
    domains = [domain for domain in DOMAINS if domain in present] or list(DOMAINS)
    columns = min(2, len(domains))
    rows = -(-len(domains) // columns)
    figure, panels = new_figure(3.6 * columns, 2.6 * rows, rows, columns)
    for panel in panels[len(domains) :]:
        panel.set_axis_off()
    for axes, domain in zip(panels, domains, strict=False):
        for loss, colour in zip(LOSSES if present else (), COLOURS[1::-1], strict=False):
            own = learning_curves(curves, domain, loss, group)
            for i, seed in enumerate(sorted(own["seed"].unique())):
                line = own.filter(own["seed"] == seed).sort("step")
                points = line["step"].to_list(), line["val_mse"].to_list()
                label = LOSSES[loss] if i == 0 else None
                axes.plot(*points, color=colour, linewidth=0.9, alpha=0.8, label=label)
        axes.set(title=domain, yscale="log", xlabel="training step", ylabel="validation MSE")
    if panels[0].get_legend_handles_labels()[1]:
        panels[0].legend(fontsize=8, frameon=False)
    return figure
