"""The one learner: problems in, a model file with its search and its verdict out.

    1. split     the smaller problems are learned from; of the larger ones half choose, half judge
    2. label     a teacher labels states of the smaller ones, as far as the time goes
    3. fit       models of all rows of the recipe
    4. race      models and searches race on a ladder of growing problems
    5. correct   where the winner goes wrong on training problems, it is told better
    6. judge     the best and the default planner search on problems that have chosen nothing

The same steps serve a folder of problems, one problem (states that walks reach are the problems),
and reinforcement learning, which needs no labels. Labels, fits and searches are jobs of a pool of
processes. Finished ones are kept in a journal. With `steps` the limits count work, not seconds, and
equal seeds give equal files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hstar.learning.corrections import find_minima
from hstar.learning.judge import Judge, Verdict
from hstar.learning.making import Labels, ModelMaker
from hstar.learning.options import Kept, LearnOptions, NotKept, Watch
from hstar.learning.portfolio import Candidate, Schedule, choose_schedule
from hstar.learning.race import Rung, RungTrials, race
from hstar.learning.recipe import Recipe
from hstar.learning.split import split, usable_tasks
from hstar.learning.trials import (
    ITSELF,
    Say,
    Score,
    Searcher,
    Start,
    Trial,
    Workers,
    is_spent,
)
from hstar.pddl import Problem
from hstar.pddl.errors import count
from hstar.planning.result import SearchResult
from hstar.planning.specification import DEFAULT, DEFAULT_PLANNER
from hstar.runtime.pool import Pool
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.features import FEATURES
from hstar.slots.model_file import ModelFile, to_bytes
from hstar.training.fit import fit_for
from hstar.training.fit.choices import Minima

SCREENING = 8  # on the first rung of the race, a search gets this part of what others get
LONGER = (4, 16)  # times as much effort for the verdict where hardly anything is solved
MOST_TRYING = 10.0  # seconds of a search in a race
ENDS = {
    "out of time": "the time was over",
    "out of memory": "the memory was used up",
    "interrupted": "the run was interrupted",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """`file` is None if nothing was learned; it names its search and its verdict. `labelled` counts
    the problems that had labels to learn from, `models` those that raced. `result` is that
    of a search of the race that solved the problem itself."""

    file: ModelFile | None
    chosen: str | None
    verdict: Verdict
    labelled: int
    models: int
    seconds: float
    interrupted: bool = False
    unfinished: bool = False  # stopped by a signal or a limit
    result: SearchResult | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON output."""
        names = ("chosen", "labelled", "models", "seconds", "interrupted")
        return {"verdict": asdict(self.verdict), **{name: getattr(self, name) for name in names}}


def learn(
    problems: Sequence[Problem],
    recipe: Recipe,
    options: LearnOptions,
    budget: Budget,
    journal: Kept | None = None,
    say: Say = lambda _: None,
) -> Outcome:
    """Learn from problems of one domain. Raises ValueError if there is nothing to learn from, and
    OutOfResources for memory and Ctrl-C before there was a model, and for termination."""
    with Pool(options.processes, is_spent) as pool, Progress("learning") as progress:
        watch = Watch(options, journal or NotKept(), progress)
        if watch.before:
            say(f"going on after {watch.before:.0f} s")
        own = budget.within(options.seconds_left(watch.before))
        each = options.preparing_seconds if len(problems) > 1 else math.inf
        tasks = usable_tasks(problems, own, say, each)
        check_features(recipe, len(tasks))
        parts = split(tasks, recipe.most_held_out, options.seed, own)
        say(parts.text)
        workers = Workers(pool, say)
        maker = ModelMaker(recipe, options, parts, workers, watch, own)
        return LearningRun(recipe, options, maker).run()


def check_features(recipe: Recipe, problems: int) -> None:
    """Raises ValueError for features of one problem where there are several."""
    for name in dict.fromkeys(row.features for row in recipe.rows):
        if problems > 1 and FEATURES.find(name).needs == "space":
            raise ValueError(
                f"features '{name}' are those of one problem, but here are {problems}; name one "
                "problem, or other features"
            )


