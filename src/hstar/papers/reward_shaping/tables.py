"""What was measured and what the paper prints by domain and column, and the tables made of it: the
paper's beside ours, and what hstar adds, effort and equal time for learning."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hstar.experiments.bench import EXPLAINED
from hstar.experiments.report import MISSING, Cell, Table, least_p, number_text, rank_sum_p
from hstar.experiments.study import (
    DEFAULT,
    SPLITS,
    UNKNOWN,
    Claim,
    Look,
    Row,
    Searches,
    Spread,
    TrialResults,
    TrialStudy,
    Wording,
    read_rows,
)
from hstar.papers.reward_shaping.learners import (
    ABLATION,
    APPENDIX,
    AS_RUN,
    BASES,
    COLUMNS,
    EQUAL_TIME,
    HELD,
    PAPER,
    PEERS,
    PRINTED,
    SHAPED,
)

WORDS = Wording(__file__)
BETTER, WORSE = "▲", "▼"
WORKS = "works"
COVERAGE = read_rows(HELD["coverage_columns"], HELD["coverage"])  # solved problems, and "total"
COMPATIBLE: list[str] = HELD["compatible"]["domains"]
GOALS = read_rows(HELD["goals_columns"], HELD["goals"])


def text_of(value: Spread | None) -> str:
    return MISSING if value is None else value.text


def printed_share(domain: str, column: str) -> Spread | None:
    """Solved test problems in the paper, as a share."""
    row = COVERAGE.get(domain, {})
    value, total = row.get(column), row.get("total")
    if value is None or total is None:
        return None
    std, most = (one and one / total.mean for one in (value.std, value.most))
    return Spread(value.mean / total.mean, std, most)


def mark(value: Spread | None, base: Spread | None) -> str:
    """The paper's: the base lies below mean - std, or above mean + std."""
    if value is None or base is None:
        return ""
    std = value.std or 0.0
    return BETTER if base.mean < value.mean - std else WORSE if base.mean > value.mean + std else ""


def searches_of(results: TrialResults, study: str = PAPER) -> Searches:
    limit = next((s.max_evaluations for s in results.studies if s.name == study), None)
    return Searches(results.searches.get(study, []), limit)


def goals_of(results: TrialResults, domain: str, learner: str) -> Spread | None:
    """Goals reached in training, by seed."""
    values = [float(row["goals"]) for row in trainings_of(results, domain, learner)]
    return replace(Spread.of(values), most=None) if values else None


def trainings_of(results: TrialResults, domain: str, learner: str, study: str = PAPER) -> list[Row]:
    """Those that ended well."""
    asked = {"domain": domain, "learner": learner, "error": ""}.items()
    return [row for row in results.trainings.get(study, []) if row.items() >= asked]


