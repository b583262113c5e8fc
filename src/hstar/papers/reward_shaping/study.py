"""The experiments of "Reinforcement Learning for Classical Planning: Viewing Heuristics as Dense
Reward Generators" (Gehring, Asai, Chitnis, Silver, Kaelbling, Sohrabi and Katz, ICAPS 2022).

    problems   generated or given, smaller ones to train and larger ones to test with
    models     every learner and seed, on the training problems
    searches   every column on the test problems, a limited number of evaluations
    domains    those of appendix A.7: does learning work on them at all?
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hstar.experiments.bench import SuiteError
from hstar.experiments.study import (
    Claim,
    Conclusion,
    Entry,
    Report,
    Subject,
    TrialResults,
    TrialRun,
    TrialScale,
    TrialStudy,
    claims_table,
    domain_folders,
    failures,
    first_problems,
    make_problems,
    read_problems,
    read_scales,
    read_toml,
)
from hstar.papers.reward_shaping.figures import figures
from hstar.papers.reward_shaping.learners import APPENDIX, COLUMNS, LEARNERS, PRINTED, SHAPED
from hstar.papers.reward_shaping.tables import (
    COMPATIBLE,
    COVERAGE,
    PAPER,
    WORKS,
    all_tables,
    appendix,
    look_of,
    printed,
    searches_of,
)
from hstar.pddl import find_problems

INTRODUCTION = (
    "A value function of a domain is learned by reinforcement, without labels: from episodes on "
    "small problems, with the discounted value of a classical heuristic as potential (Gehring, "
    "Asai, Chitnis, Silver, Kaelbling, Sohrabi and Katz, 2022). Greedy search with it solves "
    "larger problems. No checkpoint, seed or setting was chosen on test problems, and no test "
    "problem is a training problem too."
)
SCALES = read_scales(__file__, TrialScale)


class RewardShaping(TrialRun):
    """`suite` is a folder of domains: DOMAIN/train and DOMAIN/test, or for the domains of appendix
    A.7 DOMAIN with its problems."""

    scales = SCALES
    columns = COLUMNS
    learners = LEARNERS

    @classmethod
    def scale_of(cls, name: str, **options: Any) -> TrialScale:
        scale = super().scale_of(name, **options)
        for study in scale.studies:
            for column in study.columns if study.steps else ():
                learner = COLUMNS[column].learner
                kind = "paper" if learner in (*SHAPED, APPENDIX) else learner
                if kind is not None and kind not in study.steps:
                    raise ValueError(f"the column {column} needs steps; add --steps {kind}=NUMBER")
        return scale

    def execute(self) -> TrialResults:
        """Raises SuiteError and PddlError for the problems, too."""
        folders, compatible = self.find_folders()
        self.keep_settings()
        problems = {name: self.read(name, folder) for name, folder in folders.items()}
        kept = [one for one in self.scale.studies if one.name != APPENDIX or compatible]
        results = TrialResults(tuple(kept), {}, {}, problems)
        for study in kept:
            subjects = list(problems.values())
            if study.name == APPENDIX:
                subjects = [first_problems(*one, study.tests) for one in compatible.items()]
            self.learn_and_search(study, subjects, results)
        return results

    def read(self, domain: str, folder: Path) -> Subject:
        """Problems of a domain, generated if the folder is that of the run."""
        part = self.directory / "problems" / f"{domain}.json"
        is_ours = folder.is_relative_to(self.directory)
        if self.begins(part, f"reading problems of {domain}") and is_ours:
            make_problems(folder, self.scale.generated[domain], self.seed)
        return read_problems(domain, folder, part)

    def find_folders(self) -> tuple[dict[str, Path], dict[str, Path]]:
        """The folders of domains to train and test with, and those of appendix A.7. Raises
        SuiteError if the scale needs some that there are not."""
        scale, suite = self.scale, self.suite
        names = {study.name for study in scale.studies}
        is_paper = names != {APPENDIX}
        given = domain_folders(suite, PRINTED) if suite is not None and is_paper else {}
        compatible = {}
        if APPENDIX in names and suite is not None:
            compatible = {name: suite / name for name in COMPATIBLE if find_problems(suite / name)}
        if not given and scale.generated and (suite is None or compatible):
            given = {name: self.directory / "problems" / name for name in scale.generated}
        if not given and (is_paper or not compatible):
            wanted = "DOMAIN/train and DOMAIN/test of problems"
            if not is_paper:
                wanted = "of problems with the names of appendix A.7"
            if suite is None:
                raise SuiteError(f"this scale needs folders {wanted}; name theirs with --suite", "")
            raise SuiteError(f"there are no folders {wanted}", str(suite))
        chosen = scale.select({**compatible, **given})
        kept = [{n: one[n] for n in one if n in chosen} for one in (given, compatible)]
        return kept[0], kept[1]

    def problems(self, study: TrialStudy, subject: Subject) -> Sequence[Entry]:
        if study.name == APPENDIX:
            return subject.test
        return subject.chosen(study.tests, PRINTED.get(subject.domain, {}).get("sizes", 0))

    def report(self, results: TrialResults, scale: str) -> Report:
        found, failed = claims(results), failures(results)
        parts: dict[str, Sequence[Any]] = {
            "Tables": all_tables(results),
            "Claims": [claims_table(found)] if found else (),
            "Figures": figures(results) if results.searches.get(PAPER) else (),
            "What failed": [failed] if failed else (),
        }
        lines = [f"{claim.verdict:<14} {claim.text}" for claim in found]
        domains = appendix(results)
        if domains:
            good = sum(row["outcome"] == WORKS for row in domains.values())
            lines.append(f"{good} of {len(domains)} domains of appendix A.7 work")
        about = f"Heuristics as dense rewards ({scale})", INTRODUCTION, self.facts(results)
        return Report(*about, parts, "\n".join(lines))

    def facts(self, results: TrialResults) -> list[str]:
        """What was run."""
        memory = self.scale.memory_limit / 2**30
        facts = [
            *(study.described() for study in results.studies),
            f"{self.jobs} runs at a time, {memory:g} GiB for each",
            "problems generated here" if self.suite is None else f"problems of {self.suite}",
        ]
        if results.problems:
            left_out = sum(len(one.left_out) for one in results.problems.values())
            facts.append(f"test problems left out because they are training problems: {left_out}")
        for study in results.studies:
            spent = sum(row["seconds"] for row in results.trainings[study.name])
            searched = sum(row["seconds"] for row in results.searches[study.name])
            facts.append(f"{study.name}: {spent:.0f} s of learning, {searched:.0f} s of searching")
        return facts


def claims(results: TrialResults) -> list[Claim]:
    """Those of the studies that were run, in the order of the paper."""
    made = []
    for one in read_toml(__file__, "claims.toml").items():
        conclusion = Conclusion.read(*one)
        study = conclusion.about or PAPER
        if results.searches.get(study):
            ours = look_of(results, study), searches_of(results, study).domains
            made.append(conclusion.judged(ours, (printed, COVERAGE)))
    return made
