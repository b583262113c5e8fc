"""Reports: the numbers are right, the page stands alone, and equal input gives equal bytes."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from program import hstar

from hstar.experiments.bench import read_runs
from hstar.experiments.bench.rows import COLUMNS, Runs, RunsError, frame, to_parquet
from hstar.experiments.report import (
    Cell,
    Table,
    cactus,
    markdown_table,
    scatter,
)
from hstar.experiments.report.compare import compare, verdict_table, verdict_text
from hstar.experiments.report.page import Page
from hstar.experiments.report.runs import build_page, summary_text, write_report
from hstar.experiments.report.tables import text_table

# Per problem: evaluations of ff and of blind with a limit of 100, None where not solved.
OUTCOMES = {
    ("blocks", "p1"): (10, 40),
    ("blocks", "p2"): (20, None),
    ("ferry", "p1"): (90, 10),
    ("ferry", "p2"): (None, None),
}


def run_row(domain: str, problem: str, heuristic: str, evaluations: int | None) -> dict[str, Any]:
    solved = evaluations is not None
    return dict.fromkeys(COLUMNS) | {
        "run": f"{domain}{problem}{heuristic}",
        "suite": f"suite/{domain}",
        "domain": domain,
        "problem": f"{problem}.pddl",
        "algorithm": f"gbfs({heuristic})",
        "search": "gbfs",
        "heuristic": heuristic,
        "model": "",
        "seed": -1,
        "max_evaluations": 100,
        "coverage": int(solved),
        "error": "solved" if solved else "gave up",
        "cost": 6.0 if solved else None,
        "evaluations": evaluations if solved else 100,
        "requested": evaluations if solved else 100,
        "total_time": evaluations / 500 if evaluations is not None else 0.2,
        "search_time": evaluations / 1000 if evaluations is not None else 0.1,
        "exit_code": 0 if solved else 12,
        "message": "",
        "hstar": "0.1.0",
        "commit": "abc",
        "machine": "a computer",
    }


@pytest.fixture
def rows() -> pl.DataFrame:
    return frame(
        run_row(*instance, heuristic, evaluations)
        for instance, values in OUTCOMES.items()
        for heuristic, evaluations in zip(("ff", "blind"), values, strict=True)
    )


class Reader(HTMLParser):
    """Raises AssertionError unless every element is closed in turn, and collects the texts."""

    VOID = ("meta", "br", "hr", "img", "link", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.headings: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name.rpartition(":")[2] in ("src", "href"):
                self.references.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)


def test_coverage_and_means(rows: pl.DataFrame) -> None:
    found = compare([Runs(rows, {})])
    assert (found.labels, found.domains) == (["ff", "blind"], ["blocks", "ferry"])
    assert found.coverage("ff") == (3, 4)
    assert found.coverage("blind", "ferry") == (1, 2)
    assert found.mean_requested("ff") == (10 + 20 + 90 + 100) / 4
    assert found.mean_requested("blind") == (40 + 100 + 10 + 100) / 4
    common = {"blocks/suite/blocks/p1.pddl ", "ferry/suite/ferry/p1.pddl "}
    assert found.solved_by_all() == common
    assert found.geometric_mean("ff", "evaluations") == pytest.approx(math.sqrt(10 * 90))
    assert found.geometric_mean("blind", "search_time") == pytest.approx(math.sqrt(0.04 * 0.01))
    assert found.mean_cost("ff") == 6


def test_unsolved_without_a_limit_has_no_mean(rows: pl.DataFrame) -> None:
    unlimited = rows.with_columns(pl.lit(None, pl.Int64).alias("max_evaluations"))
    found = compare([Runs(unlimited, {})])
    assert found.mean_requested("ff") is None
    assert found.mean_requested("ff", "blocks") == 15


def test_summary_for_a_terminal(rows: pl.DataFrame) -> None:
    coverage, means, verdict = summary_text(rows).split("\n\n")
    assert verdict.startswith("These runs do not include the default planner")
    assert coverage.splitlines() == [
        "domain  problems  ff  blind",
        "------  --------  --  -----",
        "blocks         2  *2      1",
        "ferry          2   1      1",
        "total          4  *3      2",
    ]
    assert means.splitlines()[2].split() == ["ff", "3/4", "55.0", "30.0", "0.0300", "6.00"]


def test_text_table_with_spans_and_second_lines() -> None:
    rows = [["x", Cell("1", bold=True, below="10"), 2], ["y", 3, Cell("", below="4")]]
    assert text_table(["", "a", "b"], rows, [("", 1), ("both of them", 2)]).splitlines() == [
        "   both of them",
        "    a         b",
        "-  --  --------",
        "x  *1         2",
        "   10",
        "y   3",
        "              4",
    ]
    with pytest.raises(ValueError, match="a row of 1 cells under 2 headers"):
        text_table(["a", "b"], [["x"]])


def test_markdown_table() -> None:
    rows = [["x|y", Cell("1", bold=True)]]
    assert markdown_table(["", "a"], rows, [("", 1), ("g", 1)]).splitlines() == [
        "|  | g a |",
        "| :-- | --: |",
        "| x\\|y | **1** |",
    ]


def test_page_is_well_formed_and_stands_alone(rows: pl.DataFrame) -> None:
    odd = run_row("blocks", "p3", "ff", None) | {"error": "crashed", "message": "<b>&broken"}
    _, page = build_page([Runs(pl.concat([rows, frame([odd])]), {"date": "a day"})], ["a <file>"])
    text = page.to_html()
    read = Reader(text)
    assert all(reference.startswith("#") for reference in read.references)
    assert {reference[1:] for reference in read.references} <= set(read.ids)
    assert len(read.ids) == len(set(read.ids))
    assert not re.search(r"url\((?!#)|@import|<script|<link|<img", text)
    verdict = "Against the default planner"
    assert read.headings[:4] == ["Benchmark", verdict, "Unexplained errors", "Coverage"]
    assert "&lt;b&gt;&amp;broken" in text and "a &lt;file&gt;" in text
    assert text.count("<svg ") == text.count("</svg>") == 4
    assert "prefers-color-scheme: dark" in text and "currentColor" in text


def test_report_command_gives_equal_bytes(rows: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "runs.parquet").write_bytes(to_parquet(rows, {"command": "hstar bench x"}))
    pages = []
    for seed in ("1", "2"):
        done = hstar(
            "report", "runs.parquet", "-o", "out.html", cwd=tmp_path,
            changes={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert (done.code, done.err) == (0, "")
        assert done.out == summary_text(rows) + "\nThe report is in out.html.\n"
        pages.append((tmp_path / "out.html").read_bytes())
    assert pages[0] == pages[1]
    assert b"hstar bench x" in pages[0] and b"abc" in pages[0] and b"a computer" in pages[0]


def test_report_command_names_bad_files(tmp_path: Path) -> None:
    done = hstar("report", "none.parquet", "-o", "out.html", cwd=tmp_path)
    assert (done.code, done.out) == (31, "")
    assert done.err == "hstar: none.parquet: there is no such file; make one with 'hstar bench'\n"
    assert not (tmp_path / "out.html").exists()


def test_files_searches_and_suites_are_told_apart(rows: pl.DataFrame) -> None:
    both = compare([Runs(rows, {}), Runs(rows, {})], ["old", "new"])
    assert both.labels == ["ff (old)", "blind (old)", "ff (new)", "blind (new)"]
    other = rows.with_columns(pl.format("astar({})", "heuristic").alias("algorithm"))
    assert compare([Runs(rows, {}), Runs(other, {})]).labels[::2] == ["gbfs(ff)", "astar(ff)"]
    moved = rows.with_columns(pl.format("train/{}", "domain").alias("suite"))
    found = compare([Runs(rows, {}), Runs(moved, {})])
    assert found.labels == ["ff", "blind"]
    assert found.domains[::2] == ["blocks (suite/blocks)", "blocks (train/blocks)"]


def test_models_with_the_same_search_are_told_apart(rows: pl.DataFrame) -> None:
    default = rows.filter(rows["heuristic"] == "blind").with_columns(algorithm=pl.lit("default"))
    learned = rows.filter(rows["heuristic"] == "ff").with_columns(
        algorithm=pl.lit("learned + default"), heuristic=pl.lit("one")
    )
    other = learned.with_columns(heuristic=pl.lit("two"))
    assert compare([Runs(pl.concat([learned, default]), {})]).labels == [
        "learned + default",
        "default",
    ]
    both = pl.concat([learned, other, default])
    assert compare([Runs(both, {})]).labels == [
        "one: learned + default",
        "two: learned + default",
        "default",
    ]
    full = {"searches": {"learned + default": "greedy best-first search, eager; heuristic one"}}
    page = build_page([Runs(learned, full)], ["runs"])[1].to_html()
    assert "search learned + default" in page and "eager; heuristic one" in page


def test_scatter_puts_unsolved_on_a_line_and_counts_wins(rows: pl.DataFrame) -> None:
    (axes,) = scatter(compare([Runs(rows, {})]).rows, "ff", "blind").axes
    assert "better on 2" in axes.get_xlabel() and "better on 1" in axes.get_ylabel()
    blocks, ferry = axes.lines[:2]
    assert list(blocks.get_xdata()) == [10, 20]
    solved, unsolved = blocks.get_ydata()
    assert (solved, unsolved > 100) == (40, True)
    assert list(ferry.get_xdata()) == [90]  # what neither solves is left out
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_cactus_counts_problems_within_a_limit(rows: pl.DataFrame) -> None:
    (axes,) = cactus(compare([Runs(rows, {})]).rows).axes
    ff, blind = axes.lines
    assert list(ff.get_xdata()) == [10, 20, 90, 90]
    assert list(ff.get_ydata()) == [1, 2, 3, 3]
    assert list(blind.get_xdata()) == [10, 40, 90]
    assert [line.get_label() for line in axes.lines] == ["ff (3)", "blind (2)"]


def test_plots_of_several_seeds(rows: pl.DataFrame) -> None:
    """As the rows of an experiment are: a label for all seeds of a model, one run of a baseline."""
    ff, blind = (rows.filter(rows["heuristic"] == name) for name in ("ff", "blind"))
    seeds = pl.concat([ff, blind, blind])
    instance = pl.format("{}/{}", "domain", "problem").alias("instance")
    seeds = seeds.select("domain", instance, "coverage", "evaluations", label="heuristic")
    (axes,) = cactus(seeds).axes
    assert [line.get_label() for line in axes.lines] == ["ff (3)", "blind (2)"]
    assert list(axes.lines[1].get_ydata()) == [0.5, 1, 1.5, 2, 2]
    (axes,) = scatter(seeds, "ff", "blind").axes
    assert "better on 4" in axes.get_xlabel() and "better on 2" in axes.get_ylabel()


def test_page_escapes_everything() -> None:
    table = Table("", "", ["<c>"], [["<d>"]], "<caption>", folded="<f>")
    page = Page("<t>", ["# <h>", "<p>\n\nsecond", ["<l>"], table])
    text = page.to_html()
    Reader(text)
    for word in ("t", "h", "p", "l", "c", "d", "caption", "f"):
        assert f"&lt;{word}&gt;" in text


def test_problems_of_two_files_are_told_apart_by_content(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    """Both have suite/blocks/p1.pddl with h^FF, but of other domains or other problems."""
    for number, domain in (("1", "blocks"), ("2", "towers")):
        changed = rows.with_columns(
            pl.lit("test").alias("suite"),
            pl.lit(domain).alias("domain"),
            pl.format("p{}.pddl", pl.int_range(pl.len()) // 2).alias("problem"),
        )
        (tmp_path / number).mkdir()
        (tmp_path / number / "runs.parquet").write_bytes(to_parquet(changed, {}))
    paths = [tmp_path / number / "runs.parquet" for number in "12"]
    found = write_report(paths, tmp_path / "out.html")
    assert (found.labels, found.domains) == (["ff", "blind"], ["blocks", "towers"])
    assert found.coverage("ff") == (6, 8)
    assert len(found.solved_by_all()) == 4
    one, two = (rows.with_columns(pl.lit(digest).alias("digest")) for digest in "ab")
    assert compare([Runs(one, {}), Runs(two, {})]).coverage("ff") == (6, 8)


def test_nothing_is_lost_when_two_files_have_the_same_runs(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    for number in "12":
        (tmp_path / number).mkdir()
        (tmp_path / number / "runs.parquet").write_bytes(to_parquet(rows, {}))
    found = write_report([tmp_path / n / "runs.parquet" for n in "12"], tmp_path / "out.html")
    assert found.rows.height == 2 * rows.height
    assert len(found.labels) == 4


def test_the_report_begins_with_the_verdict_against_the_default_planner(
    rows: pl.DataFrame,
) -> None:
    blind = rows.filter(rows["heuristic"] == "blind")
    ff = rows.filter(rows["heuristic"] == "ff").with_columns(
        pl.lit("default").alias("algorithm"), pl.lit("lazy").alias("search")
    )
    both = pl.concat([blind, ff])
    (text,) = verdict_text(compare([Runs(both, {})]))
    assert text == (
        "gbfs(blind) solves 2 of 4 problems, the default planner 3. On the 2 problems that both "
        "solve it takes 0.04 s against 0.06 s (1.5 times faster), 20 evaluations against 30, and "
        "its plans cost 6.00 against 6.00. The default planner is the better choice here."
    )
    (dear,) = verdict_text(compare([Runs(with_cost_of(both, "default", 9), {})]))
    assert dear.endswith("planner is the better choice here, unless cheap plans matter more.")
    headers, lines = verdict_table(compare([Runs(both, {})]))
    assert headers[1:] == ["solved", "evaluations", "seconds", "plan cost"]
    assert lines[-1] == ["default", "3/4", "30.0", "0.0600", "6.00"]
    page = build_page([Runs(both, {})], ["runs"])[1].to_html()
    assert page.index(text.split(".")[0]) < page.index("Unexplained errors")
    assert text in summary_text(both)
    assert "do not include the default planner" in summary_text(rows)


def test_runs_of_another_format_are_refused(rows: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    rows.drop("digest").write_parquet(path, metadata={"hstar": '{"format": "hstar-runs-1"}'})
    with pytest.raises(RunsError, match="is hstar-runs-1, this hstar reads hstar-runs-2"):
        read_runs(path)


def with_cost_of(rows: pl.DataFrame, algorithm: str, cost: float) -> pl.DataFrame:
    changed = pl.when(pl.col("algorithm") == algorithm).then(cost).otherwise(pl.col("cost"))
    return rows.with_columns(changed.cast(rows.schema["cost"]).alias("cost"))


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (0.5, "It is the better choice here."),
        (0.95, "Neither is clearly better here."),
        (1.05, "Neither is clearly better here."),
        (2.0, "The default planner is the better choice here."),
    ],
)
def test_small_differences_in_time_decide_nothing(
    rows: pl.DataFrame, factor: float, said: str
) -> None:
    default = rows.filter(rows["heuristic"] == "ff").with_columns(
        pl.lit("default").alias("algorithm"), pl.lit("lazy").alias("search")
    )
    other = rows.filter(rows["heuristic"] == "ff").with_columns(pl.col("total_time") * factor)
    (text,) = verdict_text(compare([Runs(pl.concat([other, default]), {})]))
    assert text.endswith(said)
    dear = with_cost_of(pl.concat([other, default]), "gbfs(ff)", 60)
    (text,) = verdict_text(compare([Runs(dear, {})]))
    assert text.endswith("unless cheap plans matter more.") == (factor == 0.5)
