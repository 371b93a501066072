"""What stands in the middle of the window, and why what needs the project cannot be done there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from studio.engine.core.signal import Signal
from studio.session.core.actions import AnyAction

NO_PROJECT = "no project is open"
COVERED = "the welcome page covers the project"


class FrontDocument(Protocol):
    """What has to be known of the document."""

    @property
    def path(self) -> Path | None:
        """Its file, if it has one."""
        ...

    @property
    def dirty(self) -> bool:
        """Whether it holds what no file does."""
        ...


class Front:
    """The project, or the welcome page in front of it.

    There is always a document. While the welcome page is shown, one that has no file and nothing
    in it is none that a user opened; any other one waits behind the page.

    Args:
        document: gives the document there is.
    """

    def __init__(self, document: Callable[[], FrontDocument]) -> None:
        self.changed: Signal[[]] = Signal()
        self._document = document
        self._is_welcoming = False

    @property
    def is_welcoming(self) -> bool:
        """Whether the welcome page is shown."""
        return self._is_welcoming

    def set_welcoming(self, on: bool) -> None:
        """The window shows the welcome page, or the project."""
        if on != self._is_welcoming:
            self._is_welcoming = on
            self.changed.emit()

    def why_no_project(self) -> str:
        """Why there is no project to do anything with; empty when there is."""
        document = self._document()
        untouched = document.path is None and not document.dirty
        return NO_PROJECT if self._is_welcoming and untouched else ""

    def why_out_of_sight(self) -> str:
        """Why the project cannot be seen; empty when it can."""
        return self.why_no_project() or (COVERED if self._is_welcoming else "")

    def why_not(self, action: AnyAction) -> str:
        """Why an action cannot be done with the project as it stands; empty when it can."""
        if action.needs == "sight" or action.context != "window":
            return self.why_out_of_sight()
        return self.why_no_project() if action.needs == "project" else ""