class LearningRun:
    """One call of `learn`, from the models on."""

    def __init__(self, recipe: Recipe, options: LearnOptions, maker: ModelMaker) -> None:
        self.recipe, self.options, self.maker = recipe, options, maker
        self.split, self.workers, self.watch = maker.split, maker.workers, maker.watch
        self.say = maker.workers.say
        self.effort = options.effort(recipe.trial_share, MOST_TRYING)
        self.trials = RungTrials(self.workers, self.watch, self.effort.limit)
        self.ladder = self.split.choice
        if not options.is_judged:
            itself = Start(ITSELF, self.split.training[-1].problem)
            self.ladder = replace(self.ladder, last=itself)
        self.candidates: dict[str, Candidate] = {}  # that race, by label
        self.scores: dict[str, Score] = {}
        self.minima: dict[str, Minima] = {}
        self.verdict: Verdict | None = None  # on as many problems as were tried so far

    def run(self) -> Outcome:
        """The best so far, whatever ends the run."""
        ended = ""
        try:
            self.maker.make_all()
            if self.maker.models:
                models = [one for name in self.maker.models for one in self._candidates(name)]
                self._race([*models, *(Candidate(None, one) for one in self.recipe.plain_searches)])
                self._correct()
            chosen = self._choose()
            if chosen is not None and self.options.is_judged:
                self._judge(chosen)
        except KeyboardInterrupt:
            ended = "interrupted"
        except OutOfResources as error:
            ended = error.status
            is_lost = ended == "out of memory" and not self.maker.models
            if is_lost or ended == "terminated":
                raise
        if ended == "interrupted" and not self.maker.models:
            raise stopped("interrupt")
        return self._outcome(ended)

    def _outcome(self, ended: str) -> Outcome:
        """`ended` is what stopped the run, if anything did but its own time."""
        chosen, models, verdict = self._choose(), self.maker.models, self.verdict
        interrupted = ended == "interrupted"
        if verdict is None:
            says = "the best so far is kept; it was not compared with the default planner, because"
            verdict = Verdict("unknown", f"{says} {ENDS[ended or 'out of time']}")
        if not models:
            why = "no training problem was labelled within the limits"
            if self.maker.labelled:
                labelled = count(self.maker.labelled, "problem")
                why = f"no model of the labels of {labelled} could be made"
            if ended:
                why = f"{ENDS[ended]} before there was a model"
            verdict = Verdict(DEFAULT, f"keep the default planner, because {why}")
        file, label = None, None
        if models:
            if chosen is None:  # nothing was tried
                chosen = Schedule((self._candidates(next(iter(models)))[0],))
            label = chosen.label
            file = models[chosen.model or next(iter(models))]
            search = DEFAULT_PLANNER if verdict.use == "default" else chosen.search()
            training = {**file.metadata["training"], "chosen": label}
            told = {"training": training, "search": search.to_dict(), "verdict": asdict(verdict)}
            file = ModelFile({**file.metadata, **told}, file.tensors)
        gone = self.watch.gone()
        is_early = self.options.is_timed and gone < 0.9 * self.options.seconds
        if is_early and models and not ended:
            self.say(f"everything was tried after {gone:.0f} of {self.options.seconds:.0f} s")
        result = next((one.result for one in self.trials.made.values() if one.result), None)
        counts = self.maker.labelled, len(models)
        unfinished = interrupted or (bool(ended) and (is_early or not self.options.is_timed))
        return Outcome(file, label, verdict, *counts, gone, interrupted, unfinished, result)

    # Race

    def _candidates(self, model: str) -> list[Candidate]:
        searches = self.recipe.searches_with(self.maker.models[model])
        return [Candidate(model, search) for search in searches]

    def _race(self, candidates: Sequence[Candidate]) -> None:
        labelled = {one.label: one for one in candidates}
        self.candidates |= labelled
        self.scores |= race(list(labelled), self.ladder, self._on_choice_rung, self.effort.limit)

    def _on_choice_rung(self, rung: Rung, alive: Sequence[str]) -> dict[str, list[Trial]]:
        is_first = rung.name == f"{self.ladder.name} 0"
        effort = self.effort.divided(SCREENING) if is_first else self.effort
        if rung.starts[0].name == ITSELF:  # all the time that is left, shared evenly
            left = self.recipe.racing * self.options.seconds - self.watch.gone()
            waves = math.ceil(len(alive) / self.options.processes)
            effort = replace(effort, seconds=max(left / waves, effort.seconds))
        searchers = {label: self._searcher(self.candidates[label]) for label in alive}
        may_start = self.watch.may_start(self.recipe.racing, effort.seconds / 2)
        found = self.trials.on_rung(rung, searchers, effort, may_start)
        if is_first and not any(one.solved for made in found.values() for one in made):
            again = replace(rung, name=f"{rung.name} again")
            may_start = self.watch.may_start(self.recipe.racing, self.effort.seconds)
            found = self.trials.on_rung(again, searchers, self.effort, may_start)
        scores = {label: Score(tuple(found[label])) for label in alive if label in found}
        best = min(scores, key=lambda one: scores[one].rank, default=None)
        if best is not None:
            objects = max(len(start.problem.objects) for start in rung.starts)
            self.say(
                f"up to {objects} objects, {count(len(scores), 'candidate')}; best so far: {best}: "
                f"{scores[best].text(self.effort.unit)}"
            )
        return found

    def _searcher(self, one: Candidate) -> Searcher:
        content = None if one.model is None else to_bytes(self.maker.models[one.model])
        return Searcher(one.search, content)

    def _choose(self) -> Schedule | None:
        """By all that was tried, even if the race came to no end."""
        scores = self.scores
        if not scores:
            scores = self.trials.scores_so_far(list(self.candidates), self.ladder.name)
        of_candidates = {self.candidates[label]: score for label, score in scores.items()}
        return choose_schedule(of_candidates, self.effort.limit)

    # Corrections

    def _correct(self) -> None:
        """Learn from what the chosen model gets wrong, as long as it gets better."""
        for number in range(1, self.recipe.corrections + 1):
            chosen = self._choose()
            if chosen is None or chosen.model is None:
                return
            row = self.maker.rows[chosen.model]
            may_start = self.watch.may_start(self.recipe.racing, self.effort.seconds)
            if not fit_for(row).corrected or not may_start():
                return
            name = f"{self.recipe.name_of(row)}, corrected {number}"
            more = self._find_minima(chosen.model, self.maker.labels_of(row))
            if not more or not may_start():
                return
            for problem, minima in more.items():
                old = self.minima.get(problem, Minima([], []))
                joined = Minima([*old.states, *minima.states], [*old.values, *minima.values])
                self.minima[problem] = joined
            if not self.maker.corrected(name, chosen.model, self.minima):
                return
            searches = [one.search for one in chosen.candidates if one.model is not None]
            self._race([Candidate(name, search) for search in searches])
            better = self._choose()
            if better is None or better.model != name:
                return

    def _find_minima(self, model: str, labels: Labels) -> dict[str, Minima]:
        """Local minima of a model, by the training problem."""
        content, found, jobs = to_bytes(self.maker.models[model]), {}, []
        for number, attempt in sorted(labels.items()):
            kept = self.watch.read(f"minima {model} {number}")
            if kept is not None:
                found[str(number)] = Minima(*json.loads(kept))
                continue
            start = Start(("training", number), self.split.training[number].problem)
            jobs.append((str(number), start, content, len(attempt.plan)))
        may_start = self.watch.may_start(self.recipe.racing, self.effort.seconds)
        for number, answer in self.workers.answers(find_minima, jobs, self.effort, may_start):
            found[number] = answer
            held = json.dumps([answer.states, answer.values])
            self.watch.keep(f"minima {model} {number}", held.encode())
            self.watch.show(f"{sum(len(one.states) for one in found.values())} counterexamples")
        return {name: minima for name, minima in sorted(found.items()) if minima.states}

    # Verdict

    def _judge(self, chosen: Schedule) -> None:
        searchers = {one.label: self._searcher(one) for one in chosen.candidates}
        longer = LONGER if self.options.is_timed else ()
        ladder, effort = self.split.verdict, self.effort
        on_rung = self._on_verdict_rung
        judge = Judge(searchers, ladder, on_rung, effort.limit, effort.unit, longer)
        for self.verdict in judge.verdicts():
            pass

    def _on_verdict_rung(
        self, rung: Rung, searchers: Mapping[str, Searcher], times: int
    ) -> dict[str, list[Trial]]:
        effort = replace(self.effort, seconds=times * self.effort.seconds)
        trials = replace(self.trials, limit=effort.limit)
        named = replace(rung, name=rung.name + (f" {times} times as long" if times > 1 else ""))
        may_start = self.watch.may_start(1.0, effort.seconds)
        return trials.on_rung(named, searchers, effort, may_start)
