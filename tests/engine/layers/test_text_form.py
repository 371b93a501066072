"""Settings written as text: a class of the family is all there is to one."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.core.options import choice, number
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.initializers import Initializer
from studio.engine.layers.regularizers import Regularizer
from studio.engine.layers.text_form import TextForm, TextKinds


class Noise(TextForm, family="noise"):
    """A family of its own."""

    example = "white(2)"


class White(Noise, word="white"):
    """Even noise."""

    gain = number("Gain.", 1.0, low=0.0)
    side = choice("Side.", "both", "left")


class PinkNoise(Noise, word="pink_noise"):
    """Noise without numbers."""


KINDS = TextKinds(Noise, none="none")


@pytest.mark.parametrize(
    ("given", "text"),
    [("white", "white"), (" white( 2 , left ) ", "white(2,left)"),
     ("white(0.5)", "white(0.5,both)"),
     ("pink_noise", "pink_noise"), ("pink_noise()", "pink_noise")],
)  # fmt: skip
def test_text_reads_back(given: str, text: str) -> None:
    found = Noise.parse(given, "it")
    assert found.text == text
    assert Noise.parse(text, "it") == found
    assert Noise.parse(found, "it") is found


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("brown", r"\[it\] expected a noise, got 'brown'"),
        (3, "expected a noise, got 3"),
        (None, "expected a noise, got None"),
        ("white(-1)", r"\[it\] gain: expected a number of at least 0, got -1.0"),
        ("white(loud)", "gain: expected a number of at least 0, got 'loud'"),
        ("white(1,top)", "side: expected one of both, left, got 'top'"),
        ("white(1,left,2)", "white takes 2 values, got 3"),
        ("pink_noise(1)", "pink_noise takes 0 values, got 1"),
        ("white(1", "expected a noise"),
    ],
)
def test_wrong_text_is_refused_by_the_option_it_is_for(given: object, why: str) -> None:
    with pytest.raises(ParameterError, match=why) as caught:
        Noise.parse(given, "it")
    if "expected a noise" in why:
        assert caught.value.hint


def test_a_form_offers_every_member_by_its_word() -> None:
    assert [(kind.key, kind.label, kind.doc) for kind in KINDS.kinds] == [
        ("", "none", ""), ("white", "white", "Even noise."),
        ("pink_noise", "pink noise", "Noise without numbers."),
    ]  # fmt: skip
    assert KINDS.with_value("white", "gain", 3.0) == "white(3,both)"
    assert KINDS.with_kind("white(3)", "pink_noise") == "pink_noise"
    assert KINDS.with_kind(None, "white") == "white"
    assert KINDS.with_kind("white", "") is None


@pytest.mark.parametrize("family", [Initializer, Regularizer])
def test_every_member_says_what_it_is(family: type[TextForm]) -> None:
    for member in family.members.values():
        assert issubclass(member, family)
        assert member.word in family.words()
        assert member.summary().endswith(".")
        assert family.parse(member().text, "it") == member()


def test_layers_declare_them_with_label_and_heading() -> None:
    for layer in (Dense, Conv2D):
        kernel, penalty = layer.option("kernel_initializer"), layer.option("kernel_regularizer")
        assert (kernel.label, kernel.group) == ("Kernel init", "Initial values")
        assert (penalty.label, penalty.group) == ("Kernel regulariser", "Regularisation")
        assert penalty.kinds is not None
        assert [kind.key for kind in penalty.kinds.kinds] == ["", "l1", "l2", "l1_l2"]
