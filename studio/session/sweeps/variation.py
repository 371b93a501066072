"""Leads from the options of a form to the axes of the next sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeAlias

from studio.session.sweeps.draft import SweepDraft

Path: TypeAlias = tuple[str, ...]
"""Name of an option, behind those of the options whose kind it belongs to."""


class Variation:
    """Lets options of a form be varied by the next sweep.

    Args:
        draft: what the next sweep varies.
        names: what sweeps call an option, for each thing that the form edits.
        began: called after something was taken up, so that the sweep is shown.
        path: the options whose kinds these options belong to.
    """

    def __init__(
        self,
        draft: SweepDraft,
        names: Callable[[Path], tuple[str, ...]],
        began: Callable[[], object],
        path: Path = (),
    ) -> None:
        self._draft = draft
        self._names = names
        self._began = began
        self._path = path

    def can_vary(self, option: str) -> bool:
        """Whether a sweep can vary an option, in each thing that is edited."""
        known, wanted = self._draft.names(), self._named(option)
        return bool(wanted) and all(name in known for name in wanted)

    def note(self, option: str) -> str:
        """How an option is varied, in a sentence without a full stop; empty where it is not."""
        varied = dict(self._draft.axes)
        wanted = [name for name in self._named(option) if name in varied]
        values = dict.fromkeys(varied[name] for name in wanted)
        if not wanted:
            return ""
        return f"Varied in the next sweep: {' and '.join(each or 'no values' for each in values)}"

    def vary(self, option: str, on: bool) -> None:
        """Vary an option in the next sweep, or not any more."""
        for name in self._named(option):
            if on:
                self._draft.add(name)
            else:
                self._draft.remove(name)
        if on:
            self._began()

    def inside(self, option: str) -> Self:
        """The same for the options of the kind that is chosen for an option."""
        return type(self)(self._draft, self._names, self._began, (*self._path, option))

    def _named(self, option: str) -> tuple[str, ...]:
        return self._names((*self._path, option))


def training_names(path: Path) -> tuple[str, ...]:
    """What sweeps call a training setting; nothing for options that belong to another's kind.

    Options of the optimiser stand for themselves, those of a schedule behind the rate.
    """
    own = path[1:] if path[0] == "optimizer" and len(path) > 1 else path
    if len(own) == 1 or (own is not path and len(own) == 2 and own[0] == "learning_rate"):
        return (".".join(own),)
    return ()


def layer_names(layers: Callable[[], tuple[str, ...]]) -> Callable[[Path], tuple[str, ...]]:
    """What sweeps call an option of layers, by the names of those that are edited.

    Args:
        layers: names of the layers that are edited now.
    """

    def names(path: Path) -> tuple[str, ...]:
        if len(path) != 1:
            return ()
        return tuple(f"{layer}.{path[0]}" for layer in dict.fromkeys(layers()))

    return names
