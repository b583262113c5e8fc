"""Recipes are data; slots that a user names take the place of theirs."""

from __future__ import annotations

import pytest

from hstar.learning.recipe import RECIPES, Recipe, SlotChoice, value_of
from hstar.slots.teachers import TEACHERS
from hstar.training.fit import FITS, fit_for


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_fits_together(name: str) -> None:
    recipe = RECIPES[name]
    names = [recipe.name_of(row) for row in recipe.rows]
    assert len(set(names)) == len(names)
    for row in recipe.rows:
        fit = fit_for(row)
        assert fit.takes(row) and fit in [FITS.find(one) for one in FITS]
        fit.check(row)
        if not fit.acts:
            TEACHERS.find(row.teacher).settings(row.teacher_options)
    for search in recipe.plain_searches:
        assert search.heuristic is not None
    assert recipe.labelling <= recipe.fitting <= recipe.racing < 1


def test_named_slots_take_the_place_of_those_of_all_rows() -> None:
    domain = RECIPES["domain"]
    squared = SlotChoice(objective="squared").apply(domain)
    assert {row.objective for row in squared.rows} == {"squared"}
    assert len(squared.rows) == len({repr(row) for row in domain.rows}) - 2  # no row twice
    network = SlotChoice(model="nlm", objective="l-gbfs").apply(domain)
    (row,) = network.rows  # options of a linear model mean nothing to a network
    assert (row.model, row.features, row.options) == ("nlm", "atoms", {})
    assert not row.teacher_options  # what is alike to WL features is not to a network
    assert row.teacher == "siblings" and network.fallback == "planner"
    optimal = SlotChoice(teacher="optimal").apply(domain)
    assert {row.teacher for row in optimal.rows} == {"optimal"}
    assert optimal.fallback is None  # who names a teacher wants no other
    assert [row.options for row in optimal.rows] == [row.options for row in domain.rows]


def test_options_go_to_whoever_has_them() -> None:
    chosen = {"stride": "2", "hidden": "7", "width": "4"}
    choice = SlotChoice(teacher="fsm", objective="l-gbfs", options=chosen)
    for row in choice.apply(RECIPES["problem"]).rows:
        assert row.teacher_options.get("stride") == 2
        assert (row.options["hidden"], row.options["width"]) == (7, 4)
    exact = SlotChoice(options={"alike": "no"}).apply(RECIPES["domain"]).rows
    assert {row.teacher_options["alike"] for row in exact} == {False}
    (row,) = SlotChoice(options={"gamma": "0.9"}).apply(RECIPES["rollouts"]).rows
    assert row.teacher_options == {"gamma": "0.9"} and not row.options
    assert [value_of(text) for text in ("3", "0.5", "True", "no", "a:b", 4)] == [
        3, 0.5, True, "no", "a:b", 4,
    ]  # fmt: skip


WRONG: list[tuple[str, SlotChoice, str]] = [
    ("domain", SlotChoice(teacher="sibling"), "did you mean 'siblings'"),
    ("domain", SlotChoice(features="wll"), "did you mean 'wl'"),
    ("domain", SlotChoice(model="linaer"), "did you mean 'linear'"),
    ("domain", SlotChoice(objective="square"), "unknown objective 'square'"),
    ("domain", SlotChoice(features="atoms"), "'linear' cannot read features 'atoms'; it reads"),
    ("domain", SlotChoice(teacher="plans"), "reads files beside the problems"),
    ("domain", SlotChoice(options={"round": "2"}), "no option 'round'; it has: rounds"),
    ("domain", SlotChoice(teacher="fsm", options={"stride": "0"}), "option stride cannot be '0'"),
    ("domain", SlotChoice(model="nlm", options={"x": "1"}), "no option 'x'; it has: breadth"),
    ("problem", SlotChoice(options={"steps": "5"}), "a network on facts has no option 'steps'"),
    ("rollouts", SlotChoice(options={"tau": "0"}), "no option 'tau'; their options are: preset"),
    ("rollouts", SlotChoice(options={"gamma": "1"}), "gamma must be above 0 and below 1"),
]


@pytest.mark.parametrize(("name", "choice", "message"), WRONG)
def test_what_does_not_fit_is_refused_before_any_work(
    name: str, choice: SlotChoice, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        choice.apply(RECIPES[name])


def test_rows_of_one_recipe_differ_by_name_in_what_they_differ_in() -> None:
    rows = (RECIPES["domain"].rows[0], RECIPES["problem"].rows[0])
    names = [Recipe(rows, ()).name_of(row) for row in rows]
    assert names[0] == "linear model (alike, rounds 2, orders, wl, rank-svm, siblings)"
    assert names[1].startswith("mlp model (") and names[1].endswith("facts, squared, regression)")
