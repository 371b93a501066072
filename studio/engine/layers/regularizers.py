"""Weight penalties in text form: ``l1(0.01)``, ``l2(0.01)``, ``l1_l2(0.01,0.02)``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Unpack

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.options import Option, Plain, Words, spec

_TEXT = re.compile(r"(l1|l2|l1_l2)(?:\(([^()]*)\))?\Z")

DEFAULT = 0.01
"""Factor of a penalty given without one, as in Keras."""


@dataclass(frozen=True)
class Regularizer:
    """Adds ``l1``·Σ|w| + ``l2``·Σw² to the loss."""

    l1: float = 0.0
    l2: float = 0.0

    @property
    def text(self) -> str:
        """Text form, which reads back as the same penalty."""
        if not self.l1:
            return f"l2({self.l2!r})"
        return f"l1_l2({self.l1!r},{self.l2!r})" if self.l2 else f"l1({self.l1!r})"


def parse_regularizer(given: object, who: str = "regularizer") -> Regularizer:
    """The penalty a text form stands for; ParameterError when it is none."""
    if isinstance(given, Regularizer):
        return given
    match = _TEXT.match(given.replace(" ", "")) if isinstance(given, str) else None
    factors = _factors(match[2]) if match else []
    if match is None or len(factors) > (2 if match[1] == "l1_l2" else 1):
        raise ParameterError(
            f"expected a weight penalty, got {quoted(given)}",
            who=who,
            hint="write l1(0.01), l2(0.01) or l1_l2(0.01,0.01), with factors of at least 0",
        )
    first, second = [*factors, DEFAULT, DEFAULT][:2]
    if match[1] == "l1_l2":
        return Regularizer(first, second)
    return Regularizer(l1=first) if match[1] == "l1" else Regularizer(l2=first)


def _factors(text: str | None) -> list[float]:
    """The factors between the parentheses; more than any kind takes when one is wrong."""
    if not text:
        return []
    try:
        factors = [float(word) for word in text.split(",")]
    except ValueError:
        return [0.0] * 3
    return factors if all(math.isfinite(f) and f >= 0 for f in factors) else [0.0] * 3


def regularizer(doc: str, **words: Unpack[Words]) -> Option[Regularizer | None]:
    """An option that takes a penalty in text form, or none."""
    return spec(doc, None, parse_regularizer, _write, optional=True, **words)


def kernel_regularizer(doc: str) -> Option[Regularizer | None]:
    """The penalty on a layer's weights."""
    return regularizer(
        doc, label="Kernel penalty", effect="It keeps weights small, against overfitting."
    )


def _write(value: Regularizer | None) -> Plain:
    return None if value is None else value.text
