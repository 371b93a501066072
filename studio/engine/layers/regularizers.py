"""Weight penalties in text form: ``l1(0.01)``, ``l2(0.01)``, ``l1_l2(0.01,0.02)``."""

from __future__ import annotations

from typing import Unpack, cast

from studio.engine.core.options import Option, Plain, Words, number, spec
from studio.engine.layers.text_form import TextForm, TextKinds

DEFAULT = 0.01
"""Factor of a penalty given without one, as in Keras."""


class Regularizer(TextForm, family="regulariser", package="studio.engine.layers"):
    """Adds ``l1``·Σ|w| + ``l2``·Σw² to the loss; a kind has the factors that are its options."""

    example = "l2(0.01)"
    is_short = False

    @property
    def factors(self) -> tuple[float, float]:
        """``l1`` and ``l2``; 0 for one the kind has not."""
        first, second = (cast("float", self.option_values.get(n, 0.0)) for n in ("l1", "l2"))
        return first, second

    @staticmethod
    def value_text(value: object) -> str:
        """A factor as it stands in the text, always with a fraction."""
        return repr(value)


def _l1() -> Option[float]:
    return number("Factor of the sum of absolute values.", DEFAULT, low=0.0, steps="decades")


def _l2() -> Option[float]:
    return number("Factor of the sum of squares.", DEFAULT, low=0.0, steps="decades")


class L1(Regularizer, word="l1"):
    """L1 penalty: pulls weights to exactly 0."""

    l1 = _l1()


class L2(Regularizer, word="l2"):
    """L2 penalty: keeps weights small."""

    l2 = _l2()


class L1L2(Regularizer, word="l1_l2"):
    """L1 and L2 penalty together."""

    title = "l1 and l2"

    l1 = _l1()
    l2 = _l2()


def parse_regularizer(given: object, who: str = "regularizer") -> Regularizer:
    """The penalty a text form stands for; ParameterError when it is none."""
    return Regularizer.parse(given, who)


def regularizer(doc: str, **words: Unpack[Words]) -> Option[Regularizer | None]:
    """An option that takes a penalty in text form, or none."""
    given: Words = {
        "kinds": TextKinds(Regularizer, none="none"),
        "group": "Regularisation",
        **words,
    }
    return spec(doc, None, parse_regularizer, _write, optional=True, **given)


def kernel_regularizer(doc: str) -> Option[Regularizer | None]:
    """The penalty on a layer's weights."""
    return regularizer(
        doc,
        label="Kernel regulariser",
        effect="Regularisation keeps weights small and reduces overfitting.",
    )


def _write(value: Regularizer | None) -> Plain:
    return None if value is None else value.text
