"""Options whose value is one of several kinds, each kind with options of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from studio.engine.core.stand_ins import StandIn

if TYPE_CHECKING:
    from studio.engine.core.configured import Configured
    from studio.engine.core.options import Option, Plain


@dataclass(frozen=True)
class Kind:
    """One kind a value may be of.

    Attributes:
        key: its name in plain data; empty for none.
        label: its name for people.
        doc: one sentence.
        options: its own options.
    """

    key: str
    label: str
    doc: str = ""
    options: tuple[Option[Any], ...] = ()


class Kinds(ABC):
    """The kinds the value of an option may be of, and their form in plain data."""

    @property
    @abstractmethod
    def kinds(self) -> tuple[Kind, ...]:
        """All kinds, in the order they are offered."""

    @abstractmethod
    def split(self, value: Plain) -> tuple[str, dict[str, Plain]]:
        """The kind's key, and those of its options that are given; the others are default."""

    @abstractmethod
    def join(self, key: str, values: Mapping[str, Plain]) -> Plain:
        """Plain data of a kind with some options given; ParameterError for a wrong one."""

    def kind(self, key: str) -> Kind:
        """The kind of that key; the first for one that is not offered."""
        kinds = self.kinds
        return next((kind for kind in kinds if kind.key == key), kinds[0])

    def with_kind(self, value: Plain, key: str) -> Plain:
        """The value turned into another kind, with the options both have."""
        _, values = self.split(value)
        options = self.kind(key).options
        kept = {o.name: values[o.name] for o in options if o.name in values}
        missing = {o.name: o.first_value for o in options if o.required and o.name not in kept}
        return self.join(key, {**kept, **missing})

    def with_value(self, value: Plain, name: str, changed: Plain) -> Plain:
        """The value with one option of its kind changed; ``None`` for one that is not optional
        takes the default again."""
        key, values = self.split(value)
        option = next(o for o in self.kind(key).options if o.name == name)
        if changed is None and not option.optional:
            values.pop(name, None)
            if option.required:
                values[name] = option.first_value
        else:
            values[name] = changed
        return self.join(key, values)


class FamilyKinds(Kinds):
    """The members of a family in JSON form; one with all defaults is its name alone.

    Args:
        family: the base class.
        none: what no value is called; empty where there must be one.
        off: a further kind without options, whose plain value is its key.
    """

    def __init__(self, family: type[Configured], none: str = "", off: Kind | None = None) -> None:
        self._family = family
        self._off = off
        self._none = (*([Kind("", none)] if none else ()), *([off] if off else ()))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The members that are known now."""
        return (*self._none, *(kind_of(member) for member in self._family.members.values()))

    def split(self, value: Plain) -> tuple[str, dict[str, Plain]]:
        """Class name and options."""
        if value is None:
            return "", {}
        if self._off is not None and value == self._off.key:
            return self._off.key, {}
        found = self._family.resolve(value)
        return type(found).__name__, found.config()

    def kind(self, key: str) -> Kind:
        """The kind of that key, also where only a stand-in is known; the first otherwise."""
        found = self._family.members.find(key)
        if found is not None and issubclass(found, StandIn):
            return Kind(key, f"{found.title} (not loaded)", found.summary())
        return super().kind(key)

    def with_kind(self, value: Plain, key: str) -> Plain:
        """The value turned into another kind; options of a kind that is not loaded are dropped."""
        found = self._family.members.find(self.split(value)[0])
        is_known = found is None or not issubclass(found, StandIn)
        return super().with_kind(value if is_known else self.join(key, {}), key)

    def join(self, key: str, values: Mapping[str, Plain]) -> Plain:
        """The name alone where every option is default."""
        if not key:
            return None
        return {"type": key, "config": dict(values)} if values else key


class SettingsKinds(Kinds):
    """Settings of one class as an object of their options, or none.

    Args:
        owner: the class.
        none: what no settings are called; empty where there must be some.
    """

    def __init__(self, owner: type[Configured], none: str = "") -> None:
        self._owner = owner
        self._none = (Kind("", none),) if none else ()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """None where that is allowed, and the class."""
        owner = self._owner
        return (*self._none, Kind(owner.__name__, "on", owner.summary(), owner.form_options()))

    def split(self, value: Plain) -> tuple[str, dict[str, Plain]]:
        """Class name and options."""
        if value is None:
            return "", {}
        return self._owner.__name__, dict(value) if isinstance(value, dict) else {}

    def join(self, key: str, values: Mapping[str, Plain]) -> Plain:
        """The options as an object."""
        return dict(values) if key else None


def kind_of(member: type[Configured]) -> Kind:
    """A class of settings as a kind: its name, title, first sentence and options."""
    return Kind(member.__name__, member.title, member.summary(), member.form_options())
