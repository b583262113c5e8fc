"""Recipes: what a learner chooses from, as data (recipes.toml).

A row says how a model is made: teacher, features, model, objective, fit. Every model races in every
search of the recipe, and so do searches that need no model.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hstar.pddl.errors import check_known
from hstar.planning.specification import SearchSpecification
from hstar.slots.model_file import ModelFile
from hstar.slots.models import MODELS
from hstar.slots.teachers.registry import TEACHERS
from hstar.training.fit import ACTING, ModelRow, fit_for


@dataclass(frozen=True, slots=True)
class Recipe:
    """`searches` use a model, `plain_searches` need none. Shares of the time, from the beginning:
    `labelling`, `fitting`, `racing`; the rest is for the verdict. `fallback` is a teacher to ask as
    well where fewer than `fewest` problems have labels. At most `most_held_out` of the problems
    choose and judge. `trial_share` of the time is for one search."""

    rows: tuple[ModelRow, ...]
    searches: tuple[SearchSpecification, ...]
    plain_searches: tuple[SearchSpecification, ...] = ()
    fallback: str | None = None
    fewest: int = 5
    seconds: float = 600.0  # unless the user says
    labelling: float = 0.3
    fitting: float = 0.5
    racing: float = 0.85
    most_held_out: int = 2**31
    trial_share: float = 1 / 150
    states: int | None = None  # labelled by teachers that sample
    corrections: int = 0  # times the best model may learn from where it goes wrong

    def name_of(self, row: ModelRow) -> str:
        """What tells a row from the others."""
        asked = row.teacher_options
        same = all(one.teacher_options == asked for one in self.rows)
        options = {**({} if same else asked), **row.options}
        said = [n if value is True else f"{n} {value}" for n, value in options.items() if value]
        for slot in ("features", "objective", "teacher"):
            if len({getattr(one, slot) for one in self.rows}) > 1 or slot == "objective":
                said.append(str(getattr(row, slot)))
        return f"{row.model} model ({', '.join(said)})"

    def searches_with(self, file: ModelFile) -> list[SearchSpecification]:
        """All searches that a model can be used in."""
        ranks = "operators" in file.metadata
        return [search for search in self.searches if ranks or not search.ranked]


def _recipe(rows: Any, row: Any = None, **held: Any) -> Recipe:
    made = tuple(ModelRow(**{**(row or {}), **one}) for one in rows)
    for name in ("searches", "plain_searches"):
        held[name] = tuple(SearchSpecification(cost="one", **one) for one in held.get(name, ()))
    return Recipe(made, **held)


_HELD = Path(__file__).with_name("recipes.toml").read_text(encoding="utf-8")
RECIPES = {name: _recipe(**held) for name, held in tomllib.loads(_HELD).items()}


@dataclass(frozen=True, slots=True)
class SlotChoice:
    """Slots that a user names in place of those of a recipe, and options for teacher and model."""

    teacher: str | None = None
    features: str | None = None
    model: str | None = None
    objective: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, recipe: Recipe) -> Recipe:
        """Raises ValueError for names that are not known and slots that do not fit together."""
        rows: list[ModelRow] = []
        for row in map(self._row, recipe.rows):
            if row not in rows:
                fit_for(row).check(row)
                rows.append(row)
        fallback = recipe.fallback if self.teacher is None else None
        return replace(recipe, rows=tuple(rows), fallback=fallback)

    def _row(self, row: ModelRow) -> ModelRow:
        """Options of a slot that is named anew are left behind."""
        teacher, model = self.teacher or row.teacher, self.model or row.model
        features = self.features or row.features
        if self.features is None and self.model is not None:
            reads = MODELS.find(model).features
            features = features if features in reads else reads[0]
        same_model = (model, features) == (row.model, row.features)
        options = dict(row.options) if same_model else {}
        teacher_options = dict(row.teacher_options) if teacher == row.teacher else {}
        if features != row.features:
            teacher_options.pop("alike", None)  # it suits WL features only
        chosen = replace(
            row,
            teacher=teacher,
            features=features,
            model=model,
            objective=self.objective or row.objective,
            fit=row.fit if same_model and teacher == row.teacher else None,
        )
        if fit_for(chosen).acts:
            return replace(chosen, teacher_options={**teacher_options, **self.options})
        taught = TEACHERS.find(teacher)
        if taught.prepare is not None:
            raise ValueError(
                f"the teacher '{teacher}' reads files beside the problems; use it with 'hstar "
                "label' and 'hstar train'"
            )
        own = {name: text for name, text in self.options.items() if name in taught.options}
        settings = taught.settings(own)
        teacher_options |= {name: settings[name] for name in own}
        options |= {n: value_of(v) for n, v in self.options.items() if n not in own}
        return replace(chosen, teacher_options=teacher_options, options=options)


def find_recipe(
    name: str | None, is_folder: bool, choice: SlotChoice, states: int | None = None
) -> Recipe:
    """The recipe of a name, or the one that fits the input, with the slots that were chosen. Raises
    ValueError."""
    if name is None:
        name = "domain" if is_folder else "problem"
        acts = choice.teacher in ACTING.values() and choice.model is choice.objective is None
        name = choice.teacher if choice.teacher is not None and acts else name
    check_known("recipe", name, RECIPES)
    for own in choice.options.keys() & {"states", "seed"}:
        raise ValueError(f"--option {own} is --{own} here")
    recipe = choice.apply(RECIPES[name])
    return recipe if states is None else replace(recipe, states=states)


def value_of(text: Any) -> Any:
    """A number or a word of JSON where the text is one, else the text."""
    try:
        return json.loads(text.lower()) if isinstance(text, str) else text
    except ValueError:
        return text
