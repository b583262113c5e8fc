"""The paper's tables, figure and claims: its numbers as printed, ours where they belong."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hstar.experiments.report.page import Page
from hstar.experiments.study import HOLDS, Spread
from hstar.experiments.study.claims import FAILS, UNKNOWN
from hstar.experiments.study.published import read_number
from hstar.papers.truncated_gaussian import tables as published
from hstar.papers.truncated_gaussian.scales import DOMAINS
from hstar.papers.truncated_gaussian.study import figure2
from hstar.papers.truncated_gaussian.tables import (
    LEARN_FF,
    TABLES,
    VARIANTS,
    Measured,
    best_of,
    build_table,
    claims,
    format_value,
    published_value,
)

LEARN_NONE, LEARN_LMCUT = "learn/none/lmcut", "learn/lmcut/lmcut"
FIXED_FF, FIXED_NONE = "fixed/ff/lmcut", "fixed/none/lmcut"
BOUNDS = (LEARN_FF, "learn/ff/hmax", "learn/ff/blind")
Rows = list[dict[str, Any]]

# The paper's numbers.


def value(table: int, metric: str, domain: str, column: str) -> tuple[float, float | None]:
    found = TABLES[table].cells[metric, domain, column]
    assert found is not None
    return found.mean, found.std


@pytest.mark.parametrize(
    ("table", "metric", "domain", "column", "expected"),
    [
        (1, "mse", "blocks", "lmcut", (25.06, None)),
        (1, "mse", "blocks", f"TN:{LEARN_FF}", (0.65, 0.1)),
        (1, "mse", "ferry", f"N:{FIXED_NONE}", (118.59, 10.4)),
        (1, "mse", "ferry", f"N+clip:{FIXED_NONE}", (10.5, 9.6)),
        (1, "mse", "visitall", f"N:{FIXED_FF}", (6.49, 0.6)),
        (2, "coverage", "gripper", f"N:{FIXED_NONE}", (0, None)),
        (2, "coverage", "blocks", f"TN:{LEARN_FF}", (0.88, 0.14)),
        (2, "evaluations", "visitall", f"TN:{FIXED_NONE}", (612, 363)),
        (5, "evaluations", "gripper", f"TN:{FIXED_FF}", (1301, 48)),
        (5, "evaluations", "visitall", f"N:{LEARN_NONE}", (3860, None)),
        (6, "mse", "ferry", f"N:{LEARN_FF}", (8.9e8, 1.8e8)),
        (6, "mse", "blocks", f"TN:{FIXED_FF}", (6.5, 10.8)),
        (7, "coverage", "gripper", f"TN:{FIXED_NONE}", (0.63, 0.4)),
        (8, "nll", "ferry", f"TN:{FIXED_NONE}", (3.1, 0.2)),
        (9, "evaluations", "ferry", f"TN:{FIXED_FF}", (7652, 0)),
        (10, "evaluations", "blocks", "L-GBFS", (8282.6, None)),
        (11, "mse", "visitall", f"TN:{BOUNDS[1]}", (7.01, 0.3)),
        (12, "evaluations", "ferry", f"TN:{BOUNDS[2]}", (1907, 479)),
        (13, "mse", "visitall", f"TN:{LEARN_LMCUT}", (4.03, 0.5)),
        (14, "coverage", "gripper", f"N+clip:{LEARN_NONE}", (0.75, 0.42)),
    ],
)
def test_published_numbers(
    table: int, metric: str, domain: str, column: str, expected: tuple[float, float | None]
) -> None:
    assert value(table, metric, domain, column) == expected


def test_published_tables_are_whole_and_agree() -> None:
    """Tables that repeat a configuration print the same means; only deviations differ."""
    assert sorted(TABLES) == [1, 2, *range(4, 15)]
    lost = {key for table in TABLES.values() for key, cell in table.cells.items() if cell is None}
    ranking = {("coverage", "gripper", "L-GBFS"), ("evaluations", "gripper", "L-GBFS")}
    assert {key for key in lost if key[2] == "L-GBFS"} == ranking
    assert {column for _, _, column in lost} == {"L-GBFS", f"N:{FIXED_FF}"}
    means: dict[object, float] = {}
    for number, table in TABLES.items():
        for (metric, domain, column), cell in table.cells.items():
            if cell is not None and not (metric == "nll" and ":" not in column):
                model = table.model if ":" in column else ""
                key = (metric, domain, column, model)
                assert means.setdefault(key, cell.mean) == cell.mean, (number, key)


def test_reading_numbers() -> None:
    def parts(text: str) -> tuple[float, float | None, str] | None:
        found = read_number(text)
        return found and (found.mean, found.std, found.shown)

    assert parts(".88±.14") == (0.88, 0.14, ".88±.14")
    assert parts("1") == (1, None, "1")
    assert parts("(2.0±5.0)e3") == (2000, 5000, "(2.0±5.0)e3")
    assert read_number("-") is None
    with pytest.raises(ValueError, match="no number"):
        read_number(".8.8x")


def test_data_files_lie_in_the_package_and_so_in_its_wheel() -> None:
    """A wheel holds all files of its packages that nothing excludes."""
    root = Path(__file__).parents[2]
    build = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert build["wheel"] == {"packages": ["src/hstar"]}
    assert "sdist" not in build
    papers = Path(published.__file__).parents[1]
    held = {str(path.relative_to(papers)) for path in papers.rglob("*.toml")}
    names = {"claims.toml", "page.toml", "published.toml", "scales.toml"}
    folders = {path.parent.name for path in papers.glob("*/study.py")}
    assert held == {f"{folder}/{name}" for folder in folders for name in names}


# Our numbers in the paper's layout.

SEEDS = {1: 0.9, 2: 1.1}  # factors around the published means


def published_metrics() -> Rows:
    """Rows that have the paper's means over two seeds."""
    groups = dict.fromkeys(group for table in TABLES.values() for group in table.groups)
    rows = []

    def add(domain: str, model: str, group: str, loss: str, columns: dict[str, str]) -> None:
        cells = {
            name: published_value(model, name.partition("_")[0], domain, f"{variant}:{group}")
            for name, variant in columns.items()
        }
        about = dict(zip(("sigma", "base", "lower"), group.split("/"), strict=True))
        for seed, factor in SEEDS.items():
            numbers = {n: v.mean * factor if v is not None else None for n, v in cells.items()}
            if numbers["mse"] is not None:
                row = {"domain": domain, "model": model, "loss": loss, "seed": seed}
                rows.append({**row, **about, **numbers})

    names = ("mse", "mse_clip", "nll", "nll_clip")
    for model in ("nlm", "hgn", "linear"):
        for group in groups:
            for domain in DOMAINS:
                plain = dict(zip(names, ("N", "N+clip") * 2, strict=True))
                add(domain, model, group, "gaussian", plain)
                add(domain, model, group, "truncated-gaussian", dict.fromkeys(names, "TN"))
    for domain in DOMAINS:
        for baseline in ("ff", "lmcut"):
            cell = published_value("", "mse", domain, baseline)
            assert cell is not None
            rows.append({"domain": domain, "model": baseline, "seed": -1, "mse": cell.mean})
    return rows


