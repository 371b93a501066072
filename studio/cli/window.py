"""How commands reach the window: through the program that started them, so that they need no Qt."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import typer

from studio.engine.core.errors import BackendError


class Window(Protocol):
    """Opens the studio; returns exit codes once it is closed."""

    def why_not(self) -> tuple[str, str]:
        """Why no window can be opened, in one sentence, and what to do; both empty when it can."""
        ...

    def open(
        self, project: Path | None, *, reset_layout: bool, safe: bool, theme: str, scale: int
    ) -> int:
        """Open the studio.

        Args:
            project: what to open; the welcome page where it is None.
            reset_layout: forget where panes and window were.
            safe: leave the user's preferences and layout out.
            theme: dark, light or system; the user's choice where it is empty.
            scale: per cent; the user's choice where it is 0.
        """
        ...

    def demo(self, out: Path, *, close: bool, backend: str, seed: int | None) -> int:
        """Do the main job in the window.

        Args:
            out: folder for the files.
            close: close the window when they are written.
            backend: where to train.
            seed: seed of everything random; the project's own where it is None.
        """
        ...


def window_of(context: typer.Context) -> Window | None:
    """The window this start can open, if it came with one."""
    found: Window | None = context.obj
    return found


def need_window(context: typer.Context) -> Window:
    """The window; BackendError where none can be opened."""
    window = window_of(context)
    if window is None:
        raise BackendError("this start came without a window", who="open", hint="python -m studio")
    problem, hint = window.why_not()
    if problem:
        raise BackendError(problem, who="open", hint=hint)
    return window
