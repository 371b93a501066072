from __future__ import annotations

import json

import pytest

from studio.engine.core import options
from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError


class Pet(Configured, family="pet"):
    """A family."""

    positional = ("name_length", "weight")

    weight = options.number("Weight.", 1.5, low=0.0)


class Cat(Pet, aliases=("kitty",)):
    """A member with an option of every kind."""

    name_length = options.integer("Letters.", low=1, high=9)
    fluffy = options.flag("Whether it is.")
    colour = options.choice("Colour.", "black", "red")
    paws = options.pair("WelcomeState and back.", (2, 2), label="Feet", effect="More run faster.")
    years = options.optional_integer("Age.", low=0)
    naps = options.numbers("Lengths.", (), low=0.0)


class Fish(Pet):
    """A member that changes a default."""

    weight = options.number("Weight.", 0.1, low=0.0)


def test_bounds_are_written_in_full() -> None:
    option = options.integer("A count.", low=1)
    with pytest.raises(ParameterError, match="from 1 to 2147483647, got 0"):
        option.check(0, "it")


def test_options_read_as_values_and_keep_their_declaration() -> None:
    cat = Cat(3, 2, paws=1, naps=[1, 2.5])
    assert (cat.name_length, cat.weight, cat.fluffy, cat.colour) == (3, 2.0, False, "black")
    assert (cat.paws, cat.years, cat.naps) == ((1, 1), None, (1.0, 2.5))
    assert Cat.paws.doc == "WelcomeState and back."
    assert Fish().weight == 0.1
    assert [o.name for o in Fish.options] == ["weight"]


def test_an_option_says_what_forms_need_where_it_is_declared() -> None:
    assert (Cat.paws.label, Cat.paws.effect) == ("Feet", "More run faster.")
    assert (Cat.name_length.label, Cat.name_length.effect) == ("Name length", "")
    assert Cat.option("paws") is Cat.paws
    assert options.integer("Letters.", low=1, start=5).named("letters").start == 5
    assert [o.form_editor for o in Cat.options] == [
        "integer", "flag", "choice", "pair", "integer", "numbers", "number",
    ]  # fmt: skip
    sizes = options.spec("Sizes.", "s", lambda value, _: str(value), str, choices=("s", "m"))
    assert sizes.form_editor == "choice"
    assert options.choice("Only one.", "same").is_fixed
    assert options.integer("Only one.", 1, low=1, high=1).is_fixed
    assert not Cat.colour.is_fixed
    with pytest.raises(ParameterError, match=r"unknown option 'pawz'"):
        Cat.option("pawz")


def test_only_what_is_not_default_goes_to_json_and_it_comes_back() -> None:
    cat = Cat(3, years=4, naps=(0.5,))
    assert cat.to_json() == {
        "type": "Cat", "config": {"name_length": 3, "years": 4, "naps": [0.5]},
    }  # fmt: skip
    again = Pet.from_json(json.loads(json.dumps(cat.to_json())))
    assert again == cat
    assert again != cat.replace(fluffy=True)
    assert isinstance(Pet.resolve("Fish"), Fish)
    assert Pet.resolve({"type": "kitty", "config": {"name_length": 1}}) == Cat(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "name_length must be given"),
        ({"name_length": 0}, r"\[Cat\] name_length: expected a whole number from 1 to 9, got 0"),
        ({"name_length": 1.0}, "whole number"),
        ({"name_length": True}, "whole number"),
        ({"name_length": 1, "weight": "1"}, "weight: expected a number of at least 0, got '1'"),
        ({"name_length": 1, "weight": float("inf")}, "weight"),
        ({"name_length": 1, "weight": 10**400}, "weight"),
        ({"name_length": 1, "fluffy": 1}, "true or false"),
        ({"name_length": 1, "colour": "blue"}, "one of black, red"),
        ({"name_length": 1, "paws": [1, 2, 3]}, "or two of them"),
        ({"name_length": 1, "paws": [[1], 2]}, "whole number"),
        ({"name_length": 1, "naps": "12"}, "a list of numbers"),
        ({"name_length": 1, "naps": [None]}, "number"),
        ({"name_length": None}, "whole number"),
        ({"name_length": 1, "tail": 3}, "unknown option 'tail'"),
    ],
)
def test_wrong_values_are_refused_in_a_sentence(given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Cat.from_config(given)


@pytest.mark.parametrize(
    "document",
    [None, [], "Dog", {"type": "Dog"}, {"type": 3}, {"type": "Cat", "code": "x"},
     {"type": "Cat", "config": []}, {"type": "Pet"}],
)  # fmt: skip
def test_a_family_is_closed(document: object) -> None:
    with pytest.raises(ParameterError):
        Pet.resolve(document)


def test_too_many_or_doubled_values_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 2 values"):
        Cat(1, 2.0, True)
    with pytest.raises(ParameterError, match="given twice"):
        Cat(1, name_length=2)


@pytest.mark.parametrize("name", ["replace", "members", "order"])
def test_an_option_hides_nothing_of_its_base(name: str) -> None:
    with pytest.raises(TypeError, match=rf"Dog\.{name} would hide \w+\.{name}"):
        type("Dog", (Pet,), {name: options.number("Hidden.", 1.0)})
    assert "Dog" not in Pet.members