def published_planning() -> Rows:
    """A hundred problems per cell, as many solved as the paper says."""
    rows = []
    seen = set()
    for table in TABLES.values():
        for (metric, domain, column), cell in table.cells.items():
            variant, _, group = column.partition(":")
            model = table.model if group else {"L-GBFS": "hgn"}.get(variant, variant)
            key = (domain, column, model)
            if metric != "coverage" or cell is None or key in seen:
                continue
            seen.add(key)
            evaluations = published_value(table.model, "evaluations", domain, column)
            about = dict(zip(("sigma", "base", "lower"), group.split("/"), strict=False))
            about |= {"domain": domain, "model": model, "variant": variant}
            for problem in range(100):
                solved = int(problem < round(100 * cell.mean))
                mean = evaluations.mean if evaluations is not None else None
                rows.append({**about, "seed": 1, "solved": solved, "evaluations": mean})
    return rows


@pytest.fixture(scope="module")
def rows() -> tuple[Rows, Rows]:
    return published_metrics(), published_planning()


@pytest.fixture(scope="module")
def numbers(rows: tuple[Rows, Rows]) -> Measured:
    return Measured.of(*rows, [])


def test_every_cell_finds_its_rows(numbers: Measured) -> None:
    """From rows with the paper's means, every table comes out with the paper's means."""
    for number, table in TABLES.items():
        for (metric, domain, column), cell in table.cells.items():
            ours = numbers.value(table.model, metric, domain, column)
            if cell is None or (metric == "nll" and (":" not in column or "+clip" in column)):
                assert ours is None, (number, metric, domain, column)
            else:
                assert ours is not None, (number, metric, domain, column)
                assert ours.mean == pytest.approx(cell.mean), (number, metric, domain, column)


