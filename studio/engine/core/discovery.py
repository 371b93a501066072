"""Finds the members of a family in the modules of a package, so that no list names them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Listed(Protocol):
    """A class with a place in lists."""

    @classmethod
    def listed_at(cls) -> tuple[int, ...]:
        """Where the class stands; the smallest comes first."""
        ...


T = TypeVar("T", bound=Listed)


_undo: list[Callable[[], object]] | None = None


@contextmanager
def all_or_none() -> Iterator[None]:
    """Undo additions to registries made inside when the block raises."""
    global _undo
    outer, mine = _undo, list[Callable[[], object]]()
    _undo = mine
    try:
        yield
    except BaseException:
        for take_out in reversed(mine):
            take_out()
        raise
    finally:
        _undo = outer
    if outer is not None:
        outer += mine


def added(take_out: Callable[[], object]) -> None:
    """Register how to undo an addition to a registry; `all_or_none` may call it."""
    if _undo is not None:
        _undo.append(take_out)


def import_modules(package: str) -> tuple[str, ...]:
    """Import every module of a package in name order, and return their full names.

    The package's own importer lists them, so a folder, a zipped wheel and a frozen program all do.
    Modules of packages inside it are left out.
    """
    folder = importlib.import_module(package)
    found = sorted(info.name for info in pkgutil.iter_modules(folder.__path__))
    names = tuple(f"{package}.{name}" for name in found if name != "__main__")
    for name in names:
        importlib.import_module(name)
    return names


class Registry(Mapping[str, type[T]]):
    """Classes by name, sorted by ``listed_at``, then by module.

    The modules of ``package`` are imported when a name is not known yet, or all are asked for.
    """

    def __init__(self, package: str = "") -> None:
        self._package = package
        self._classes: dict[str, type[T]] = {}
        self._named: dict[str, type[T]] = {}
        self._stand_ins: dict[str, type[T]] = {}

    def add(self, cls: type[T], aliases: tuple[str, ...] = ()) -> None:
        """Add a class under its name and aliases.

        Raises:
            TypeError: another class has one of the names.
        """
        names = (cls.__name__, *aliases)
        for name in names:
            other = self._named.get(name)
            if other is not None and _origin(other) != _origin(cls):
                raise TypeError(
                    f"{name!r} of {cls.__module__} is taken by a class of {other.__module__}"
                )
        before = dict(self._classes), dict(self._named)
        self._classes[cls.__name__] = cls
        self._named.update(dict.fromkeys(names, cls))
        added(lambda: self._restore(*before))

    def add_stand_in(self, name: str, cls: type[T]) -> None:
        """Let `find` return a stand-in for an unknown name; it is in no list."""
        self._stand_ins[name] = cls

    def find(self, name: object) -> type[T] | None:
        """The class of that name or alias, or what stands in for it."""
        if not isinstance(name, str):
            return None
        # A module of the package may ask for what is known already while it is imported itself.
        if name not in self._named:
            self._load()
        return self._named.get(name) or self._stand_ins.get(name)

    def all_names(self) -> tuple[str, ...]:
        """Every name and alias."""
        self._load()
        return tuple(self._named)

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._classes:
            self._load()
        return self._classes[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._classes:
            self._load()
        return name in self._classes

    def __iter__(self) -> Iterator[str]:
        self._load()
        # The sort is stable: classes of one module stay in the order of their declaration.
        found = sorted(self._classes.values(), key=lambda cls: (cls.listed_at(), cls.__module__))
        return iter([cls.__name__ for cls in found])

    def __len__(self) -> int:
        self._load()
        return len(self._classes)

    def _restore(self, classes: dict[str, type[T]], named: dict[str, type[T]]) -> None:
        self._classes, self._named = classes, named

    def _load(self) -> None:
        # Forgotten only at the end, so that a second thread waits for the modules as well. A lock
        # of its own could wait for an import that waits for the lock.
        if self._package:
            import_modules(self._package)
            self._package = ""


def _origin(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
