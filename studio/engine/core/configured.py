"""Plain-data settings whose whole state is their declared options, and their JSON form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from studio.engine.core.discovery import Registry
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Option, Plain

_BORDERS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _spaced(name: str) -> str:
    """``CosineDecayRestarts`` as ``Cosine decay restarts``; initials stay together."""
    words = _BORDERS.sub(" ", name).split()
    later = (word if word.isupper() else word.lower() for word in words[1:])
    return " ".join((*words[:1], *later))


class Configured:
    """Something whose whole state is its declared options.

    A subclass with ``family="layer"`` on its class line begins a family; the subclasses behind it
    are its members, found by class name or one of their ``aliases``. With ``package`` every module
    of that package is searched for members, so that a new one needs no entry anywhere. ``order``
    says where a member stands in lists, the smallest first; ``title`` is its name for people, made
    from the class name unless given. Instances compare by kind and options,
    and go to JSON as ``{"type": …, "config": {…}}``. The options named in ``positional`` (all of
    them where it is ``None``) may be given without a name.
    """

    options: ClassVar[tuple[Option[Any], ...]] = ()
    positional: ClassVar[tuple[str, ...] | None] = None
    members: ClassVar[Registry[Configured]] = Registry()
    family_name: ClassVar[str] = ""
    order: ClassVar[int] = 100
    title: ClassVar[str] = ""

    option_values: dict[str, object]

    def __init_subclass__(
        cls,
        *,
        family: str = "",
        package: str = "",
        abstract: bool = False,
        aliases: tuple[str, ...] = (),
    ) -> None:
        super().__init_subclass__()
        found: dict[str, Option[Any]] = {}
        for base in cls.__mro__:
            for name, value in vars(base).items():
                if isinstance(value, Option):
                    found.setdefault(name, value)
        cls.options = tuple(found.values())
        cls._check_names()
        if "title" not in vars(cls):
            cls.title = _spaced(cls.__name__)
        if family:
            cls.family_name, cls.members = family, Registry(package)
        elif not abstract:
            cls.members.add(cls, aliases)

    def __init__(self, *args: object, **given: object) -> None:
        order = self.positional
        order = tuple(o.name for o in self.options) if order is None else order
        if len(args) > len(order):
            raise ParameterError(
                f"at most {len(order)} values may be given without a name: got {len(args)}",
                who=self.who,
            )
        named = dict(zip(order, args, strict=False))
        twice = named.keys() & given.keys()
        if twice:
            raise ParameterError(f"{min(twice)} is given twice", who=self.who)
        self.option_values = self.check_options({**named, **given})

    @classmethod
    def _check_names(cls) -> None:
        """TypeError for an option that would hide a method or attribute of a base."""
        for option in cls.options:
            for base in cls.__mro__[1:]:
                if not isinstance(vars(base).get(option.name, option), Option):
                    raise TypeError(
                        f"{cls.__name__}.{option.name} would hide {base.__name__}.{option.name}: "
                        "give the option another name"
                    )

    @classmethod
    def listed_at(cls) -> tuple[int, ...]:
        """Where the class stands among its family; the smallest comes first."""
        return (cls.order,)

    @property
    def who(self) -> str:
        """How errors name this."""
        return type(self).__name__

    def check_options(self, given: Mapping[str, object]) -> dict[str, object]:
        """All options in stored form; ParameterError for a missing, unknown or wrong one."""
        known = {o.name for o in self.options}
        for name in given:
            if name not in known:
                raise self._unknown_option(name, self.who)
        values: dict[str, object] = {}
        for option in self.options:
            if option.name in given:
                values[option.name] = option.check(given[option.name], self.who)
            elif option.required:
                raise ParameterError(f"{option.name} must be given: {option.doc}", who=self.who)
            else:
                values[option.name] = option.default
        return values

    @classmethod
    def form_options(cls) -> tuple[Option[Any], ...]:
        """The options in the order of a form."""
        return cls.options

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the class's documentation, on one line."""
        text = (cls.__doc__ or "").split("\n\n")[0].replace("``", "")
        return " ".join(text.split())

    @classmethod
    def option(cls, name: str) -> Option[Any]:
        """The declared option of that name; ParameterError for another."""
        for option in cls.options:
            if option.name == name:
                return option
        raise cls._unknown_option(name, cls.__name__)

    @classmethod
    def _unknown_option(cls, name: str, who: str) -> ParameterError:
        known = [option.name for option in cls.options]
        hint = f"known options: {', '.join(sorted(known)) or 'none'}"
        return ParameterError(
            f"unknown option {quoted(name)}", who=who, hint=did_you_mean(name, known, hint)
        )

    def config(self) -> dict[str, Plain]:
        """Options that differ from their defaults, as plain data."""
        return self.plain_options()

    def plain_options(self) -> dict[str, Plain]:
        """What `config` says of the declared options."""
        return {
            o.name: o.plain(self.option_values[o.name])
            for o in self.options
            if o.required or self.option_values[o.name] != o.default
        }

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> Self:
        """The instance that `config` describes; unknown options are refused."""
        return cls(**config)

    def replace(self, **changes: object) -> Self:
        """A copy with some options changed."""
        return type(self)(**{**self.option_values, **changes})

    def to_json(self) -> dict[str, Plain]:
        """``{"type": class name, "config": options}``."""
        return {"type": type(self).__name__, "config": self.config()}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The member of this family that `to_json` described; ParameterError for anything else."""
        if not isinstance(data, Mapping) or not set(data) <= {"type", "config"}:
            raise ParameterError(
                f"a {cls.family_name} is described by type and config: got {quoted(data)}",
                who=cls.family_name,
            )
        config = data.get("config", {})
        if not isinstance(config, Mapping) or not all(isinstance(k, str) for k in config):
            raise ParameterError("config must be an object", who=cls.family_name)
        return cls.member(data.get("type")).from_config(config)

    @classmethod
    def member(cls, name: object) -> type[Self]:
        """The class of that name or alias; ParameterError when the family has none."""
        found = cls.members.find(name)
        if found is None or not issubclass(found, cls):
            raise ParameterError(
                f"unknown {cls.family_name} {quoted(name)}",
                who=cls.family_name,
                hint=did_you_mean(
                    name, cls.members.all_names(), f"known: {', '.join(sorted(cls.members))}"
                ),
            )
        return found

    @classmethod
    def resolve(cls, given: object) -> Self:
        """An instance from itself, from a name with all defaults, or from its JSON form."""
        if isinstance(given, cls):
            return given
        if isinstance(given, str):
            return cls.member(given)()
        return cls.from_json(given)

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, Configured)
            and self.option_values == other.option_values
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple(self.option_values.values())))

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.config().items())
        return f"{type(self).__name__}({shown})"
