"""Placeholder classes for those of a plugin that is not loaded, so that settings are kept."""

from __future__ import annotations

import types
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar, Self, TypeVar, cast

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError
from studio.engine.core.options import Plain

C = TypeVar("C", bound=Configured)


class StandIn:
    """Keeps a configuration unchanged, whatever it contains.

    Options that all members of the family share can be read: as given, or the default where they
    are missing or invalid.

    Attributes:
        home: what it would come from; its text stands in sentences.
    """

    home: ClassVar[object] = None

    option_values: dict[str, object]
    _given: dict[str, object]

    def __init__(self, **given: object) -> None:
        # Not by way of the family's base, which knows options that all its members have.
        self.option_values = self.check_options(given)

    def check_options(self, given: Mapping[str, object]) -> dict[str, object]:
        """The options as they were given, and those that all of the family have."""
        self._given = dict(given)
        values = dict(given)
        for option in getattr(type(self), "options", ()):
            value = option.first_value if option.required else option.default
            if option.name in given:
                with suppress(ParameterError):
                    value = option.check(given[option.name], type(self).__name__)
            values[option.name] = value
        return values

    def plain_options(self) -> dict[str, Plain]:
        """The options as they were given."""
        return cast("dict[str, Plain]", dict(self._given))

    def replace(self, **changes: object) -> Self:
        """A copy with some options changed."""
        return type(self)(**{**self._given, **changes})

    def __hash__(self) -> int:
        return hash(type(self).__name__)


def stand_in(family: type[C], name: str, home: object, base: type[C] | None = None) -> None:
    """Add a placeholder class to a family.

    Args:
        family: the base of the family.
        name: of the class that is missing.
        home: what it would come from; its text stands in sentences.
        base: a stand-in of the family's own, where the plain one is not enough.
    """
    bases: tuple[type, ...] = (StandIn, family) if base is None else (base,)
    made = types.new_class(
        name,
        bases,
        {"abstract": True},
        lambda body: body.update(home=home, __doc__=f"From {home}, which is not loaded."),
    )
    family.members.add_stand_in(name, cast("type[Configured]", made))
