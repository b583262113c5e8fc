"""What a heuristic overestimates, as a figure: boxes of its values by exact value."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hstar.experiments.report.plots import COLOURS, panels
from hstar.runtime import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")
BLUE, RED, GREY = (COLOURS[i] for i in (0, 3, -1))


def excess_figure(by_name: dict[str, list[list[int]]], title: str) -> Figure:
    """Values of overestimated states by exact value, a panel for each heuristic. Each list has
    [exact value, value, states]."""

    def draw(axes: Axes, name: str) -> None:
        _boxes(axes, by_name[name])
        axes.set(title=f"{title}, {name}", xlabel="exact value", ylabel="heuristic value")

    return panels(list(by_name), draw, len(by_name), (3.8, 3.0), 8)


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """In the format of the name's ending. Raises ValueError and OSError."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=format_of(path))
    write_atomically(path, drawn.getvalue())


def format_of(path: str | os.PathLike[str]) -> str:
    """Raises ValueError for an ending that no plot has."""
    ending = Path(path).suffix.removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"a plot is written as .svg, .pdf or .png, not as '{os.fspath(path)}'")
    return ending


def _boxes(axes: Axes, pairs: list[list[int]]) -> None:
    exact = sorted({pair[0] for pair in pairs})
    if not exact:
        axes.text(0.5, 0.5, "no state is overestimated", ha="center", transform=axes.transAxes)
        return
    boxes, highest = [], max(pair[1] for pair in pairs)
    shares = {"whislo": 0.0, "q1": 0.25, "med": 0.5, "q3": 0.75, "whishi": 1.0}
    above: dict[str, Any] = {"textcoords": "offset points", "xytext": (0, 4), "rotation": 90}
    for value in exact:
        found = sorted((guess, count) for own, guess, count in pairs if own == value)
        boxes.append({name: quantile(found, share) for name, share in shares.items()})
        text = f"n={sum(count for _, count in found):,}"
        at = (value, found[-1][0])
        axes.annotate(text, at, **above, ha="center", va="bottom", fontsize=5.5)
    colours: Any = {name: {"color": BLUE} for name in ("boxprops", "whiskerprops", "capprops")}
    colours["medianprops"] = {"color": RED}
    axes.bxp(boxes, positions=exact, showfliers=False, widths=0.6, **colours)
    axes.plot([exact[0], exact[-1]], [exact[0], exact[-1]], color=GREY, linewidth=0.6)
    axes.set_ylim(exact[0] - 0.5, highest + 0.35 * (highest - exact[0] + 1))
    step = max(1, len(exact) // 10)
    axes.set_xticks(exact[::step], [str(value) for value in exact[::step]])


def quantile(counted: Sequence[tuple[int, int]], share: float) -> int:
    """Of values with counts, ascending: the first at which `share` of all is reached."""
    reached = np.cumsum([count for _, count in counted])
    return counted[int(np.searchsorted(reached, share * reached[-1]))][0]