def test_table_in_the_papers_layout(numbers: Measured) -> None:
    first, second = (build_table(number, numbers) for number in (1, 2))
    assert first.measured == 4 * (2 + 4 * 3)
    assert first.headers == ["domain", "metric", "h^FF", "h^LMcut", *["N", "TN"] * 4]
    assert [text for text, _ in first.spans] == [
        "", "learn/h^FF", "learn/none", "fixed/h^FF", "fixed/none",
    ]  # fmt: skip
    blocks, clip = first.rows[:2]
    assert [str(cell) for cell in blocks[:6]] == [
        "blocks", "MSE", "22.80", "25.06", ".76±.11", ".65±.09",
    ]  # fmt: skip
    assert [cell.below for cell in blocks[:6]] == ["", "paper", "22.8", "25.06", ".76±.1", ".65±.1"]
    assert [cell.bold for cell in blocks[4:6]] == [False, True]
    assert [str(cell) for cell in clip[:6]] == ["", "+clip", "", "", ".76±.11", ""]
    assert second.headers == ["domain", "metric", "h^FF", *["N", "N+clip", "TN"] * 2]
    assert [str(cell) for cell in second.rows[2]] == [
        "gripper", "solved", ".96", "1", "1", "1", "0", ".92", "1",
    ]  # fmt: skip
    assert "*.65±.09" in first.text() and "**.65±.09**" in first.markdown()
    assert second.markdown().count("\n| ") == 1 + 2 * 8 + 1
    page = Page("tables", [first])
    assert "<b>.65±.09</b><small><b>.65±.1</b></small>" in page.to_html()


def test_missing_numbers_are_dashes() -> None:
    table = build_table(10, Measured.of([], [], []))
    assert table.measured == 0
    assert {str(cell) for row in table.rows for cell in row[2:]} == {"\N{EN DASH}"}
    assert table.rows[2][-1].below == "\N{EN DASH}"


def test_mean_and_deviation_are_over_seeds() -> None:
    """Per seed over problems first: .5 and 1, not the mean over all six rows."""
    keys = {"domain": "ferry", "model": "nlm", "variant": "TN", "sigma": "learn", "base": "ff"}
    solved = [(1, 0), (1, 1), (2, 1), (2, 1), (2, 1), (2, 1)]
    planning = [
        {**keys, "lower": "lmcut", "seed": seed, "solved": ok, "evaluations": 10}
        for seed, ok in solved
    ]
    found = Measured.of([], planning, []).value("nlm", "coverage", "ferry", f"TN:{LEARN_FF}")
    assert found is not None
    assert (found.mean, found.std) == (0.75, pytest.approx(0.25 * math.sqrt(2)))
    assert found.shown == ".75±.35"


def test_an_unclipped_gaussian_does_not_know_its_bound(rows: tuple[Rows, Rows]) -> None:
    metrics = [row for row in rows[0] if row.get("lower") != "hmax"]
    found = Measured.of(metrics, [], [])
    known = {v: found.value("nlm", "mse", "ferry", f"{v}:{BOUNDS[1]}") for v in VARIANTS}
    assert known["N"] is not None
    assert known["N+clip"] is known["TN"] is None


