"""Settings written as one word, or as a word with values: ``zeros``, ``constant(0.5)``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.kinds import Kind, Kinds
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Option, OptionKind, Plain

_TEXT = re.compile(r"([a-z][a-z0-9_]*)(?:\(([^()]*)\))?\Z")


class TextForm(Configured, abstract=True):
    """Settings whose form in a file is text: their word, and the values of their options.

    A subclass names its ``word`` on the class line; numbers and choices are its options.

    Attributes:
        word: what it is called in the text, with underscores.
        example: a text with values, for the hint of an error.
        is_short: whether the word stands alone where every option is default.
    """

    word: ClassVar[str] = ""
    example: ClassVar[str] = ""
    is_short: ClassVar[bool] = True

    def __init_subclass__(cls, *, word: str = "", **given: Any) -> None:
        cls.word = word
        cls.title = vars(cls).get("title") or word.replace("_", " ")
        super().__init_subclass__(aliases=(word,) if word else (), **given)

    @property
    def who(self) -> str:
        """How errors name this."""
        return self.word

    @property
    def text(self) -> str:
        """Text form, which reads back as the same."""
        if self.is_short and not self.config():
            return self.word
        return f"{self.word}({','.join(map(self.value_text, self.option_values.values()))})"

    @staticmethod
    def value_text(value: object) -> str:
        """A value as it stands in the text; whole numbers without a fraction."""
        return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """The words of the whole family."""
        return tuple(member.word for member in cls.members.values() if issubclass(member, cls))

    @classmethod
    def parse(cls, given: object, who: str) -> Self:
        """The settings a text stands for; values left out are default.

        Raises:
            ParameterError: no member of the family is written so.
        """
        if isinstance(given, cls):
            return given
        match = _TEXT.match(given.replace(" ", "")) if isinstance(given, str) else None
        found = cls.members.find(match[1]) if match else None
        if match is None or found is None or not issubclass(found, cls):
            known = f"known: {', '.join(cls.words())}; with values as in {cls.example}"
            article = "an" if cls.family_name[0] in "aeiou" else "a"
            raise ParameterError(
                f"expected {article} {cls.family_name}, got {quoted(given)}",
                who=who,
                hint=did_you_mean(given, cls.words(), known),
            )
        words = match[2].split(",") if match[2] else []
        if len(words) > len(found.options):
            count = len(found.options)
            raise ParameterError(
                f"{match[1]} takes {count} value{'s' * (count != 1)}, got {len(words)}", who=who
            )
        return found(
            **{
                option.name: option.check(_value(option, word), who)
                for option, word in zip(found.options, words, strict=False)
            }
        )


def _value(option: Option[Any], word: str) -> object:
    """The word as a number for a number option; otherwise unchanged, for the option to check."""
    if option.kind is not OptionKind.NUMBER:
        return word
    try:
        return float(word)
    except ValueError:
        return word


class TextKinds(Kinds):
    """The members of a family in text form.

    Args:
        family: the base class.
        none: what no value is called; empty where there must be one.
    """

    def __init__(self, family: type[TextForm], none: str = "") -> None:
        self._family = family
        self._none = (Kind("", none),) if none else ()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The members of the family."""
        members = (m for m in self._family.members.values() if issubclass(m, TextForm))
        return (
            *self._none,
            *(Kind(m.word, m.title, m.summary(), m.form_options()) for m in members),
        )

    def split(self, value: Plain) -> tuple[str, dict[str, Plain]]:
        """Word and all values."""
        if value is None:
            return "", {}
        found = self._family.parse(value, self._family.family_name)
        return found.word, {o.name: o.plain(found.option_values[o.name]) for o in found.options}

    def join(self, key: str, values: Mapping[str, Plain]) -> Plain:
        """The text form."""
        if not key:
            return None
        return self._family.member(key)(**values).text
