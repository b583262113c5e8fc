"""One dataclass says how to search; flags, labels, JSON and the core's settings come from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import DATA

import hstar
from hstar import _core
from hstar.commands.arguments import Options, Parser
from hstar.planning.algorithms import SEARCHES
from hstar.planning.option import option
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER, LIMITS, SearchSpecification
from hstar.runtime.resources import Budget

FILES = DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl"
PACKAGE = Path(hstar.__file__).parent
EXAMPLES = [
    SearchSpecification(),
    SearchSpecification("default", max_expansions=5),
    DEFAULT_PLANNER,
    SearchSpecification("model.safetensors", decode="clip"),
    SearchSpecification(("ff", "goalcount"), "gbfs", queues=((0, True), (1, False))),
    SearchSpecification(algorithm="wastar", weight=2.0, seed=3),
    SearchSpecification("hadd", "lazy", alternating=(DEFAULT_PLANNER,), preferred=False),
]


# -- a new option is one field


@dataclass(frozen=True, slots=True)
class Extended(SearchSpecification):
    """With one option more."""

    stroll: int | None = option(
        int, "--stroll N", "steps after an expansion", "stroll {}", default=1,
        core="local_steps", least=0,
    )  # fmt: skip


def test_a_new_option_is_one_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hstar.commands.arguments.SearchSpecification", Extended)
    parser = Parser(prog="test")
    parser.add_search()
    assert "steps after an expansion (default: 1)" in " ".join(parser.format_help().split())
    flags = ["-H", "ff", "-s", "gbfs", "--stroll", "7"]
    chosen = parser.parse_args(flags, Options()).specification()
    assert chosen == Extended("ff", "gbfs", stroll=7)
    assert chosen.label() == "gbfs(ff, stroll 7)"
    assert chosen.describe().endswith("heuristic ff, stroll 7")
    assert chosen.to_dict() == {"heuristic": "ff", "algorithm": "gbfs", "stroll": 7}
    assert Extended.from_dict(chosen.to_dict()) == chosen
    task = hstar.load_task(*FILES)
    assert chosen.for_core(task).local_steps == 7 and Extended().for_core(task).local_steps == 1
    (alone,) = Extended(stroll=7).searches()
    assert alone.stroll == 7 and alone.algorithm == "lazy"
    assert run(task, chosen, Budget()).solved
    for wrong, message in ((-1, "stroll must be finite and at least 0"), (1.5, "a whole number")):
        with pytest.raises(ValueError, match=message):
            Extended(stroll=wrong)  # type: ignore[arg-type]


def test_no_option_is_written_out_elsewhere() -> None:
    """Where searches are asked for, run, sent to workers and reported, no code knows an option."""
    folders = ("commands", "experiments")
    files = [path for folder in folders for path in (PACKAGE / folder).rglob("*.py")]
    files += [PACKAGE / "__init__.py", PACKAGE / "planning/search.py", PACKAGE / "slots/loader.py"]
    # Names that networks, columns of rows, teachers and readers of files have as well.
    general = {"heuristic", "algorithm", "cost", "weight", "batch", "width", "seed", "decode"}
    general.add("trust")
    own = {*SearchSpecification.options(), "queues"} - general - set(LIMITS)
    assert own == {"preferred_by", "preferred", "look_ahead", "ranked", "queues"}
    for path in files:
        text = path.read_text(encoding="utf-8")
        for name in own:
            assert not re.search(rf"[\"'.]{name}\b|\b{name}=", text), (path, name)


def test_every_option_of_an_algorithm_is_a_field_that_it_takes() -> None:
    known = SearchSpecification.options()
    for name, entry in SEARCHES.items():
        assert set(entry.options) <= set(known), name
    core = {one.core for one in known.values() if one.core}
    assert all(hasattr(_core.SearchOptions(), name) for name in core)


@pytest.mark.parametrize("algorithm", SEARCHES)
@pytest.mark.parametrize(
    ("name", "value"), [("weight", 5), ("width", 7), ("batch", 2), ("seed", 1), ("ranked", True)]
)
def test_an_algorithm_refuses_what_it_would_ignore(name: str, value: Any, algorithm: str) -> None:
    if name in SEARCHES[algorithm].options:
        SearchSpecification("model.safetensors", algorithm, **{name: value})
    else:
        with pytest.raises(ValueError, match=f"{algorithm} does not take '{name}'; choose "):
            SearchSpecification("model.safetensors", algorithm, **{name: value})


# -- JSON


@pytest.mark.parametrize("chosen", EXAMPLES, ids=str)
def test_json_and_back(chosen: SearchSpecification) -> None:
    again = SearchSpecification.from_dict(chosen.to_dict())
    assert again.to_dict() == chosen.to_dict()
    assert again.alternating == chosen.alternating and again.said().keys() == chosen.said().keys()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (3, "must be an object"),
        ({"speed": 3}, "no option 'speed'"),
        ({"wieght": 3}, "did you mean 'weight'"),
        ({"weight": None}, "says nothing; leave it out"),
        ({"weight": "5"}, "'weight' must be a number, not '5'"),
        ({"batch": True}, "'batch' must be a whole number, not True"),
        ({"batch": 1.0}, "'batch' must be a whole number"),
        ({"weight": float("inf")}, "finite and at least 1"),
        ({"cost": 1}, "'cost' must be a text"),
        ({"queues": [[0, 1]]}, "queues must be a list of pairs"),
        ({"queues": [[0]]}, "queues must be a list of pairs"),
        ({"queues": "gbfs"}, "queues must be a list of pairs"),
        ({"alternating": {}}, "must be a list of objects"),
        ({"algorithm": "default", "batch": 2}, "takes no options, but this names batch"),
        ({"recommended_by": "ff"}, "no option 'recommended_by'"),
    ],
)
def test_what_is_no_specification_is_refused(said: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchSpecification.from_dict(said)


# -- what a model recommends


class Model:
    """A heuristic of a file that recommends a search."""

    label = "mine"

    def __init__(self, **search: Any) -> None:
        self.search = search

    def __call__(self, states: Any) -> Any:
        return np.ones(len(states))


IN_TURNS = {"algorithm": "gbfs", "cost": "one", "alternating": [{"algorithm": "default"}]}


def test_labels() -> None:
    both = SearchSpecification(Model(**IN_TURNS))
    assert both.label() == "learned + default"
    assert SearchSpecification(Model(**IN_TURNS), batch=4).label() == "learned(batch 4) + default"
    two = Model(algorithm="gbfs", alternating=[{"algorithm": "lazy"}, {"algorithm": "default"}])
    assert SearchSpecification(two).label() == "learned + default"
    assert SearchSpecification(Model(algorithm="gbfs")).label() == "learned"
    assert SearchSpecification(Model(algorithm="default")).label() == "mine: default"
    assert SearchSpecification(Model(**IN_TURNS), "gbfs").label() == "gbfs(mine)"
    assert SearchSpecification(Model()).label("other") == "gbfs(other)"
    assert SearchSpecification().label() == SearchSpecification("default").label() == "default"
    assert SearchSpecification(batch=4).label() == "default(batch 4)"
    described = both.describe()
    assert described.startswith("greedy best-first search, eager; heuristic mine, cost one; in tur")


def counting(seen: list[int]) -> Any:
    def values(states: Any) -> Any:
        seen[0] += len(states)
        return np.ones(len(states))

    return values


def limits_of(chosen: SearchSpecification) -> list[int | None]:
    return [one.max_evaluations for one in chosen.searches()]


def test_the_limits_of_a_model_file_are_not_those_of_the_default_planner() -> None:
    limited = Model(**{**IN_TURNS, "max_evaluations": 2})
    assert limits_of(SearchSpecification(limited)) == [2, None]
    assert limits_of(SearchSpecification(limited, max_evaluations=9)) == [9, 9]
    other = Model(algorithm="gbfs", alternating=[{"algorithm": "lazy", "max_evaluations": 3}])
    assert limits_of(SearchSpecification(other)) == [None, 3]
    result = hstar.plan(*FILES, limited)
    assert result.solved and result.found_by == "default"
    assert hstar.plan(*FILES, limited, max_evaluations=1).status == "gave up"
    assert run(hstar.load_task(*FILES), SearchSpecification(limited), Budget()).solved


def test_names_in_a_model_file_import_nothing() -> None:
    for said in ({"heuristic": "os:getcwd"}, {"alternating": [{"heuristic": "os:getcwd"}]}):
        with pytest.raises(ValueError, match="unknown heuristic: 'os:getcwd'"):
            SearchSpecification(Model(algorithm="gbfs", **said)).searches()


@pytest.mark.parametrize("prefers", [True, False])
def test_a_description_says_once_whether_operators_are_preferred(prefers: bool) -> None:
    said = SearchSpecification("ff", "lazy", preferred=None if prefers else False).describe()
    assert ("with preferred operators" in said) == prefers
    assert ("no preferred operators" in said) != prefers