@pytest.mark.parametrize(
    ("metric", "mean", "std", "text"),
    [
        ("mse", 0.654, 0.07, ".65±.07"),
        ("mse", 12.3, None, "12.30"),
        ("mse", 2.3e7, 4.9e7, "(2.3±4.9)e7"),
        ("mse", math.inf, None, "inf"),
        ("nll", -0.5, 0.1, "-.50±.10"),
        ("coverage", 1, 0, "1"),
        ("coverage", 0.999, 0.001, "1.00±.00"),
        ("evaluations", 2060.4, 1607.2, "2060±1607"),
    ],
)
def test_numbers_look_as_in_the_paper(
    metric: str, mean: float, std: float | None, text: str
) -> None:
    assert format_value(metric, mean, std) == text


def test_the_best_is_bold() -> None:
    def best(metric: str, margin: float, *means: float | None) -> list[bool]:
        return best_of(metric, [None if m is None else Spread(m) for m in means], margin)

    assert best("mse", 0.1, 0.76, 0.76, 0.65) == [False, False, True]
    assert best("mse", 0.1, 3.65, 3.65, 3.70) == [False] * 3
    assert best("mse", 0.0, 3.65, 3.65, 3.70) == [True, True, False]
    assert best("coverage", 0.0, 0.5, None, 0.7) == [False, False, True]
    assert best("evaluations", 0.0, 100.2, 100.3, None) == [False] * 3


def test_claims_on_the_papers_numbers(numbers: Measured) -> None:
    found = claims(numbers)
    assert {claim.paper_verdict for claim in found} == {HOLDS}
    assert {claim.verdict for claim in found[:-1]} == {HOLDS}
    assert found[-1].verdict == UNKNOWN  # there are no curves
    sigma = {claim.text: claim.numbers for claim in found if "sigma" in claim.text}
    assert [text[:6] for text in sigma.values()] == ["7 of 8", "5 of 8"]  # as the paper counts


def test_claims_that_fail_or_were_not_measured(rows: tuple[Rows, Rows]) -> None:
    assert {claim.verdict for claim in claims(Measured.of([], [], []))} == {UNKNOWN}

    def worse(row: dict[str, Any]) -> dict[str, Any]:
        is_it = (row.get("loss"), row["domain"]) == ("truncated-gaussian", "ferry")
        return {**row, "mse": row["mse"] * 10} if is_it else row

    claim = claims(Measured.of(map(worse, rows[0]), [], []))[0]
    assert claim.verdict == FAILS
    assert claim.numbers.startswith("3 of 4: ") and "NOT ferry 34.50" in claim.numbers
    ferry = [row for row in rows[0] if row["domain"] == "ferry"]
    assert claims(Measured.of(ferry, [], []))[0].numbers.startswith("1 of 1 (3 not measured)")


def learning_curves(*models: str) -> Measured:
    curves = [
        {"domain": domain, "model": model, "loss": loss, "sigma": "learn", "base": "ff",
         "lower": "lmcut", "seed": seed, "step": step, "val_mse": factor / step}
        for domain in DOMAINS
        for model in models
        for loss, factor in (("gaussian", 2.0), ("truncated-gaussian", 1.0))
        for seed in range(3)
        for step in (1, 10, 100)
    ]  # fmt: skip
    return Measured.of([], [], curves)


def test_figure_2() -> None:
    found = learning_curves("nlm", "hgn")
    figure = figure2(found)
    assert [axes.get_title() for axes in figure.axes] == list(DOMAINS)
    for axes in figure.axes:
        assert len(axes.lines) == 6
        assert axes.get_yscale() == "log"
        assert len({line.get_color() for line in axes.lines}) == 2
        assert list(axes.lines[0].get_ydata()) == [2.0, 0.2, 0.02]
    ferry = {key: one for key, one in found.curves.items() if key[0] == "ferry"}
    some = figure2(Measured({}, ferry, {}))
    assert [axes.get_title() for axes in some.axes] == ["ferry"]
    assert [len(axes.lines) for axes in figure2(Measured.of([], [], [])).axes] == [0] * 4


def test_convergence_claim() -> None:
    claim = claims(learning_curves("nlm"))[-1]
    assert claim.verdict == HOLDS
    assert claim.numbers.startswith("4 of 4: blocks 3 of 3 steps against 0 of 3 steps; ")
