"""What the command line asked the window for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DemoOptions:
    """The main job, done in the window.

    Attributes:
        out: folder for the files.
        close: end the studio when they are written.
        backend: where to train: auto, gl or cpu.
        seed: seed of everything random; the project's own where it is None.
    """

    out: Path
    close: bool = False
    backend: str = "auto"
    seed: int | None = None


@dataclass(frozen=True)
class LaunchOptions:
    """How the studio is to start.

    Attributes:
        project: the project to open; the welcome page where it is None.
        reset_layout: forget where panes and window were.
        safe: nothing of the user's own: default preferences and layout, no last project.
        theme: dark, light or system for this start; the user's choice where it is empty.
        scale: per cent for this start; the user's choice where it is 0.
        demo: do the main job.
    """

    project: Path | None = None
    reset_layout: bool = False
    safe: bool = False
    theme: str = ""
    scale: int = 0
    demo: DemoOptions | None = None
