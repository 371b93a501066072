"""Which runs are drawn over one another, each with a colour and a dash it keeps."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.core.signal import Signal
from studio.session.core.theme import SERIES

DASHES = 4
"""Patterns of lines: whole, dashed, dotted, dash and dot."""


@dataclass(frozen=True)
class Style:
    """How a run is drawn.

    Attributes:
        series: number of its colour among ``series.0`` to ``series.7``.
        dash: number of its pattern, 0 for a whole line.
    """

    series: int
    dash: int


class Overlay:
    """The runs drawn besides the one that trains, in the order they were chosen."""

    def __init__(self) -> None:
        self.changed: Signal[[]] = Signal()
        self._chosen: dict[str, None] = {}
        self._slots: dict[str, int] = {}

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the runs."""
        return tuple(self._chosen)

    def __contains__(self, name: object) -> bool:
        return name in self._chosen

    def style(self, name: str) -> Style:
        """How a run is drawn; the same for as long as the window is open."""
        if name not in self._slots:
            taken = set(self._slots.values())
            self._slots[name] = next(n for n in range(len(taken) + 1) if n not in taken)
        slot = self._slots[name]
        return Style(slot % SERIES, (slot + slot // SERIES) % DASHES)

    def choose(self, name: str, on: bool = True) -> None:
        """Draw a run, or not any more."""
        if on == (name in self._chosen):
            return
        if on:
            self._chosen[name] = None
            self.style(name)
        else:
            del self._chosen[name]
        self.changed.emit()

    def only(self, *names: str) -> None:
        """Draw these runs and no others."""
        wanted = dict.fromkeys(names)
        if list(wanted) != list(self._chosen):
            self._chosen = wanted
            for name in names:
                self.style(name)
            self.changed.emit()

    def forget(self, name: str) -> None:
        """The run is gone."""
        self._slots.pop(name, None)
        self.choose(name, on=False)