def large_share(found: Searches, domain: str, column: str, limit: float) -> float | None:
    """Of the problems of the larger sizes, how many are solved within the limit."""
    rows = found.rows(domain, column)
    sizes = sorted({row["objects"] for row in rows})
    large = [row for row in rows if row["objects"] >= sizes[len(sizes) // 2]]
    solved = sum(row["solved"] and found.cost(row) <= limit for row in large)
    return solved / len(large) if rows else None


def look_of(results: TrialResults, study: str) -> Look:
    """Our numbers by the metrics of claims.toml."""
    found = searches_of(results, study)

    def look(metric: str, domain: str, column: str) -> Spread | None:
        if metric == "goals":
            return goals_of(results, domain, column)
        if metric == "effort":
            effort = found.effort(domain, column, COLUMNS[column].base or column)
            return None if effort is None else Spread(effort)
        if metric == "larger":
            share = large_share(found, domain, column, PRINTED[domain]["test"]["threshold"])
            return None if share is None else Spread(share, shown=f"{share:.3f}")
        return found.share(domain, column)

    return look


def printed(metric: str, domain: str, column: str) -> Spread | None:
    """The paper's numbers likewise, as far as there are any."""
    if metric == "goals":
        return GOALS.get(domain, {}).get(column)
    return printed_share(domain, column) if not metric else None


GROUPS = (
    ("baselines", BASES),
    ("learned (max of seeds)", SHAPED),
    ("other systems", PEERS),
)


def as_run(results: TrialResults) -> TrialResults | None:
    """The study with the settings of the authors' code in the place of the paper's, for the same
    tables and figures; None if it was not run."""
    if AS_RUN not in results.searches:
        return None
    trainings, searches = results.trainings[AS_RUN], results.searches[AS_RUN]
    study = replace(next(one for one in results.studies if one.name == AS_RUN), name=PAPER)
    return TrialResults((study,), {PAPER: trainings}, {PAPER: searches}, results.problems)


def all_claims(results: TrialResults) -> list[Claim]:
    """With the paper's settings, then with those of the code, as far as they were run."""
    other = as_run(results)
    known = [one for one in claims(other) if one.verdict != UNKNOWN] if other else []
    return claims(results) + [replace(one, text=f"{one.text} (as run)") for one in known]


def claims(results: TrialResults) -> list[Claim]:
    """Those of the studies that were run, in the order of the paper."""

    def sources(about: str) -> Any:
        study = about or PAPER
        if not results.searches.get(study):
            return None
        ours = look_of(results, study), searches_of(results, study).domains
        return ours, (printed, COVERAGE)

    return Claim.judged(__file__, sources)


def coverage_table(results: TrialResults, study: TrialStudy) -> Table:
    """Table 1: solved test problems."""
    found = searches_of(results)
    others = [name for name in found.columns if not any(name in names for _, names in GROUPS)]
    known = (*GROUPS, ("hstar", others))
    groups = [(text, [c for c in names if c in found.columns]) for text, names in known]
    columns = [column for _, names in groups for column in names]
    lines: list[list[Cell | str]] = []
    for domain in found.domains:
        tests = max(found.tests(domain, column) for column in columns)
        total = COVERAGE.get(domain, {}).get("total")
        count = Cell(str(tests), below=text_of(total) if total else "")
        cells = (_coverage_cell(found, domain, column, tests) for column in columns)
        lines.append([domain, count, *cells])
    spans = [("", 2), *((text, len(names)) for text, names in groups if names)]
    seeds = len(study.seeds)
    marks: dict[str, Any] = {"better": BETTER, "worse": WORSE, "default": DEFAULT}
    marks["alone"] = f"{WORDS.text('one_seed')} " if seeds == 1 else ""
    return WORDS.table("coverage", lines, columns, spans, study=study, seeds=seeds, **marks)


def _coverage_cell(found: Searches, domain: str, column: str, tests: int) -> Cell:
    printed, base = COVERAGE.get(domain, {}), COLUMNS[column].base or ""
    solved, own = found.solved(domain, column), found.tests(domain, column)
    text = text_of(solved) + (f" / {own}" if own not in (0, tests) else "")
    below = text_of(printed[column]) if column in printed else ""
    ours = mark(solved, found.solved(domain, base))
    theirs = mark(printed.get(column), printed.get(base))
    texts = [f"{one} {sign}".rstrip() for one, sign in ((text, ours), (below, theirs))]
    return Cell(texts[0], ours == BETTER, texts[1], theirs == BETTER)


def seeds_table(results: TrialResults) -> Table:
    """How much seeds differ: shares of solved problems, ours and the paper's."""
    found = searches_of(results)
    columns = [column for column in found.columns if COLUMNS[column].has_seeds]

    def cell(domain: str, column: str) -> Cell:
        share, printed = found.share(domain, column), printed_share(domain, column)
        texts = [
            "" if one is None else f"{one.mean:.3f} ± {one.std:.3f}" for one in (share, printed)
        ]
        text = MISSING if share is None else f"{texts[0]}, {min(share.values):.3f}"
        return Cell(text, below=texts[1])

    return WORDS.grid("seeds", found.domains, columns, cell)


def goals_table(results: TrialResults, study: TrialStudy) -> Table:
    """Table 2: goals reached in training; the best in bold, and what cannot be told from it."""
    columns = [column for column in SHAPED if column in study.columns]
    seeds, limit = len(study.seeds), HELD["least_p"]
    lines: list[list[Cell | str]] = []
    for domain in results.problems:
        values = {column: goals_of(results, domain, column) for column in columns}
        best, printed = best_columns(values, limit), GOALS.get(domain, {})
        cells = []
        for column, value in values.items():
            theirs = printed.get(column)
            below = (theirs.text, theirs.shown.endswith("*")) if theirs else ("", False)
            cells.append(Cell(text_of(value), column in best, *below))
        lines.append([domain, *cells])
    least = least_p(seeds, seeds)
    ties = WORDS.text("ties" if least < limit else "no_ties", seeds=seeds, least=least, limit=limit)
    about: dict[str, Any] = {"study": study, "seeds": seeds, "held": HELD, "ties": ties}
    return WORDS.table("goals", lines, columns, **about)


def best_columns(values: Mapping[str, Spread | None], limit: float) -> set[str]:
    """The column with the largest mean, and those that the test cannot tell from it if it could
    with so many seeds."""
    known = {column: value.values for column, value in values.items() if value is not None}
    if not known:
        return set()
    best = max(known.values(), key=statistics.fmean)

    def is_tie(own: Sequence[float]) -> bool:
        return least_p(len(own), len(best)) < limit <= rank_sum_p(own, best)

    return {column for column, own in known.items() if own is best or is_tie(own)}


def problems_table(results: TrialResults) -> Table:
    """Table 3: the problems, ours and the paper's."""
    lines: list[list[Cell | str]] = []
    for domain, problems in results.problems.items():
        for split in SPLITS:
            sizes = [entry.objects for entry in getattr(problems, split)]
            printed = PRINTED.get(domain, {}).get(split, {})
            left_out = str(len(problems.left_out)) if split == "test" else ""
            counts = [str(len(sizes)), str(printed.get("problems", ""))]
            objects = [f"{min(sizes)}-{max(sizes)}", printed.get("objects", "")]
            about = printed.get("parameters", "")
            lines.append([f"{domain}/{split}", about, *counts, *objects, left_out])
    return WORDS.table("problems", lines)


def effort_table(results: TrialResults) -> Table:
    """Evaluations of the learned columns against their bases, in the same run."""
    found = searches_of(results)
    columns = [column for column in found.columns if COLUMNS[column].base in found.columns]
    ratios = {
        domain: [found.effort(domain, column, str(COLUMNS[column].base)) for column in columns]
        for domain in found.domains
    }
    lines: list[list[Cell | str]] = [
        [domain, *(Cell(number_text(one, 3), one is not None and one < 1) for one in line)]
        for domain, line in ratios.items()
    ]
    known = [list(filter(None, column)) for column in zip(*ratios.values(), strict=True)]
    means = [statistics.geometric_mean(one) if one else None for one in known]
    lines.append(["geometric mean", *(number_text(mean, 3) for mean in means)])
    names = [f"{column} / {COLUMNS[column].base}" for column in columns]
    return WORDS.table("effort", lines, names, limit=found.limit)


def ablation_table(results: TrialResults, study: TrialStudy) -> Table:
    """What each setting is worth: goals in training, solved problems and their evaluations."""
    found, lines = searches_of(results, study.name), []
    for domain in found.domains:
        for column in found.columns:
            rows = trainings_of(results, domain, column, study.name)
            goals = Spread.of([float(row["goals"]) for row in rows]) if rows else None
            base = COLUMNS[column].base
            effort = found.effort(domain, column, base) if base else None
            texts = [text_of(goals), text_of(found.solved(domain, column)), number_text(effort, 3)]
            lines.append([domain, column, str(found.tests(domain, column)), *texts])
    return WORDS.table("ablation", lines, study=study, seeds=len(study.seeds))


def equal_time_table(results: TrialResults, study: TrialStudy) -> Table:
    """What the same time for learning is worth, beside the default planner."""
    found = searches_of(results, study.name)
    groups = {**{domain: [domain] for domain in found.domains}, "all": found.domains}
    lines = [[name, *_equal_time_cells(found, own, study.limit)] for name, own in groups.items()]
    columns = (text for column in found.columns for text in (column, "seconds"))
    return WORDS.table("equal-time", lines, columns, study=study, default=DEFAULT)


def _equal_time_cells(found: Searches, domains: Sequence[str], limit: float) -> list[Cell | str]:
    rows = {c: [r for d in domains for r in found.rows(d, c)] for c in found.columns}
    solved = {column: sum(row["solved"] for row in own) for column, own in rows.items()}
    cells: list[Cell | str] = [str(max(map(len, rows.values())))]
    for column, own in rows.items():
        if not own:
            cells += [MISSING, MISSING]
            continue
        spent = [max(1e-3, row["seconds"] if row["solved"] else limit) for row in own]
        is_best = solved[column] == max(solved.values())
        cells += [Cell(str(solved[column]), is_best), f"{statistics.geometric_mean(spent):.3g}"]
    return cells


def appendix(results: TrialResults) -> dict[str, Row]:
    """Of each domain of appendix A.7 in the suite, how learning on its first problems and searching
    them went. That is no test of a heuristic, since both are the same problems."""
    found = {row["domain"]: {**row, "solved": 0} for row in results.trainings.get(APPENDIX, ())}
    for row in found.values():
        row["outcome"] = row["error"] or WORKS
    for search in results.searches.get(APPENDIX, ()):
        row = found[search["domain"]]
        row["solved"] += search["solved"]
        if search["status"] not in EXPLAINED:
            row["outcome"] = search["status"]
    return found


def compatibility_table(results: TrialResults, study: TrialStudy) -> Table:
    """A line for each domain of the appendix, whether the suite has it or not."""
    known = appendix(results)
    counts = ("problems", "steps", "goals", "solved")
    lines = []
    for domain in COMPATIBLE:
        row = known.get(domain)
        shown = [str(row.get(name, 0)) if row else "" for name in counts]
        lines.append([domain, *shown, row["outcome"] if row else "not in the suite"])
    good = sum(row["outcome"] == WORKS for row in known.values())
    return WORDS.table("compatibility", lines, good=good, known=len(known), study=study)


def all_tables(results: TrialResults) -> list[Table]:
    tables = []
    for study in results.studies:
        if study.name == PAPER:
            tables += [coverage_table(results, study), effort_table(results), seeds_table(results)]
            if any(column in study.columns for column in SHAPED):
                tables.append(goals_table(results, study))
            tables.append(problems_table(results))
        if study.name == AS_RUN and (other := as_run(results)):
            title = WORDS.text("as_run")
            own = [one for one in all_tables(other) if one.name != "problems"]
            tables += [
                replace(one, name=f"{one.name}-as-run", title=f"{one.title} ({title})")
                for one in own
            ]
        if study.name == ABLATION:
            tables.append(ablation_table(results, study))
        if study.name == EQUAL_TIME:
            tables.append(equal_time_table(results, study))
        if study.name == APPENDIX:
            tables.append(compatibility_table(results, study))
    return tables
