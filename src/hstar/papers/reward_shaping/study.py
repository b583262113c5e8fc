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
    WORKS,
    Claim,
    Conclusion,
    DomainProblems,
    Entry,
    Report,
    TrialResults,
    TrialRun,
    TrialScale,
    TrialStudy,
    all_problems,
    check_domain,
    claims_table,
    domain_folders,
    failures,
    named_scale,
    read_scales,
    read_toml,
)
from hstar.papers.reward_shaping.figures import figures
from hstar.papers.reward_shaping.learners import COLUMNS, LEARNERS, PRINTED, SHAPED
from hstar.papers.reward_shaping.tables import (
    COMPATIBLE,
    COVERAGE,
    PAPER,
    all_tables,
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
SCALES = read_scales(__file__)


class RewardShaping(TrialRun[TrialResults]):
    """`suite` is a folder of domains: DOMAIN/train and DOMAIN/test, or for the domains of appendix
    A.7 DOMAIN with its problems."""

    columns = COLUMNS
    learners = LEARNERS

    @classmethod
    def scale_of(cls, name: str, **options: Any) -> TrialScale:
        scale = named_scale(SCALES, name).changed(COLUMNS, **options)
        for study in scale.studies:
            for column in study.columns if study.steps else ():
                learner = COLUMNS[column].learner
                kind = "paper" if learner in SHAPED else learner
                if kind is not None and kind not in study.steps:
                    raise ValueError(f"the column {column} needs steps; add --steps {kind}=NUMBER")
        return scale

    def execute(self) -> TrialResults:
        """Raises SuiteError and PddlError for the problems, too."""
        folders, compatible = self.find_folders()
        self.keep_settings()
        problems = dict(all_problems(self, folders))
        results = TrialResults(self.scale.studies, {}, {}, problems)
        for study in self.scale.studies:
            self.learn_and_search(study, list(problems.values()), results)
        about = self.scale.compatibility, self.scale.memory_limit
        checks = [
            (self.directory / "domains" / f"{domain}.json", check_domain, (domain, folder, *about))
            for domain, folder in compatible.items()
        ]
        results.domains.extend(self.carry_out("domains of appendix A.7", checks))
        return results

    def find_folders(self) -> tuple[dict[str, Path], dict[str, Path]]:
        """The folders of domains to train and test with, and those of appendix A.7. Raises
        SuiteError if the scale needs some that there are not."""
        scale, suite = self.scale, self.suite
        given = domain_folders(suite, PRINTED) if suite is not None and scale.studies else {}
        compatible = {}
        if scale.compatibility is not None and suite is not None:
            compatible = {name: suite / name for name in COMPATIBLE if find_problems(suite / name)}
        if not given and scale.generated and (suite is None or compatible):
            given = {name: self.directory / "problems" / name for name in scale.generated}
        if not given and (scale.studies or not compatible):
            wanted = "DOMAIN/train and DOMAIN/test of problems"
            if not scale.studies:
                wanted = "of problems with the names of appendix A.7"
            if suite is None:
                raise SuiteError(f"this scale needs folders {wanted}; name theirs with --suite", "")
            raise SuiteError(f"there are no folders {wanted}", str(suite))
        chosen = scale.select({**compatible, **given})
        kept = [{n: one[n] for n in one if n in chosen} for one in (given, compatible)]
        return kept[0], kept[1]

    def problems(self, study: TrialStudy, subject: DomainProblems, column: str) -> Sequence[Entry]:
        sizes = PRINTED.get(subject.domain, {}).get("sizes", 0)
        return subject.chosen(study.tests, sizes)

    def report(self, results: TrialResults, scale: str) -> Report:
        found, failed = claims(results), failures(results)
        parts: dict[str, Sequence[Any]] = {
            "Tables": all_tables(results, self.scale),
            "Claims": [claims_table(found)] if found else (),
            "Figures": figures(results) if results.searches.get(PAPER) else (),
            "What failed": [failed] if failed else (),
        }
        lines = [f"{claim.verdict:<14} {claim.text}" for claim in found]
        if results.domains:
            good = sum(row["outcome"] == WORKS for row in results.domains)
            lines.append(f"{good} of {len(results.domains)} domains of appendix A.7 work")
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
