"""Nets typed as text: ``conv 16 3x3 relu > pool 2 > dense 10`` as a chain of layers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, ClassVar, NamedTuple

from studio.engine.core.errors import ParameterError, StudioError
from studio.engine.core.options import Option, OptionKind, Plain
from studio.engine.layers.catalog import all_layers, layer_class
from studio.session.document.finding.layer_names import function_of_word, type_of_word, words_for
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import checked_config

MAX_LAYERS = 200
MAX_LENGTH = 4000
_ARROW = re.compile(r"->|→|>|\||\n|;")
_TOKEN = re.compile(r"[^\s,]+")
_SIZES = re.compile(r"-?\d+(x-?\d+)+\Z", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+\Z")
_FRACTION = re.compile(r"-?(\d+\.\d*|\.\d+|\d+)(e-?\d+)?%?\Z", re.IGNORECASE)
_NONE = "linear"


class NetError(ParameterError):
    """A typed net that cannot be read; says where.

    Args:
        message: what is wrong.
        start: first character it is about.
        end: character behind the last it is about.
        hint: what to write instead.
    """

    code: ClassVar[str] = "net_text"

    def __init__(self, message: str, start: int, end: int, hint: str = "") -> None:
        super().__init__(message, hint=hint, origin=f"column {start + 1}")
        self.start = start
        self.end = end


class NetLayer(NamedTuple):
    """One layer of a typed net, and where it stands in the text."""

    type_name: str
    config: FrozenConfig
    start: int
    end: int


class _Word(NamedTuple):
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def parse_net(text: str) -> tuple[NetLayer, ...]:
    """The layers of a typed net.

    Layers stand between ``>`` (or ``->``, ``|``, line ends). Each is a name, or another word for
    it, then values in the order of its options (``conv 16 3x3``), option names with a value
    (``stride 2``, ``rate=0.5``), words an option knows (``same``, ``relu``), or ``no`` and a
    yes-or-no option (``no bias``).

    Raises:
        NetError: with the place in the text.
    """
    if len(text) > MAX_LENGTH:
        raise NetError(f"expected at most {MAX_LENGTH} characters", MAX_LENGTH, len(text))
    made = [_layer(words, start, end) for words, start, end in _parts(text)]
    if len(made) > MAX_LAYERS:
        raise NetError(f"expected at most {MAX_LAYERS} layers", 0, len(text))
    if not made:
        raise NetError(
            "expected a layer", 0, len(text), "for example conv 16 3x3 > relu > dense 10"
        )
    return tuple(made)


def is_net(text: str) -> bool:
    """Whether a text in the search field is meant as a net: it has an arrow, or values."""
    words = text.split()
    if _ARROW.search(text.strip()):
        return True
    return (
        len(words) > 1
        and bool(type_of_word(words[0]) or function_of_word(words[0]))
        and (any(_looks_like_value(word) or "=" in word for word in words[1:]))
    )


def _parts(text: str) -> Iterator[tuple[list[_Word], int, int]]:
    """The words between arrows, with the place of each part."""
    start = 0
    ends = [(m.start(), m.end()) for m in _ARROW.finditer(text)] + [(len(text), len(text))]
    for index, (end, after) in enumerate(ends):
        words = [_Word(m.group(), start + m.start()) for m in _TOKEN.finditer(text[start:end])]
        if words:
            yield words, words[0].start, words[-1].end
        elif index < len(ends) - 1 and text[end:after] not in ("\n", ";"):
            raise NetError("expected a layer before the arrow", start, after)
        elif index and index == len(ends) - 1 and text[ends[index - 1][0] : start] not in "\n;":
            raise NetError("expected a layer after the arrow", max(start - 1, 0), len(text))
        start = after


def _layer(words: list[_Word], start: int, end: int) -> NetLayer:
    type_name, given, rest = _named(words)
    reader = _Reader(type_name, given)
    reader.read(rest)
    config = reader.finished()
    try:
        made = checked_config(type_name, config)
    except StudioError as error:
        raise NetError(error.message, start, end, error.hint) from error
    return NetLayer(type_name, made, start, end)


def _named(words: list[_Word]) -> tuple[str, dict[str, Plain], list[_Word]]:
    """The layer a part begins with; two words may name it together."""
    for count in (2, 1):
        name = " ".join(word.text for word in words[:count])
        if len(words) >= count and type_of_word(name):
            return type_of_word(name), {}, words[count:]
    function = function_of_word(words[0].text)
    if function:
        return "Activation", {"activation": function}, words[1:]
    glued = re.fullmatch(r"([a-z_]+?)(\d[\dx.]*)", words[0].text, re.IGNORECASE)
    if glued and type_of_word(glued[1]):
        value = _Word(glued[2], words[0].start + len(glued[1]))
        return type_of_word(glued[1]), {}, [value, *words[1:]]
    known = sorted({w.casefold() for c in all_layers() for w in words_for(c.__name__)})
    near = get_close_matches(words[0].text.casefold(), known, 1, 0.5)
    raise NetError(
        f"no layer is called {words[0].text[:40]!r}",
        words[0].start,
        words[0].end,
        f"did you mean {near[0]}?" if near else "the palette lists all layers",
    )


class _Reader:
    """Reads the values of one layer, each into the option it fits."""

    def __init__(self, type_name: str, given: dict[str, Plain]) -> None:
        self.type_name = type_name
        self.values = given
        cls = layer_class(type_name)
        self.options = {o.name: o for o in cls.options if len(o.choices) != 1}
        order = cls.positional
        self.order = [o.name for o in cls.options] if order is None else list(order)

    def read(self, words: list[_Word]) -> None:
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            name, equals, value = word.text.partition("=")
            option = self._option(name)
            if equals:
                if option is None:
                    raise self._unknown(_Word(name, word.start))
                self._set(option, _Word(value, word.start + len(name) + 1))
            elif word.text.casefold() in ("no", "without") and waiting:
                self._switch_off(waiting.pop(0))
            elif option is not None and waiting and option.kind is not OptionKind.FLAG:
                self._set(option, waiting.pop(0))
            elif option is not None and option.kind is OptionKind.FLAG:
                self.values[option.name] = True
            else:
                self._place(word)

    def finished(self) -> dict[str, Plain]:
        """The values, and starting values for what is required and was not given."""
        for option in self.options.values():
            if option.required and option.name not in self.values:
                self.values[option.name] = option.first_value
        return self.values

    def _option(self, word: str) -> Option[Any] | None:
        name = word.casefold()
        return self.options.get(name) or next(
            (option for option in self.options.values() if name in option.aliases), None
        )

    def _set(self, option: Option[Any], word: _Word) -> None:
        if option.name in self.values:
            raise NetError(f"{option.name} is given twice", word.start, word.end)
        for value in _readings(word.text):
            if _takes(option, value):
                self.values[option.name] = value
                return
        raise NetError(_refusal(option, word.text), word.start, word.end, option.doc)

    def _switch_off(self, word: _Word) -> None:
        option = self._option(word.text)
        if option is None:
            raise self._unknown(word)
        if option.kind is OptionKind.FLAG:
            self.values[option.name] = False
        elif option.name == "activation":
            self.values[option.name] = _NONE
        else:
            raise NetError(f"{option.name} is not a yes/no option", word.start, word.end)

    def _place(self, word: _Word) -> None:
        """A value without a name: the first option in order that takes it and has none yet."""
        readings = _readings(word.text)
        for name in self.order:
            if name not in self.values and name in self.options:
                for value in readings:
                    if _takes(self.options[name], value):
                        self.values[name] = value
                        return
        if not _looks_like_value(word.text):
            for option in self.options.values():
                is_word = option.choices or option.kinds is not None
                if is_word and option.name not in self.values and _takes(option, word.text):
                    self.values[option.name] = word.text
                    return
        raise self._unknown(word)

    def _unknown(self, word: _Word) -> NetError:
        known = ", ".join(self.options) or "none"
        if not _looks_like_value(word.text) or not self.order:
            message = f"{self.type_name} does not know {word.text[:40]!r}"
            return NetError(message, word.start, word.end, f"its options: {known}")
        free = [n for n in self.order if n not in self.values and n in self.options]
        if free:
            message = _refusal(self.options[free[0]], word.text)
            return NetError(message, word.start, word.end, self.options[free[0]].doc)
        return NetError(
            f"{self.type_name} has no option left for {word.text[:40]!r}",
            word.start, word.end, f"its options: {known}",
        )  # fmt: skip


def _readings(text: str) -> list[Plain]:
    """What a word may mean, the most exact first."""
    found: list[Plain] = []
    if _NUMBER.match(text) and len(text) < 20:
        found += [int(text), [int(text)]]
    elif _SIZES.match(text) and len(text) < 200:
        found.append([int(part) for part in text.lower().split("x")])
    elif _FRACTION.match(text) and len(text) < 40:
        found.append(float(text[:-1]) / 100 if text.endswith("%") else float(text))
    if text.casefold() in ("yes", "true", "on"):
        found.append(True)
    elif text.casefold() in ("no", "false", "off"):
        found.append(False)
    found.append(text)
    return found


def _takes(option: Option[Any], value: Plain) -> bool:
    try:
        option.check(value, option.name)
    except StudioError:
        return False
    return True


def _refusal(option: Option[Any], text: str) -> str:
    """The option's own words about the most exact reading of a value."""
    try:
        option.check(_readings(text)[0], "")
    except StudioError as error:
        return error.message
    return f"{option.name} does not take {text[:40]!r}"


def _looks_like_value(text: str) -> bool:
    return any(pattern.match(text) for pattern in (_NUMBER, _SIZES, _FRACTION))
